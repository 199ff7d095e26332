"""A role: what a squad role may use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One entry of `roles`, as declared.

    Attributes:
        name: Its key, such as `backend_developer`.
        mcp_servers: Servers named by it, in order; an explicit grant of each (R11).
        tools: Server to the tools it may call there, by exact name (S0.8).
        allow: Patterns over `server/tool` and `mcp__server__tool` (R15).
        deny: Patterns that end it, whatever else allows (R8).
        denials: How much a refused caller is told (R14).
    """

    name: str
    mcp_servers: tuple[str, ...] = ()
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    denials: Literal["quiet", "explain"] = "quiet"
    description: str = ""

    @property
    def grants(self) -> int:
        """How many tools it names one by one."""
        return sum(len(names) for names in self.tools.values())

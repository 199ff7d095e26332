"""What all connected servers offer at one moment: immutable, swapped whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from remit.model.tools import Tool, ToolId


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The tools of the servers that are up; what they are called says `calls/directory.py`.

    Attributes:
        version: Grows by one with every change; 0 is the empty one before any server is up.
        tools: In the order of the declaration, then of the server's own list.
        by_server: Only the servers that are up.
    """

    version: int = 0
    tools: Mapping[ToolId, Tool] = field(default_factory=dict[ToolId, Tool])
    by_server: Mapping[str, tuple[ToolId, ...]] = field(
        default_factory=dict[str, tuple[ToolId, ...]]
    )

    @classmethod
    def build(cls, version: int, offers: Mapping[str, Sequence[Tool]]) -> Self:
        """Return the catalogue of *offers*, which is by server."""
        tools = {tool.id: tool for offered in offers.values() for tool in offered}
        return cls(
            version=version,
            tools=tools,
            by_server={
                server: tuple(tool.id for tool in offered) for server, offered in offers.items()
            },
        )

"""A tool: the pair (server, tool) with its schema and hints (R1)."""

from dataclasses import dataclass, field
from typing import Self

import msgspec


class ToolId(msgspec.Struct, frozen=True, order=True, gc=False):
    """The identity of a tool: its server's name in the declaration and its own name there (R1).

    A struct, since every decision looks it up.
    """

    server: str
    name: str

    def __str__(self) -> str:
        """Return the canonical spelling `server/tool`, which patterns match against (R15)."""
        return f"{self.server}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the tool that the canonical spelling `server/tool` names, or None.

        A server name never holds a slash, so this spelling is read, not guessed. Every other
        spelling is an alias that is looked up in a table (`upstreams/names.py`).
        """
        server, slash, name = text.partition("/")
        return cls(server, name) if slash and server and name else None


def estimated_tokens(listed: bytes) -> int:
    """Estimate what an entry of a list costs a model: its UTF-8 bytes over four, rounded up."""
    return -(-len(listed) // 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What a server claims about a tool; None where it claims nothing. Hints, never permissions."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as its server offers it.

    Attributes:
        id: Server and the server's own name for it, byte for byte.
        wire: The server's own JSON object for it, as UTF-8 bytes, unaltered.
        input_schema: Its `inputSchema` as UTF-8 JSON bytes.
        description: For people; empty when the server gives none.
        hints: Its annotations.
    """

    id: ToolId
    wire: bytes = field(repr=False)
    input_schema: bytes = field(repr=False, default=b"{}")
    description: str = ""
    hints: Hints = field(default_factory=Hints)

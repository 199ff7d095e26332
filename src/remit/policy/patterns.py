"""Patterns over tools: `*` is any run of characters, every other character is itself (R15).

A pattern is written in one of two spellings and matched against a tool's name in that spelling:
`server/tool`, or `mcp__server__tool`. What has neither form names no server and is a load error.
Matching is greedy and walks the text once for each literal piece, so no pattern is slow.

A prompt and a resource are matched as `server/prompt:NAME` and `server/resource:URI`. The part
after the pattern's first slash has to fit all of the name then, so that `*/read_*` is not about a
resource whose URI happens to hold `/read_`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from remit.errors import DeclarationError, Problem
from remit.model.contents import Kind, kind_of
from remit.model.tools import ToolId

_PREFIX = "mcp__"


def check_pattern(text: str) -> str | None:
    """Say why *text* cannot be a pattern and what to write instead, or None when it can (R15)."""
    if not text:
        return "an empty pattern matches nothing: write 'server/tool', or '*/*' for every tool"
    if not text.startswith(_PREFIX) and "/" not in text:
        return f"it names no server: write {_with_a_server(text)}"
    server, separator, tool = _parts(text)
    if not server:
        return "its server part is empty: write '*' there for any server"
    # `mcp__git*` has no second separator, but its star can stand for one.
    if not tool and (separator or "*" not in server):
        return "its tool part is empty: write '*' there for any tool"
    return None


def _with_a_server(bare: str) -> str:
    if not bare.strip("*"):
        return "'*/*' for every tool of every server"
    if "__" in bare:
        return repr(_PREFIX + bare)
    return f"'{bare}/*' for the tools of a server, or '*/{bare}' for a tool of any server"


def _parts(text: str) -> tuple[str, str, str]:
    """Split a pattern, never a name (R1), into its server part, the separator and its tool part.

    No server's name holds `/` or `__`, so the first of them ends the server part.
    """
    if text.startswith(_PREFIX):
        return text.removeprefix(_PREFIX).partition("__")
    return text.partition("/")


def mcp_spelling(tool: ToolId) -> str:
    """Return `mcp__server__tool`, the second spelling that patterns match against (R2)."""
    return f"{_PREFIX}{tool.server}__{tool.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A parsed pattern.

    Attributes:
        text: As declared.
        literal_server: The server part when it holds no star, which makes an allow an explicit
            grant of that server (R11); else None.
        is_mcp: Whether it is written as `mcp__server__tool`.
        kind: What it is about where it says so: prompts, or resources; else tools and all else.
    """

    text: str
    literal_server: str | None
    is_mcp: bool
    kind: Kind
    _pieces: tuple[str, ...] = field(repr=False)
    _name: tuple[str, ...] = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a pattern.

        Raises:
            DeclarationError: `check_pattern` has something to say.
        """
        if (why := check_pattern(text)) is not None:
            raise DeclarationError(
                [Problem(code="bad-pattern", message=f"{text!r} is no pattern: {why}")]
            )
        server, separator, name = _parts(text)
        return cls(
            text=text,
            literal_server=None if "*" in server else server,
            is_mcp=text.startswith(_PREFIX),
            kind=kind_of(name),
            _pieces=tuple(text.split("*")),
            _name=tuple(name.split("*")) if separator else ("", ""),
        )

    @property
    def is_literal(self) -> bool:
        """Whether it has no star, so that it is a tool's spelling itself."""
        return "*" not in self.text

    @property
    def longest_piece(self) -> tuple[int, str]:
        """Its longest text between stars, with where that stands: 0 start, -1 end, 1 within.

        Every text that the pattern fits has that piece there. It is never empty, since every
        pattern holds a slash or `mcp__`.
        """
        last = len(self._pieces) - 1
        at = max(range(len(self._pieces)), key=lambda index: len(self._pieces[index]))
        return (0 if at == 0 else -1 if at == last else 1), self._pieces[at]

    def spell(self, tool: ToolId) -> str:
        """Return *tool* in the spelling that this pattern is written in."""
        return mcp_spelling(tool) if self.is_mcp else str(tool)

    def matches(self, tool: ToolId) -> bool:
        """Whether the pattern fits *tool*; letter case matters (R15)."""
        if not _fits(self._pieces, self.spell(tool)):
            return False
        return kind_of(tool.name) is Kind.TOOL or _fits(self._name, tool.name)

    def fits(self, name: str) -> bool:
        """Whether it fits a name that is in its own spelling, and may mean no tool."""
        return _fits(self._pieces, name)

    def covers(self, other: "Pattern") -> bool:
        """Whether it surely fits all that *other* fits; False where that is not plain to see.

        A pattern that fits the other's text, stars taken as they stand, fits everything that the
        stars can become: none of its own literal pieces can have met one of them.
        """
        return self.is_mcp == other.is_mcp and _fits(self._pieces, other.text)


def _fits(pieces: Sequence[str], text: str) -> bool:
    """Whether *text* is *pieces* in order with any runs of characters between them."""
    if len(pieces) == 1:
        return text == pieces[0]
    head, *middle, tail = pieces
    at, end = len(head), len(text) - len(tail)
    if at > end or not text.startswith(head) or not text.endswith(tail):
        return False
    for piece in middle:
        # The leftmost place leaves the most room for the rest, so there is no going back.
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True

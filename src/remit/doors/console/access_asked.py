"""What a page of the matrix is asked for by its address: whom, which tools, and which part."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from remit.client.authority import Matrix, Wanted
from remit.doors.console.visitor import Visitor

SIZE: Final = 50
"""Callers, and tools, of one page."""
KINDS: Final[Mapping[str, str]] = {
    "role": "Roles",
    "key": "Keys",
    "agent": "Agents",
    "user_role": "User roles",
    "agent_type": "Agent types",
}
DECISIONS: Final[Mapping[str, str]] = {
    "": "allow and deny",
    "allow": "where something is allowed",
    "deny": "where something is denied",
}
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the page shows a part of, as its own address says."""

    kind: str
    wanted: Wanted

    @property
    def filters(self) -> dict[str, object]:
        """The same as a query, for links that keep it."""
        wanted = self.wanted
        return {
            "kind": self.kind, "server": wanted.server, "tool": wanted.tool,
            "caller": wanted.caller, "decision": wanted.decision,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which part of the callers, or of the tools, is shown.

    Attributes:
        name: Of the parameter that holds where it begins.
        before: Where the part before it begins; None if it is the first.
        after: Where the next one begins; None if it is the last.
    """

    noun: str
    name: str
    first: int
    last: int
    total: int
    before: int | None
    after: int | None


def asked_by(visitor: Visitor) -> Asked:
    """Return what is asked for; what is no filter counts as none."""
    kind, decision = visitor.asked("kind"), visitor.asked("decision")
    return Asked(
        kind=kind if kind in KINDS else "role",
        wanted=Wanted(
            server=visitor.asked("server") or None,
            tool=visitor.asked("tool") or None,
            caller=visitor.asked("caller") or None,
            decision=decision if decision in DECISIONS and decision else None,
        ),
    )


def offset_of(visitor: Visitor, name: str) -> int:
    """Return how many are left out before the part that is shown; 0 for what is no number."""
    text = visitor.asked(name)
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else 0


def spans_of(matrix: Matrix, row: int, column: int) -> tuple[Span, Span]:
    """Return which callers and which tools are shown."""
    return (
        _span("Callers", "rows", row, len(matrix.callers), matrix.callers_total),
        _span("Tools", "columns", column, len(matrix.tools), matrix.tools_total),
    )


def _span(noun: str, name: str, first: int, shown: int, total: int) -> Span:
    last = first + shown
    return Span(
        noun=noun,
        name=name,
        first=first + 1,
        last=last,
        total=total,
        before=max(0, first - SIZE) if first else None,
        after=last if last < total else None,
    )

"""Who can call what, as a matrix of callers and tools (R10, R14): filtered, paged, exported."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from remit.admin.audit_rows import FORMS
from remit.admin.authority import Authority
from remit.admin.subjects import NamedCaller
from remit.model.decisions import Decision
from remit.model.tools import ToolId
from remit.policy.standing import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which callers and tools a matrix is of; what is empty may be anything.

    Attributes:
        server: A server's whole name.
        tool: What `server/tool` contains, in any case.
        caller: What the caller's name contains, in any case.
        decision: Callers and tools without such a cell are left out.
    """

    server: str = ""
    tool: str = ""
    caller: str = ""
    decision: Literal["allow", "deny"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of a row or of a column: at most *limit* entries from *offset* on."""

    offset: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A part of the matrix, with the decision of every cell.

    Attributes:
        decisions: Each that a cell has, once, in the order in which cells first have it.
        cells: A row per caller: for each tool the place of its decision in `decisions`.
        callers_total: How many callers the whole has.
        tools_total: How many tools.
    """

    callers: Sequence[NamedCaller]
    tools: Sequence[ToolId]
    decisions: Sequence[Decision]
    cells: Sequence[Sequence[int]]
    callers_total: int
    tools_total: int


def matrix_of(
    authority: Authority,
    callers: Sequence[NamedCaller],
    wanted: Wanted,
    *,
    rows: Window,
    columns: Window,
) -> Matrix:
    """Return one page of the matrix.

    Args:
        authority: Decides.
        callers: All that there are; they keep their order.
        wanted: Which of them, and which tools.
        rows: Which of those callers the page shows.
        columns: Which of those tools.
    """
    chosen, tools = choose(authority, callers, wanted)
    shown = chosen[rows.offset : rows.offset + rows.limit]
    across = tools[columns.offset : columns.offset + columns.limit]
    places: dict[Decision, int] = {}
    cells = [
        [places.setdefault(authority.decide(who, tool), len(places)) for tool in across]
        for who in (caller.principal for caller in shown)
    ]
    return Matrix(
        callers=shown,
        tools=across,
        decisions=list(places),
        cells=cells,
        callers_total=len(chosen),
        tools_total=len(tools),
    )


def choose(
    authority: Authority, callers: Sequence[NamedCaller], wanted: Wanted
) -> tuple[Sequence[NamedCaller], Sequence[ToolId]]:
    """Return the callers and the tools of the whole matrix that is *wanted*."""
    part, name = wanted.tool.casefold(), wanted.caller.casefold()
    tools = [
        tool
        for tool in authority.tools()
        if wanted.server in ("", tool.server) and part in str(tool).casefold()
    ]
    named = [caller for caller in callers if name in caller.name.casefold()]
    if wanted.decision is None:
        return named, tools
    return _with_decision(authority, named, tools, allowed=wanted.decision == "allow")


def _with_decision(
    authority: Authority, callers: Sequence[NamedCaller], tools: Sequence[ToolId], *, allowed: bool
) -> tuple[Sequence[NamedCaller], Sequence[ToolId]]:
    """Return the callers and the tools that have a cell which is *allowed*, or one which is not."""
    # Whoever has the same standing has the same row, so ten thousand keys are as quick as the
    # roles that they are for.
    standings = authority.standings(callers)
    columns: set[ToolId] = set()
    rows: set[Standing] = set()
    for standing, caller in dict(zip(standings, callers, strict=True)).items():
        principal = caller.principal
        for tool in tools:
            if standing in rows and tool in columns:
                continue  # nothing is left to be found there
            if allowed and not standing.may_reach(tool.server):
                continue
            if authority.decide(principal, tool).allowed is allowed:
                rows.add(standing)
                columns.add(tool)
    kept = [one for one, standing in zip(callers, standings, strict=True) if standing in rows]
    return kept, [tool for tool in tools if tool in columns]


def exported(authority: Authority, callers: Sequence[NamedCaller], wanted: Wanted) -> Iterator[str]:
    """Give the whole matrix as CSV, a caller at a time: its header, then a line a cell.

    What a spreadsheet would run as a formula begins with `'`, as in an export of the record.
    """
    chosen, tools = choose(authority, callers, wanted)
    yield ",".join(COLUMNS) + "\r\n"
    for caller in chosen:
        who = caller.principal
        lines = [_line(caller, tool, authority.decide(who, tool)) for tool in tools]
        yield FORMS["csv"](lines, is_first=False)


COLUMNS = ("caller", "tool", "decision", "layer", "rule", "reason")
"""Of the export."""


def _line(caller: NamedCaller, tool: ToolId, decision: Decision) -> dict[str, object]:
    told = (
        caller.subject,
        str(tool),
        "allow" if decision.allowed else "deny",
        decision.layer.value,
        decision.rule,
        decision.reason,
    )
    return dict(zip(COLUMNS, told, strict=True))

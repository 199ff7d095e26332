"""The matrix of callers and tools as a page draws it: rows, and columns by server."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from remit.client.authority import Matrix
from remit.doors.console.access_rules import Mark, Rule, marks_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One tool.

    Attributes:
        short: Its name without the server's, which stands over it.
        at: As part of a query.
    """

    tool: str
    short: str
    available: bool
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One caller.

    Attributes:
        at: Its subject as part of a query.
        cells: A column's tool as part of a query, and what its cell shows.
    """

    name: str
    at: str
    cells: Sequence[tuple[str, Mark]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A page of the matrix.

    Attributes:
        servers: Name of each server, and how many of the columns are its own.
        rules: What the codes stand for, in the order in which cells first have them.
    """

    servers: Sequence[tuple[str, int]]
    columns: Sequence[Column]
    rows: Sequence[Row]
    rules: Sequence[Rule]


def grid_of(matrix: Matrix) -> Grid:
    """Return what the page draws of *matrix*."""
    columns = [
        Column(
            tool=each.tool,
            short=each.tool.removeprefix(f"{each.server}/"),
            available=each.available,
            at=quote(each.tool),
        )
        for each in matrix.tools
    ]
    marks, rules = marks_of(matrix)
    return Grid(
        servers=_widths([each.server for each in matrix.tools]),
        columns=columns,
        rows=[
            Row(
                name=caller.name,
                at=quote(caller.subject, safe=":/"),
                cells=[(c.at, marks[d]) for c, d in zip(columns, decided, strict=True)],
            )
            for caller, decided in zip(matrix.callers, matrix.cells, strict=True)
        ],
        rules=rules,
    )


def _widths(servers: Sequence[str]) -> Sequence[tuple[str, int]]:
    """Return each server once for every run of columns of its own, with how many these are."""
    found: list[tuple[str, int]] = []
    for server in servers:
        before = found[-1] if found and found[-1][0] == server else None
        if before is None:
            found.append((server, 1))
        else:
            found[-1] = (server, before[1] + 1)
    return found

"""Page: who can call what? The matrix of callers and tools, with the rule that decides each cell.

The other ways of asking are tabs beside it (`access_what_if.py`, `access_who_can.py`).
"""

from typing import Final

from starlette.responses import Response

from remit.client import authority, servers
from remit.doors.console.access_asked import (
    DECISIONS,
    KINDS,
    SIZE,
    asked_by,
    offset_of,
    spans_of,
)
from remit.doors.console.access_grid import grid_of
from remit.doors.console.access_what_if import what_if
from remit.doors.console.access_who_can import who_can
from remit.doors.console.page import READERS, Action, Page
from remit.doors.console.visitor import Visitor

PATH: Final = "/access"
MOST_RULES: Final = 200
"""Rules of the legend."""


async def show(visitor: Visitor) -> Response:
    """Show a page of the matrix, by what is asked for."""
    asked = asked_by(visitor)
    row, column = offset_of(visitor, "rows"), offset_of(visitor, "columns")
    matrix = await visitor.ask(
        authority.matrix(
            asked.wanted,
            kind=asked.kind,
            callers_limit=SIZE,
            callers_offset=row,
            tools_limit=SIZE,
            tools_offset=column,
        )
    )
    declared = await visitor.ask_all(servers.list_all(limit=200))
    return visitor.render(
        "access.html",
        tab="matrix",
        grid=grid_of(matrix),
        matrix=matrix,
        most_rules=MOST_RULES,
        asked=asked,
        kinds=list(KINDS.items()),
        decisions=list(DECISIONS.items()),
        servers=[("", "all servers"), *((each.name, each.name) for each in declared)],
        spans=spans_of(matrix, row, column),
        here_now={"rows": row, "columns": column},
    )


async def export(visitor: Visitor) -> Response:
    """Give the whole matrix that is asked for as CSV, a line a cell."""
    asked = asked_by(visitor)
    exported = authority.export(asked.wanted, kind=asked.kind)
    return visitor.forward(exported, f"matrix-{asked.kind.replace('_', '-')}.csv")


PAGE: Final = Page(
    key="access",
    path=PATH,
    title="Who can call what",
    group="Access",
    show=show,
    who=READERS,
    actions=(
        Action(path=f"{PATH}/export", run=export, who=READERS, method="GET"),
        Action(path=f"{PATH}/who-can", run=who_can, who=READERS, method="GET"),
        Action(path=f"{PATH}/what-if", run=what_if, who=READERS, method="GET"),
    ),
)

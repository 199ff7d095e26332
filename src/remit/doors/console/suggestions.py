"""Reviewing what somebody suggests: side by side with what it would change, tried out, decided."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from remit.client import queries
from remit.client.datasources import Datasource
from remit.client.queries import Query, Trial
from remit.doors.console.data_sources import named_in_path
from remit.doors.console.forms import status_of
from remit.doors.console.page import DECIDERS, MEMBERS, Action
from remit.doors.console.query_form import rows_of
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

_MARKS: Final = {"+": "added", "-": "removed", " ": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a statement beside what it was; kind: `added`, `removed` or empty."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What is shown of a suggestion beside itself.

    Attributes:
        trial: What running it dry gave, if it was.
        why: The reason of a rejection, as it was entered.
    """

    trial: Trial | None = None
    problem: ProblemDetails | None = None
    why: str = ""


async def show(visitor: Visitor) -> Response:
    """Show a suggestion."""
    return await _page(visitor, Looked())


async def try_out(visitor: Visitor) -> Response:
    """Run a suggestion dry, with the examples of its parameters."""
    source, query = await _found(visitor)
    parameters = [dict(row.entry()) for row in rows_of(query.parameters)]
    running = queries.try_out(visitor.tenant, source.name, query.sql, parameters)
    try:
        return await _page(visitor, Looked(trial=await visitor.ask(running)))
    except ProblemDetails as problem:
        return await _page(visitor, Looked(problem=problem))


async def approve(visitor: Visitor) -> Response:
    """Put a suggestion of somebody else in force (R13)."""
    source, query = await _found(visitor)
    try:
        approved = await visitor.ask(queries.approve(visitor.tenant, query.id))
    except ProblemDetails as problem:
        return await _page(visitor, Looked(problem=problem))
    said = f"The query {approved.name} is approved."
    return visitor.go(f"/queries/{source.id}/{approved.id}", said=said)


async def reject(visitor: Visitor) -> Response:
    """Reject a suggestion of somebody else, with a reason that its author reads."""
    source, query = await _found(visitor)
    why = visitor.sent("why")
    try:
        await visitor.ask(queries.reject(visitor.tenant, query.id, why))
    except ProblemDetails as problem:
        return await _page(visitor, Looked(problem=problem, why=why))
    return _to_list(visitor, source, f"The suggestion {query.name} is rejected.")


async def move_back(visitor: Visitor) -> Response:
    """Put a rejected suggestion back among those to be decided on."""
    source, query = await _found(visitor)
    await visitor.ask(queries.move_to_pending(visitor.tenant, query.id))
    return _to_list(visitor, source, f"The suggestion {query.name} waits for a review again.")


def lines_between(before: str, after: str) -> Sequence[Line]:
    """Return the lines of two statements, each once, with what became of it."""
    compared = difflib.ndiff(before.splitlines(), after.splitlines())
    return [Line(kind=_MARKS[each[0]], text=each[2:]) for each in compared if each[0] in _MARKS]


def _to_list(visitor: Visitor, source: Datasource, said: str) -> Response:
    return visitor.go("/queries", said=said, query={"datasource": source.name, "tab": "pending"})


async def _found(visitor: Visitor) -> tuple[Datasource, Query]:
    source = await named_in_path(visitor)
    found = queries.get(visitor.tenant, source.name, visitor.path["query"])
    return source, await visitor.ask(found)


async def _page(visitor: Visitor, looked: Looked) -> Response:
    source, query = await _found(visitor)
    parent = None
    if query.parent:
        parent = await visitor.ask(queries.get(visitor.tenant, source.name, query.parent))
    is_own = query.suggested_by == visitor.principal.subject
    return visitor.render(
        "suggestion.html",
        status=status_of(looked.problem),
        source=source,
        query=query,
        parent=parent,
        lines=lines_between(parent.sql, query.sql) if parent else (),
        rows=rows_of(query.parameters),
        looked=looked,
        is_own=is_own,
        may_change=visitor.is_one_of(DECIDERS),
        may_decide=visitor.is_one_of(DECIDERS) and not is_own,
    )


AT: Final = "/queries/{datasource}/{query}/review"

ACTIONS: Final = (
    Action(path=AT, run=show, who=MEMBERS, method="GET"),
    Action(path=f"{AT}/try", run=try_out, who=DECIDERS),
    Action(path=f"{AT}/approve", run=approve, who=DECIDERS),
    Action(path=f"{AT}/reject", run=reject, who=DECIDERS),
    Action(path=f"{AT}/pending", run=move_back, who=DECIDERS),
)

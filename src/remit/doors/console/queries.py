"""Page: approved queries, those who may run them, and what waits for a review (S2.29-S2.40)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.responses import Response

from remit.client import data_audit, queries
from remit.client.data_audit import Execution
from remit.client.datasources import Datasource
from remit.client.operations import Page as Listed
from remit.client.queries import Query, Result
from remit.doors.console import query_edits, suggestions
from remit.doors.console.data_sources import Chosen, choose, named_in_path
from remit.doors.console.forms import status_of
from remit.doors.console.page import DECIDERS, MEMBERS, REVIEWERS, Action, Page
from remit.doors.console.query_form import rows_of, text_of, value_of
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

TABS: Final = (("approved", "Approved"), ("pending", "To review"), ("rejected", "Rejected"))
RECENT: Final = 10
"""Executions that the page of a query shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What became of running a query from its page."""

    values: Mapping[str, str]
    result: Result | None = None
    problem: ProblemDetails | None = None


async def show(visitor: Visitor) -> Response:
    """Show the queries of a datasource, or the suggestions for it."""
    chosen = await choose(visitor)
    tab = visitor.asked("tab") or "approved"
    if tab == "pending" and not visitor.asked("datasource"):
        chosen = await _with_suggestions(visitor, chosen)
    cursor = visitor.asked("cursor") or None
    listed: Listed[Any] = Listed(items=())
    if chosen.one is not None and tab == "approved":
        listed = await visitor.ask(
            queries.list_all(
                visitor.tenant,
                chosen.one.name,
                status="approved",
                tag=visitor.asked("tag") or None,
                limit=50,
                cursor=cursor,
            )
        )
    elif chosen.one is not None:
        listed = await visitor.ask(
            queries.pending(
                visitor.tenant,
                datasource=chosen.one.name,
                rejected=tab == "rejected",
                limit=50,
                cursor=cursor,
            )
        )
    return visitor.render(
        "queries.html",
        chosen=chosen,
        tabs=TABS,
        tab=tab,
        listed=listed,
        may_change=visitor.is_one_of(DECIDERS),
    )


async def _with_suggestions(visitor: Visitor, chosen: Chosen) -> Chosen:
    """Return the datasource of the oldest suggestion, or the one that is chosen if none waits."""
    oldest = (await visitor.ask(queries.pending(visitor.tenant, limit=1))).items
    ids = {each.query.datasource for each in oldest}
    return replace(chosen, one=next((s for s in chosen.every if s.id in ids), chosen.one))


async def show_one(visitor: Visitor) -> Response:
    """Show one query with everything that is known of it."""
    return await _one(visitor)


async def run(visitor: Visitor) -> Response:
    """Run a query with the values that were entered, and show what it gave."""
    source = await named_in_path(visitor)
    query = await visitor.ask(queries.get(visitor.tenant, source.name, visitor.path["query"]))
    rows = rows_of(query.parameters)
    entered = {row.name: visitor.sent(f"v_{row.name}") for row in rows}
    values = {row.name: value_of(entered[row.name], row.type) for row in rows if entered[row.name]}
    running = queries.execute(visitor.tenant, source.name, query.id, values, limit=100)
    try:
        ran = Ran(values=entered, result=await visitor.ask(running))
    except ProblemDetails as problem:
        ran = Ran(values=entered, problem=problem)
    return await _one(visitor, ran)


async def enable(visitor: Visitor) -> Response:
    """Let a query be run, or not."""
    source = await named_in_path(visitor)
    wanted = visitor.sent("enabled") == "yes"
    name = visitor.path["query"]
    query = await visitor.ask(queries.enable(visitor.tenant, source.name, name, enabled=wanted))
    said = f"The query {query.name} can {'be run' if wanted else 'not be run any more'}."
    return visitor.go(f"/queries/{source.id}/{query.id}", said=said)


async def remove(visitor: Visitor) -> Response:
    """Delete a query; pending updates of it are rejected with it."""
    source = await named_in_path(visitor)
    gone = await visitor.ask(
        queries.remove(
            visitor.tenant, source.name, visitor.path["query"], if_match=visitor.sent("etag")
        )
    )
    more = f" {gone.rejected_updates} pending updates were rejected." * bool(gone.rejected_updates)
    query = {"datasource": source.name}
    return visitor.go("/queries", said=f"The query is deleted.{more}", query=query)


async def _one(visitor: Visitor, ran: Ran | None = None) -> Response:
    source = await named_in_path(visitor)
    tagged = await visitor.ask_tagged(
        queries.get(visitor.tenant, source.name, visitor.path["query"])
    )
    status = status_of(ran.problem if ran else None)
    return visitor.render(
        "query.html",
        status=status,
        source=source,
        query=tagged.value,
        etag=tagged.etag,
        rows=rows_of(tagged.value.parameters),
        executions=await _executions(visitor, source, tagged.value),
        ran=ran,
        text_of=text_of,
        may_change=visitor.is_one_of(DECIDERS),
    )


async def _executions(visitor: Visitor, source: Datasource, query: Query) -> tuple[Execution, ...]:
    if not visitor.is_one_of(REVIEWERS):
        return ()
    asked = data_audit.executions(
        visitor.tenant, query=query.id, datasource=source.name, limit=RECENT
    )
    return (await visitor.ask(asked)).items


AT: Final = "/queries/{datasource}/{query}"

PAGE: Final = Page(
    key="queries",
    path="/queries",
    title="Queries",
    group="Data",
    show=show,
    who=MEMBERS,
    actions=(
        *query_edits.ACTIONS,
        Action(path=AT, run=show_one, who=MEMBERS, method="GET"),
        Action(path=f"{AT}/run", run=run, who=DECIDERS, makes="queries.execute"),
        Action(path=f"{AT}/enabled", run=enable, who=DECIDERS, makes="queries.enable"),
        Action(path=f"{AT}/delete", run=remove, who=DECIDERS, makes="queries.remove"),
        *suggestions.ACTIONS,
    ),
)

"""Making and changing approved queries by a form, tried out before it is saved."""

from dataclasses import dataclass, replace
from typing import Final

from starlette.responses import Response

from remit.client import queries
from remit.client.datasources import Datasource
from remit.client.queries import Query, Trial
from remit.doors.console.data_sources import named_in_path
from remit.doors.console.forms import status_of
from remit.doors.console.page import DECIDERS, Action
from remit.doors.console.query_form import TYPES, QueryForm
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

SAVE: Final = "save"
TRY: Final = "try"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a form is shown with.

    Attributes:
        query: What it changes; None for a new query.
        etag: Of what it was made from.
        trial: What running it dry gave, if it was.
    """

    source: Datasource
    form: QueryForm
    query: Query | None = None
    etag: str = ""
    trial: Trial | None = None
    problem: ProblemDetails | None = None


async def new(visitor: Visitor) -> Response:
    """Show an empty form."""
    return _page(visitor, Shown(source=await named_in_path(visitor), form=QueryForm()))


async def create(visitor: Visitor) -> Response:
    """Try a new query out, or make it."""
    source, form = await named_in_path(visitor), QueryForm.sent(visitor)
    if visitor.sent("step") != SAVE:
        return await _tried(visitor, Shown(source=source, form=form))
    try:
        made = await visitor.ask(queries.create(visitor.tenant, source.name, form.draft()))
    except ProblemDetails as problem:
        return _page(visitor, Shown(source=source, form=form, problem=problem))
    return visitor.go(f"/queries/{source.id}/{made.id}", said=f"The query {made.name} is there.")


async def edit(visitor: Visitor) -> Response:
    """Show the form of a query that is there."""
    source = await named_in_path(visitor)
    found = await visitor.ask_tagged(
        queries.get(visitor.tenant, source.name, visitor.path["query"])
    )
    form = QueryForm.of(found.value)
    return _page(visitor, Shown(source=source, form=form, query=found.value, etag=found.etag))


async def change(visitor: Visitor) -> Response:
    """Try a changed query out, or save it."""
    source, form = await named_in_path(visitor), QueryForm.sent(visitor)
    at = (visitor.tenant, source.name, visitor.path["query"])
    query = await visitor.ask(queries.get(*at))
    shown = Shown(source=source, form=form, query=query, etag=visitor.sent("etag"))
    if visitor.sent("step") != SAVE:
        return await _tried(visitor, shown)
    try:
        saved = await visitor.ask(queries.replace(*at, form.draft(), if_match=shown.etag))
    except ProblemDetails as problem:
        return _page(visitor, replace(shown, problem=problem))
    return visitor.go(f"/queries/{source.id}/{saved.id}", said=f"The query {saved.name} is saved.")


async def _tried(visitor: Visitor, shown: Shown) -> Response:
    """Show the form with what a dry run gives, or only with rows for its parameters."""
    if visitor.sent("step") == TRY:
        draft = shown.form.draft()
        running = queries.try_out(visitor.tenant, shown.source.name, draft.sql, draft.parameters)
        try:
            shown = replace(shown, trial=await visitor.ask(running))
        except ProblemDetails as refused:
            shown = replace(shown, problem=refused)
    return _page(visitor, shown)


def _page(visitor: Visitor, shown: Shown) -> Response:
    status = status_of(shown.problem)
    return visitor.render("query_form.html", status=status, shown=shown, types=TYPES)


ACTIONS: Final = (
    Action(path="/queries/{datasource}/new", run=new, who=DECIDERS, method="GET"),
    Action(path="/queries/{datasource}/new", run=create, who=DECIDERS, makes="queries.create"),
    Action(path="/queries/{datasource}/{query}/edit", run=edit, who=DECIDERS, method="GET"),
    Action(
        path="/queries/{datasource}/{query}/edit", run=change, who=DECIDERS, makes="queries.replace"
    ),
)

"""What a datasource was seen to hold, and looking at it anew (S2.44)."""

from typing import Final

from starlette.responses import Response

from remit.client import data_changes
from remit.doors.console.data_sources import Chosen
from remit.doors.console.ontology_tabs import (
    AT,
    CHANGES,
    SCHEMA,
    go_to_tab,
    one_by,
    tab_page,
)
from remit.doors.console.page import DECIDERS, Action
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails
from remit.model.counts import counted

MOST_TABLES: Final = 200
"""Tables that the tab of the schema shows; a text in the filter finds the others."""


async def show(visitor: Visitor, chosen: Chosen, problem: ProblemDetails | None = None) -> Response:
    """Show what a datasource was seen to hold, tables that tools may not use too."""
    schema = None
    if chosen.one is not None:
        schema = await visitor.ask(data_changes.schema(visitor.tenant, chosen.one.name))
    wanted = visitor.asked("table").lower()
    every = () if schema is None else schema.tables
    return tab_page(
        visitor,
        "ontology_schema.html",
        chosen=chosen,
        tab=SCHEMA,
        problem=problem,
        schema=schema,
        tables=[each for each in every if wanted in each.name.lower()],
        most=MOST_TABLES,
    )


async def refresh(visitor: Visitor) -> Response:
    """Look at the database anew."""
    chosen, source = await one_by(visitor)
    select = visitor.is_sent("select")
    try:
        seen = await visitor.ask(
            data_changes.refresh(visitor.tenant, source.name, auto_select=select)
        )
    except ProblemDetails as problem:
        return await show(visitor, chosen, problem)
    count = sum(each.is_selected for each in seen.tables)
    usable = "" if count == len(seen.tables) else f", of which tools may use {count}"
    tables = counted(len(seen.tables), "table")
    said = f"{tables} seen{usable}; {_waiting(seen.pending_changes)}."
    tab = CHANGES if seen.pending_changes else SCHEMA
    return go_to_tab(visitor, source, tab, said)


def _waiting(count: int) -> str:
    if not count:
        return "nothing waits for a decision"
    return f"{counted(count, 'change')} {'waits' if count == 1 else 'wait'} for a decision"


ACTIONS: Final = (
    Action(path=f"{AT}/refresh", run=refresh, who=DECIDERS, makes="data_schema.refresh"),
)

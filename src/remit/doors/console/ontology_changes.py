"""What was found to differ from what is known of the data, and deciding on it (S2.43, S2.44)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from starlette.responses import Response

from remit.client import data_changes
from remit.client.data_changes import Change
from remit.client.operations import Page as Listed
from remit.doors.console.data_sources import Chosen
from remit.doors.console.ontology_tabs import (
    AT,
    AT_ONCE,
    CHANGES,
    go_to_tab,
    one_by,
    tab_page,
)
from remit.doors.console.page import DECIDERS, Action
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails
from remit.model.counts import counted
from remit.model.ontology import ChangeStatus

EFFECTS: Final[Mapping[str, str]] = {
    "select_table": (
        "Tools may use the table; what it and its columns are is inferred, and asked where it"
        " cannot be."
    ),
    "forget_table": "Its entity, its relationships and what was said of its columns are forgotten.",
    "update_column": "What the column is for is stated.",
    "forget_column": "What was said of the column is forgotten, and nothing is joined by it.",
    "add_enum_values": "The values are added to those that the column is known to hold.",
    "update_relationship": "The relationship is stated, with the columns that it is joined by.",
}
"""What applying a change does, by its action."""

STATUSES: Final = tuple((each.value, each.value.replace("_", " ")) for each in ChangeStatus)


async def show_list(
    visitor: Visitor, chosen: Chosen, problem: ProblemDetails | None = None
) -> Response:
    """Show the changes of a datasource, oldest first: those that wait, if nothing else is asked."""
    status = visitor.asked("status") or ChangeStatus.PENDING.value
    listed: Listed[Change] = Listed(items=())
    if chosen.one is not None:
        asked = data_changes.list_all(
            visitor.tenant,
            chosen.one.name,
            status=status,
            limit=AT_ONCE,
            cursor=visitor.asked("cursor") or None,
        )
        listed = await visitor.ask(asked)
    return tab_page(
        visitor,
        "ontology_changes.html",
        chosen=chosen,
        tab=CHANGES,
        problem=problem,
        listed=listed,
        wanted=status,
        statuses=STATUSES,
        effects=EFFECTS,
    )


async def with_changes(visitor: Visitor, chosen: Chosen) -> Chosen:
    """Return the first datasource for which changes wait, or the one that is chosen if none do."""
    usual = [chosen.one] if chosen.one is not None else []
    for source in (*usual, *chosen.every):
        asked = data_changes.list_all(
            visitor.tenant, source.name, status=ChangeStatus.PENDING.value, limit=1
        )
        if (await visitor.ask(asked)).items:
            return replace(chosen, one=source)
    return chosen


async def scan(visitor: Visitor) -> Response:
    """Look at the data for new values and likely foreign keys."""
    chosen, source = await one_by(visitor)
    try:
        found = await visitor.ask(data_changes.scan(visitor.tenant, source.name))
    except ProblemDetails as problem:
        return await show_list(visitor, chosen, problem)
    count = len(found.items)
    said = f"The scan found {counted(count, 'change')} that {_were(count)} not known before."
    return go_to_tab(visitor, source, CHANGES, said if count else "The scan found nothing new.")


async def approve(visitor: Visitor) -> Response:
    """Apply a change, unless what is stated already outweighs it."""
    return await _decide(visitor, is_approved=True)


async def reject(visitor: Visitor) -> Response:
    """Drop a change."""
    return await _decide(visitor, is_approved=False)


async def approve_all(visitor: Visitor) -> Response:
    """Apply every change that waits and that nothing outweighs."""
    chosen, source = await one_by(visitor)
    try:
        done = await visitor.ask(data_changes.approve_all(visitor.tenant, source.name))
    except ProblemDetails as problem:
        return await show_list(visitor, chosen, problem)
    count, left = len(done.approved), len(done.skipped)
    said = f"{counted(count, 'change')} {_were(count)} applied."
    if left:
        said += f" {counted(left, 'change')} could not be: approve one alone to read why."
    return go_to_tab(visitor, source, CHANGES, said)


async def _decide(visitor: Visitor, *, is_approved: bool) -> Response:
    chosen, source = await one_by(visitor)
    decide = data_changes.approve if is_approved else data_changes.reject
    try:
        change = await visitor.ask(decide(visitor.tenant, source.name, visitor.path["change"]))
    except ProblemDetails as problem:
        return await show_list(visitor, chosen, problem)
    what = f"{change.type.replace('_', ' ')} {change.table}"
    if change.column:
        what += f".{change.column}"
    return go_to_tab(visitor, source, CHANGES, f"The change is {change.status}: {what}.")


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


ONE: Final = f"{AT}/changes/{{change}}"

ACTIONS: Final = (
    Action(path=f"{AT}/scan", run=scan, who=DECIDERS, makes="data_changes.scan"),
    Action(
        path=f"{AT}/approve-all", run=approve_all, who=DECIDERS, makes="data_changes.approve_all"
    ),
    Action(path=f"{ONE}/approve", run=approve, who=DECIDERS, makes="data_changes.approve"),
    Action(path=f"{ONE}/reject", run=reject, who=DECIDERS, makes="data_changes.reject"),
)

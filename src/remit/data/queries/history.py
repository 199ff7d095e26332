"""What ran lately (S2.38)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from remit.data.desk import Desk
from remit.model.data import Execution

USUAL_ENTRIES: Final = 20
MOST_ENTRIES: Final = 100
USUAL_HOURS: Final = 24
MOST_HOURS: Final = 168

_READ: Final = 10 * MOST_ENTRIES
"""Executions that are looked through for those that succeeded, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A statement that ran.

    Attributes:
        name: Of the approved query, or empty.
    """

    execution: Execution
    name: str = ""


async def history(
    desk: Desk,
    *,
    limit: int = USUAL_ENTRIES,
    hours_back: float = USUAL_HOURS,
    successes: bool = False,
) -> Sequence[Entry]:
    """Return what ran, newest first; those who may not decide see only what they ran themselves.

    Args:
        desk: Who asks.
        limit: Most entries, up to 100.
        hours_back: How far back, up to 168.
        successes: Whether those that failed or were refused are left out.
    """
    most = max(1, min(limit, MOST_ENTRIES))
    hours = max(0.0, min(hours_back, MOST_HOURS))
    found = await desk.stores.executions.executions(
        desk.tenant,
        since=desk.clock() - timedelta(hours=hours),
        user=None if desk.decides else desk.user,
        limit=_READ if successes else most,
    )
    if successes:
        found = [each for each in found if not each.code][:most]
    names = await _names(desk, {each.query for each in found} - {""})
    return [Entry(execution=each, name=names.get(each.query, "")) for each in found]


async def _names(desk: Desk, ids: set[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for query_id in sorted(ids):
        query = await desk.stores.queries.find_query(desk.tenant, query_id, deleted=True)
        if query is not None:
            names[query_id] = query.name
    return names

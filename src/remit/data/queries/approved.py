"""Approved queries: listing, and making, changing and deleting them directly (S2.30, S2.36)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit.data.desk import Desk
from remit.data.queries.changes import edited
from remit.data.queries.checks import check_query, query_of
from remit.data.queries.decisions import ORIGINAL_DELETED, rejected
from remit.data.queries.drafts import Draft, Edit
from remit.data.queries.reach import may_reach, reach_approved, require_deciding
from remit.data.queries.suggestions import Written, suggest, suggest_update
from remit.data.running import open_source
from remit.data.settling import settled
from remit.model.data import Query, QueryStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """A query that was deleted.

    Attributes:
        rejected: How many pending updates of it were rejected with it.
    """

    query: Query
    rejected: int


async def list_approved(
    desk: Desk,
    *,
    tags: Sequence[str] = (),
    datasource: str | None = None,
    disabled: bool = False,
) -> Sequence[Query]:
    """Return approved queries that the caller may run, oldest first.

    Args:
        desk: Who asks.
        tags: Only queries with one of these at least; none for every query.
        datasource: Name or id, or None for every one.
        disabled: Whether those who may decide see disabled ones, too.

    Raises:
        DataFailure: There is no such datasource.
    """
    place = None if datasource is None else (await desk.datasource(datasource)).id
    found = await desk.stores.queries.queries(
        desk.tenant, status=QueryStatus.APPROVED, datasource=place
    )
    return [
        each
        for each in found
        if (each.is_enabled or (disabled and desk.decides))
        and may_reach(desk, each.id)
        and (not tags or not set(tags).isdisjoint(each.tags))
    ]


async def get_query(desk: Desk, query_id: str) -> Query:
    """Return an approved query, enabled or not.

    Raises:
        DataFailure: `query_access_denied`, `query_not_found` or `query_not_approved`.
    """
    return await reach_approved(desk, query_id)


async def create(desk: Desk, draft: Draft) -> Written:
    """Make an approved and enabled query; of those who may not decide, a suggestion (R13).

    Raises:
        DataFailure: As `suggest` does.
    """
    if not desk.decides:
        return await suggest(desk, draft)
    source = await open_source(desk, draft.datasource)
    query = query_of(desk, source, draft)
    query, validation = await check_query(desk, source, query, draft.output_columns)
    approved = replace(
        query,
        status=QueryStatus.APPROVED,
        is_enabled=True,
        reviewed_by=desk.user,
        reviewed=query.created,
    )
    await desk.stores.queries.write_queries([approved])
    return Written(query=replace(approved, version=1), validation=validation)


async def update(desk: Desk, query_id: str, edit: Edit) -> Written:
    """Change an approved query; of those who may not decide, make a suggestion (R13).

    Raises:
        DataFailure: As `suggest_update` does.
    """
    if not desk.decides:
        return await suggest_update(desk, query_id, edit, context="")

    async def attempt() -> Written:
        original = await reach_approved(desk, query_id)
        desk.require_seen(original.version)
        after, validation = await edited(desk, original, edit)
        after = replace(after, changed=(), reviewed_by=desk.user, reviewed=desk.clock())
        query = await _write(desk, after)
        return Written(query=query, validation=validation)

    return await settled(attempt)


async def set_enabled(desk: Desk, query_id: str, *, is_enabled: bool) -> Query:
    """Enable or disable an approved query and return it.

    Raises:
        DataFailure: `query_not_authorized`, `query_not_found` or `query_not_approved`.
    """
    require_deciding(desk)

    async def attempt() -> Query:
        query = await reach_approved(desk, query_id)
        if query.is_enabled is is_enabled:
            return query
        return await _write(desk, replace(query, is_enabled=is_enabled))

    return await settled(attempt)


async def delete(desk: Desk, query_id: str) -> Deleted:
    """Take an approved query away, and reject the pending updates of it.

    Raises:
        DataFailure: `query_not_authorized`, `query_not_found` or `query_not_approved`.
    """
    require_deciding(desk)

    async def attempt() -> Deleted:
        query = await reach_approved(desk, query_id)
        desk.require_seen(query.version)
        updates = await desk.stores.queries.queries(
            desk.tenant, status=QueryStatus.PENDING, parent=query.id
        )
        now = desk.clock()
        gone = replace(query, is_enabled=False, deleted=now, updated=now)
        await desk.stores.queries.write_queries(
            [gone, *(rejected(desk, each, ORIGINAL_DELETED) for each in updates)]
        )
        return Deleted(query=replace(gone, version=gone.version + 1), rejected=len(updates))

    return await settled(attempt)


async def _write(desk: Desk, query: Query) -> Query:
    query = replace(query, updated=desk.clock())
    await desk.stores.queries.write_queries([query])
    return replace(query, version=query.version + 1)

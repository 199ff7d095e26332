"""Suggesting a query, or a change of one, for others to decide on (S2.29, S2.35)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from remit.data.desk import Desk
from remit.data.queries.changes import edited
from remit.data.queries.checks import Validation, check_query, query_of
from remit.data.queries.drafts import Draft, Edit
from remit.data.queries.reach import reach_approved, require_suggesting
from remit.data.running import open_source
from remit.errors import DataFailure
from remit.model.data import DataCode, Query, QueryStatus

MOST_PENDING: Final = 100
"""Suggestions of one caller that wait to be decided on, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A query, or a suggestion, that was written.

    Attributes:
        query: Its status says which: what a caller who may not decide writes is pending.
    """

    query: Query
    validation: Validation


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A suggestion, with the query that it would change.

    Attributes:
        original: None for a new query, and where it is gone.
        is_outdated: Whether the original was changed since.
    """

    query: Query
    original: Query | None = None
    is_outdated: bool = False


async def suggest(desk: Desk, draft: Draft) -> Written:
    """Make a pending query after a dry run.

    Raises:
        DataFailure: It would not work, there is no such datasource, or too many of the caller's
            wait already.
    """
    require_suggesting(desk)
    await _require_room(desk)
    source = await open_source(desk, draft.datasource)
    query = query_of(desk, source, draft)
    query, validation = await check_query(desk, source, query, draft.output_columns)
    await desk.stores.queries.write_queries([query])
    return Written(query=replace(query, version=1), validation=validation)


async def suggest_update(desk: Desk, query_id: str, edit: Edit, *, context: str) -> Written:
    """Make a pending change of an approved query, which stays as it is until it is approved.

    Raises:
        DataFailure: There is no such query within reach, nothing is changed, it would not work, or
            too many of the caller's wait already.
    """
    require_suggesting(desk)
    original = await reach_approved(desk, query_id)
    await _require_room(desk)
    after, validation = await edited(desk, original, edit)
    now = desk.clock()
    suggestion = replace(
        after,
        id=desk.new_id(),
        parent=original.id,
        status=QueryStatus.PENDING,
        is_enabled=original.is_enabled if edit.is_enabled is None else edit.is_enabled,
        usage_count=0,
        last_used=None,
        suggested_by=desk.user,
        suggestion_context=context.strip(),
        reviewed_by="",
        reviewed=None,
        rejection_reason="",
        created=now,
        updated=now,
        version=0,
    )
    await desk.stores.queries.write_queries([suggestion])
    return Written(query=replace(suggestion, version=1), validation=validation)


async def list_suggestions(
    desk: Desk, *, status: QueryStatus = QueryStatus.PENDING, datasource: str | None = None
) -> Sequence[Suggestion]:
    """Return suggestions, oldest first; those who may not decide see only their own.

    Args:
        desk: Who asks.
        status: Pending, or rejected.
        datasource: Name or id, or None for every one.

    Raises:
        DataFailure: There is no such datasource, or it is asked for those approved.
    """
    if status is QueryStatus.APPROVED:
        raise DataFailure(
            DataCode.INVALID_PARAMETERS,
            "what is approved is a suggestion no longer: list_approved_queries shows it",
        )
    place = None if datasource is None else (await desk.datasource(datasource)).id
    found = await desk.stores.queries.queries(desk.tenant, status=status, datasource=place)
    approved = await desk.stores.queries.queries(
        desk.tenant, status=QueryStatus.APPROVED, datasource=place
    )
    originals = {each.id: each for each in approved}
    return [
        _with_original(each, originals.get(each.parent))
        for each in found
        if desk.sees_all or each.suggested_by == desk.user
    ]


def _with_original(query: Query, original: Query | None) -> Suggestion:
    return Suggestion(
        query=query,
        original=original,
        is_outdated=original is not None and original.updated > query.created,
    )


async def _require_room(desk: Desk) -> None:
    pending = await desk.stores.queries.queries(desk.tenant, status=QueryStatus.PENDING)
    if sum(each.suggested_by == desk.user for each in pending) >= MOST_PENDING:
        raise DataFailure(
            DataCode.RESOURCE_CONFLICT,
            f"{MOST_PENDING} of your suggestions wait to be decided on; more can be made once"
            " some of them are",
        )

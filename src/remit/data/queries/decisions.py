"""Deciding on suggestions (S2.36, R13).

Only those who may decide do so, and nobody on a suggestion of their own. Of two who decide at once
the second is told that it is decided: both write the version that they have seen.
"""

from dataclasses import replace
from typing import Final

from remit.data.desk import Desk
from remit.data.queries.changes import merged
from remit.data.queries.checks import check_query
from remit.data.queries.reach import reach_suggestion, require_deciding
from remit.data.running import open_source
from remit.data.settling import settled
from remit.errors import DataFailure
from remit.model.data import DataCode, Query, QueryStatus

ORIGINAL_DELETED: Final = "original deleted"
"""Why a suggested update is rejected whose query is gone (S2.36)."""


async def approve(desk: Desk, suggestion_id: str) -> Query:
    """Approve a suggestion; return the query that is in force now.

    A new query is approved and enabled. Of an update the changed fields are merged into the
    original as it is by now, if the whole still works, and the suggestion is gone.

    Raises:
        DataFailure: `query_not_authorized`, `query_not_found`, `invalid_state`, or
            `approval_failed`: the original is gone (then the suggestion is rejected) or the whole
            would not work.
    """

    async def attempt() -> Query:
        suggestion = await _to_decide(desk, suggestion_id, QueryStatus.PENDING)
        if suggestion.parent:
            return await _approve_update(desk, suggestion)
        return await _approve_new(desk, suggestion)

    return await settled(attempt)


async def reject(desk: Desk, suggestion_id: str, reason: str) -> Query:
    """Reject a suggestion and return it.

    Raises:
        DataFailure: `query_not_authorized`, `query_not_found`, `invalid_state`, or
            `rejection_failed` without a reason.
    """

    async def attempt() -> Query:
        suggestion = await _to_decide(desk, suggestion_id, QueryStatus.PENDING)
        if not reason.strip():
            raise DataFailure(
                DataCode.REJECTION_FAILED, "say why it is rejected: whoever suggested it reads it"
            )
        return await _write(desk, rejected(desk, suggestion, reason.strip()))

    return await settled(attempt)


async def move_to_pending(desk: Desk, suggestion_id: str) -> Query:
    """Put a rejected suggestion back among those to be decided on, and return it.

    Raises:
        DataFailure: `query_not_authorized`, `query_not_found` or `invalid_state`.
    """

    async def attempt() -> Query:
        suggestion = await _to_decide(desk, suggestion_id, QueryStatus.REJECTED)
        if suggestion.parent and await _original_of(desk, suggestion) is None:
            raise DataFailure(
                DataCode.INVALID_STATE, f"suggestion {suggestion_id!r}: {ORIGINAL_DELETED}"
            )
        pending = replace(
            suggestion,
            status=QueryStatus.PENDING,
            reviewed_by="",
            reviewed=None,
            rejection_reason="",
            updated=desk.clock(),
        )
        return await _write(desk, pending)

    return await settled(attempt)


def rejected(desk: Desk, suggestion: Query, reason: str) -> Query:
    """Return a suggestion that whoever asks rejects."""
    return replace(
        _reviewed(desk, suggestion), status=QueryStatus.REJECTED, rejection_reason=reason
    )


async def _to_decide(desk: Desk, suggestion_id: str, status: QueryStatus) -> Query:
    """Return a suggestion that stands where it can be decided on, by whoever may."""
    require_deciding(desk)
    suggestion = await reach_suggestion(desk, suggestion_id)
    if await desk.is_of_same_person(suggestion.suggested_by):
        raise DataFailure(
            DataCode.QUERY_NOT_AUTHORIZED,
            "nobody decides on a suggestion of their own, with whatever credential: somebody else"
            " has to",
        )
    if suggestion.status is not status or suggestion.deleted is not None:
        stands = "deleted" if suggestion.deleted is not None else suggestion.status.value
        if suggestion.deleted is not None and suggestion.status is QueryStatus.APPROVED:
            stands = "approved already"
        raise DataFailure(
            DataCode.INVALID_STATE,
            f"{suggestion_id!r} is {stands}, and only a {status.value} suggestion can be"
            f" {_WORDS[status]}",
            details={"status": suggestion.status.value},
        )
    return suggestion


_WORDS: Final = {
    QueryStatus.PENDING: "decided on",
    QueryStatus.REJECTED: "moved back",
}


async def _approve_new(desk: Desk, suggestion: Query) -> Query:
    desk.require_seen(suggestion.version)
    try:
        source = await open_source(desk, suggestion.datasource)
        checked, _ = await check_query(desk, source, suggestion, {})
    except DataFailure as failure:
        raise _would_fail(failure) from failure
    approved = replace(
        _reviewed(desk, checked), status=QueryStatus.APPROVED, is_enabled=True, changed=()
    )
    return await _write(desk, approved)


async def _approve_update(desk: Desk, suggestion: Query) -> Query:
    original = await _original_of(desk, suggestion)
    if original is None:
        await _write(desk, rejected(desk, suggestion, ORIGINAL_DELETED))
        raise DataFailure(
            DataCode.APPROVAL_FAILED,
            f"the query that it would change is gone; the suggestion is rejected:"
            f" {ORIGINAL_DELETED}",
        )
    desk.require_seen(original.version)
    try:
        after = await merged(desk, original, suggestion)
    except DataFailure as failure:
        raise _would_fail(failure) from failure
    after = _reviewed(desk, after)
    gone = replace(_reviewed(desk, suggestion), status=QueryStatus.APPROVED, deleted=desk.clock())
    await desk.stores.queries.write_queries([after, gone])
    return replace(after, version=after.version + 1)


async def _original_of(desk: Desk, suggestion: Query) -> Query | None:
    """Return the approved query that an update would change, or None where it is gone."""
    found = await desk.stores.queries.find_query(desk.tenant, suggestion.parent)
    return found if found is not None and found.status is QueryStatus.APPROVED else None


def _reviewed(desk: Desk, query: Query) -> Query:
    now = desk.clock()
    return replace(query, reviewed_by=desk.user, reviewed=now, updated=now)


async def _write(desk: Desk, query: Query) -> Query:
    await desk.stores.queries.write_queries([query])
    return replace(query, version=query.version + 1)


def _would_fail(failure: DataFailure) -> DataFailure:
    return DataFailure(
        DataCode.APPROVAL_FAILED,
        f"it is not approved, since by now it would not work: {failure}",
        details={"cause": failure.code, **failure.details},
    )

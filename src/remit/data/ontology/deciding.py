"""Listing changes that wait for a decision, and deciding on them (S2.43, S2.44)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from remit.data.desk import Desk
from remit.data.ontology.applying import edits_of
from remit.data.ontology.changes import may_see
from remit.data.ontology.writing import look
from remit.data.settling import settled
from remit.errors import DataFailure
from remit.model.data import DataCode, Datasource
from remit.model.ontology import ChangeStatus, PendingChange

MOST_AT_ONCE: Final = 500
"""Changes that one call decides on, or lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A change that could not be applied, and stays pending."""

    change: PendingChange
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What became of many changes.

    Attributes:
        more: Whether there are others that were not looked at.
    """

    applied: Sequence[PendingChange]
    skipped: Sequence[Skipped]
    more: bool


async def list_changes(
    desk: Desk,
    datasource: str | None,
    *,
    status: ChangeStatus = ChangeStatus.PENDING,
    limit: int = 50,
) -> tuple[Sequence[PendingChange], bool]:
    """Return changes that stand somewhere, oldest first, and whether there are more."""
    where = await desk.datasource(datasource)
    found = await desk.stores.ontology.changes(
        desk.tenant, where.id, status=status, limit=limit + 1
    )
    return [each for each in found[:limit] if may_see(where, each)], len(found) > limit


async def approve_change(
    desk: Desk, change_id: str, datasource: str | None = None
) -> PendingChange:
    """Apply a change; of that datasource, where one is named.

    Raises:
        DataFailure: `not_found`, `invalid_state`, `precedence_blocked`, or `entity_not_found`;
            the change stays pending.
    """

    async def attempt() -> PendingChange:
        change, where = await _pending(desk, change_id, datasource)
        edits = edits_of(desk, await look(desk, where), change)
        decided = _decided(desk, change, ChangeStatus.APPROVED)
        await desk.stores.ontology.write(
            items=edits.items, removed=edits.removed, schema=edits.schema, changes=[decided]
        )
        return decided

    return await settled(attempt)


async def reject_change(desk: Desk, change_id: str, datasource: str | None = None) -> PendingChange:
    """Drop a change; of that datasource, where one is named.

    Raises:
        DataFailure: `not_found` or `invalid_state`.
    """

    async def attempt() -> PendingChange:
        change, _ = await _pending(desk, change_id, datasource)
        decided = _decided(desk, change, ChangeStatus.REJECTED)
        await desk.stores.ontology.write(changes=[decided])
        return decided

    return await settled(attempt)


async def approve_all_changes(desk: Desk, datasource: str | None = None) -> Decided:
    """Apply every pending change that can be, oldest first, each for itself."""
    pending, more = await list_changes(desk, datasource, limit=MOST_AT_ONCE)
    applied: list[PendingChange] = []
    skipped: list[Skipped] = []
    for change in pending:
        try:
            applied.append(await approve_change(desk, change.id))
        except DataFailure as refused:
            skipped.append(Skipped(change=change, code=refused.code, message=str(refused)))
    return Decided(applied=applied, skipped=skipped, more=more)


async def _pending(
    desk: Desk, change_id: str, datasource: str | None
) -> tuple[PendingChange, Datasource]:
    named = await desk.datasource(datasource) if datasource is not None else None
    change = await desk.stores.ontology.find_change(desk.tenant, change_id)
    where = (
        await desk.stores.datasources.find_datasource(desk.tenant, change.datasource)
        if change is not None
        else None
    )
    is_of_it = named is None or where is None or named.id == where.id
    if change is None or where is None or not is_of_it or not may_see(where, change):
        raise DataFailure(
            DataCode.NOT_FOUND,
            f"there is no change {change_id[:80]!r}; list_pending_changes names those there are",
        )
    if change.status is not ChangeStatus.PENDING:
        raise DataFailure(
            DataCode.INVALID_STATE,
            f"the change is {change.status} already: only a pending one can be decided on",
            details={"status": change.status.value},
        )
    return change, where


def _decided(desk: Desk, change: PendingChange, status: ChangeStatus) -> PendingChange:
    return replace(change, status=status, decided=desk.clock(), decided_by=desk.user)

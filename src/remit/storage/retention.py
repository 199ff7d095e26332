"""Removes what the record may not hold any longer, oldest first, and leaves a signed marker.

In small transactions, each of which leaves a chain that holds: nobody waits long, and whatever
ends it half-way leaves nothing half done. A row is removed only while it holds, so that a marker
vouches for everything that it stands for.
"""

from datetime import datetime
from typing import Final

from sqlalchemy import delete, select

from remit.errors import Conflict
from remit.model.retention import Cut, Retention, oldest_kept
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.chain import Head, chained_rows, fits, heads_of
from remit.storage.cuts import CutWords, ForgedCut, SignedCut, Signer, last_cuts, save_cut
from remit.storage.database import Database
from remit.storage.dialects import take_turn
from remit.storage.steps import in_steps
from remit.storage.tables import audit_events

BATCH: Final = 200
"""Rows in one transaction."""

_ONE_AT_A_TIME: Final = 0x7072756E65  # any number that every remit agrees on: "prune"


async def prune(
    database: Database,
    retention: Retention,
    *,
    signer: Signer,
    tenant: str,
    author: str,
    now: datetime,
) -> Cut | None:
    """Remove the rows of *tenant* that are beyond *retention*; return the marker, if any went.

    Raises:
        Conflict: Rows that would go, or a marker, do not hold; `verify` tells more.
        StorageUnavailable: The database cannot be used; what is gone has its marker.
    """
    async with database.reading() as connection:
        target = await _target(connection, tenant, retention, now)
    words = CutWords(tenant=tenant, author=author, time=now, reason=retention.reason)
    made: SignedCut | None = None

    async def remove_some() -> bool:
        nonlocal made
        async with database.writing() as connection:
            await connection.run_sync(take_turn, _ONE_AT_A_TIME)
            again = await _remove_some(connection, target, signer, words, made)
        made = again or made
        return again is not None

    await in_steps(remove_some)
    return None if made is None else made.cut


async def _target(
    connection: AsyncConnection, tenant: str, retention: Retention, now: datetime
) -> int:
    """Return the number of the last row that may go, or 0."""
    length = (await connection.run_sync(heads_of, [tenant]))[tenant].length
    target = 0
    if retention.rows is not None:
        target = max(target, length - retention.rows)
    oldest = None if retention.days is None else oldest_kept(now, retention.days)
    if oldest is not None:
        # rows may come late, so the first young one counts; before it lie only those that go
        young = (
            select(audit_events.c.link)
            .where(audit_events.c.tenant == tenant, audit_events.c.time >= oldest)
            .order_by(audit_events.c.seq)
            .limit(1)
        )
        first = (await connection.execute(young)).scalar_one_or_none()
        target = max(target, first - 1 if isinstance(first, int) else length)
    return target


async def _remove_some(
    connection: AsyncConnection,
    target: int,
    signer: Signer,
    words: CutWords,
    mine: SignedCut | None,
) -> SignedCut | None:
    """Remove a batch of the oldest rows up to number *target*; None when there is none."""
    try:
        cuts = await last_cuts(connection, words.tenant, signer)
    except ForgedCut as forged:
        raise Conflict(f"nothing more is removed from the record: {forged}") from forged
    head = Head() if not cuts else Head(length=cuts[-1].cut.link, hash=cuts[-1].cut.hash)
    query = chained_rows(words.tenant).limit(min(BATCH, max(0, target - head.length)))
    try:
        rows = (await connection.execute(query)).all() if target > head.length else ()
    except ValueError as error:  # another hand left what is none of its column's
        raise Conflict(
            "nothing more is removed from the record: a row cannot be read;"
            " see `remit audit verify`"
        ) from error
    for row in rows:
        if not fits(head, row):
            raise Conflict(
                f"nothing more is removed from the record: it does not hold at row {row.seq};"
                " see `remit audit verify`"
            )
        head = Head(length=row.link, hash=row.hash)
    if not rows:
        return None
    made = await save_cut(
        connection,
        cuts,
        link=head.length,
        last_hash=head.hash,
        signer=signer,
        words=words,
        replaces=mine is not None and cuts[-1].signed == mine.signed,
    )
    await connection.execute(
        delete(audit_events).where(
            audit_events.c.tenant == words.tenant, audit_events.c.seq <= rows[-1].seq
        )
    )
    return made

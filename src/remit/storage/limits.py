"""Calls counted in the database, for all workers over it, by the database's own clock.

A limit of ten calls has ten slots for each caller, made as they are needed. A call takes a slot
that is free and holds it for the limit's span; when none is free, the call has to wait for the one
that is free next. So any span has at most ten calls, and a call costs the same whatever the number.
Nobody waits for more than two spans, even if the clock is set back.

Two calls that reach for one slot at once: SQLite has one writer; on PostgreSQL the second finds
the slot taken once it may look, and reaches for another.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio
from sqlalchemy import text

from remit.errors import StorageUnavailable
from remit.model.limits import Allowance, Shortage
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.database import Database

PATIENCE: Final = 2.0
"""Seconds that a call waits for its turn, and as many for the database: a call is not kept waiting
by a limit, which each worker counts for itself while the store is away.
"""

PRUNE_EVERY: Final = 600.0
"""Seconds between looks for callers whose calls count no more."""

_AT_ONCE: Final = {"sqlite": 1, "postgresql": 4}
"""Transactions at once in this worker, so that counting leaves connections to others."""

_NOW: Final = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
}
"""Seconds since 1970 on the database's clock."""

_MOST_ATTEMPTS: Final = 100
"""How often a call reaches for another slot; each time another call got one."""

_UNLOCKED: Final = {"sqlite": "", "postgresql": "FOR UPDATE SKIP LOCKED"}
_LOCK_TABLE: Final = {
    "sqlite": "SELECT 1",  # its write transactions are alone as they are
    "postgresql": "LOCK TABLE limit_slots IN SHARE ROW EXCLUSIVE MODE",
}

_TAKE: Final = """
WITH free AS (
  SELECT slot FROM limit_slots WHERE key = :key AND +slot < :calls AND free_at <= (SELECT {now})
  ORDER BY free_at LIMIT 1 {unlocked}
), ahead AS (
  SELECT slot FROM limit_slots
  WHERE key = :key AND +slot < :calls AND free_at > (SELECT {now}) + 2 * :seconds
  ORDER BY free_at DESC LIMIT 1 {unlocked}
)
INSERT INTO limit_slots (key, slot, free_at)
SELECT :key, slot, {now} + :seconds FROM (
  SELECT coalesce(
    (SELECT slot FROM free), (SELECT slot FROM ahead),
    (SELECT max(slot) + 1 FROM limit_slots WHERE key = :key), 0
  ) AS slot
) AS chosen
WHERE slot < :calls
ON CONFLICT (key, slot) DO UPDATE SET free_at = excluded.free_at
WHERE limit_slots.free_at <= {now} OR limit_slots.free_at > {now} + 2 * :seconds
RETURNING slot
"""
"""A slot that is free more than a span later than any could be is of a clock that was set back.

`(SELECT now)` and `+slot` leave the search for a free slot to the index of `free_at`.

With a clock that is asked for every row, each call would read all those before it.
"""

_WAIT: Final = """
SELECT
  (SELECT max(slot) + 1 FROM limit_slots WHERE key = :key AND slot < :calls) AS slots,
  (SELECT free_at FROM limit_slots WHERE key = :key AND +slot < :calls
   ORDER BY free_at LIMIT 1) - {now} AS wait
"""
"""How many slots are made, and when the first is free; NULLs when none is.

Nothing is counted, since slots are made without gaps and may be a hundred thousand; for the same
reason `+slot` leaves the search to the index of `free_at`.
"""

_USED: Final = """
SELECT count(*) FROM limit_slots
WHERE key = :key AND slot < :calls AND free_at > {now} AND free_at <= {now} + 2 * :seconds
"""

_PRUNE: Final = """
DELETE FROM limit_slots WHERE key IN (
  SELECT key FROM limit_slots GROUP BY key HAVING max(free_at) <= {now}
)
"""


class _HasToWait(Exception):
    """Undoes what was counted already against other limits."""

    def __init__(self, shortage: Shortage) -> None:
        super().__init__()
        self.shortage = shortage


class SlotsInDatabase:
    """Moving windows as rows of `limit_slots`."""

    def __init__(self, database: Database) -> None:
        dialect = database.engine.dialect.name
        spelled = {"now": _NOW[dialect], "unlocked": _UNLOCKED[dialect]}
        self._database = database
        self._take = text(_TAKE.format(**spelled))
        self._wait = text(_WAIT.format(**spelled))
        self._used = text(_USED.format(**spelled))
        self._prune = text(_PRUNE.format(**spelled))
        self._lock_table = text(_LOCK_TABLE[dialect])
        self._turn = anyio.CapacityLimiter(_AT_ONCE[dialect])
        self._prune_at = 0.0

    async def take(self, wanted: Sequence[Allowance]) -> Shortage | None:
        """Count one call against each of *wanted*, or against none of them.

        Raises:
            StorageUnavailable: The database cannot be used.
        """
        try:
            with anyio.fail_after(PATIENCE):
                await self._turn.acquire()
        except TimeoutError:
            raise StorageUnavailable("limits are not counted in time") from None
        try:
            if time.monotonic() >= self._prune_at:
                self._prune_at = time.monotonic() + PRUNE_EVERY
                await self.prune()
            async with self._database.writing(within=PATIENCE) as connection:
                await self._take_all(connection, wanted)
        except _HasToWait as refused:
            return refused.shortage
        finally:
            self._turn.release()
        return None

    async def used(self, wanted: Sequence[Allowance]) -> Sequence[int]:
        """Return how many calls count against each of *wanted* now, at most what it allows.

        Raises:
            StorageUnavailable: The database cannot be used.
        """
        counts: list[int] = []
        async with self._database.reading() as connection:
            for allowance in wanted:
                counted = await connection.execute(self._used, _values(allowance))
                counts.append(counted.scalar_one())
        return counts

    async def prune(self) -> None:
        """Forget callers whose calls count no more.

        Raises:
            StorageUnavailable: The database cannot be used.
        """
        async with self._database.writing() as connection:
            await connection.execute(self._lock_table)
            await connection.execute(self._prune)

    async def _take_all(self, connection: AsyncConnection, wanted: Sequence[Allowance]) -> None:
        # always in the same order, so that no two calls wait for each other
        for allowance in sorted(wanted):
            if not await self._taken(connection, allowance):
                raise _HasToWait(await self._longest_wait(connection, wanted))

    async def _taken(self, connection: AsyncConnection, allowance: Allowance) -> bool:
        values = _values(allowance)
        for _ in range(_MOST_ATTEMPTS):
            taken = await connection.execute(self._take, values)
            if taken.first() is not None:
                return True
            slots, wait = (await connection.execute(self._wait, values)).one()
            if slots is not None and slots >= allowance.calls and wait > 0:
                return False
        raise StorageUnavailable("others hold every slot of a limit for too long")

    async def _longest_wait(
        self, connection: AsyncConnection, wanted: Sequence[Allowance]
    ) -> Shortage:
        worst = Shortage(0, 0.0)
        for at, allowance in enumerate(wanted):
            slots, wait = (await connection.execute(self._wait, _values(allowance))).one()
            if slots is not None and slots >= allowance.calls and wait > worst.wait:
                worst = Shortage(at, wait)
        return worst


def _values(allowance: Allowance) -> Mapping[str, Any]:
    return {
        "key": allowance.key,
        "calls": allowance.calls,
        "seconds": float(allowance.seconds),
    }

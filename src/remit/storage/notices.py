"""Wakes whoever waits for changes as soon as PostgreSQL tells of one; below it, they look anyway.

bump ──▶ NOTIFY, delivered at the commit ──▶ listener ──▶ whoever waits looks at the epochs
listener away, SQLite, a pooler that swallows notices ──▶ whoever waits looks when time is up

What the crew changes has a channel of its own, since it is much and concerns no epoch.
"""

from typing import Any, Final

import anyio
import structlog
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.database import Database

log = structlog.get_logger(__name__)

CHANNEL: Final = "remit_epochs"
CREW_CHANNEL: Final = "remit_crew"

ALIVE_EVERY: Final = 30.0
"""Seconds without a notice after which the connection is asked whether it still stands."""

LONGEST_PAUSE: Final = 5.0
"""Seconds between attempts to listen while the database is away."""

_FIRST_PAUSE: Final = 0.1
_ANSWER: Final = 10.0


class Bell:
    """Rings for everybody who waits for it.

    Attributes:
        told: How often it rang.
    """

    def __init__(self) -> None:
        self.told = 0
        self._rung = anyio.Event()

    def ring(self) -> None:
        """Wake whoever waits."""
        self.told += 1
        self._rung.set()
        self._rung = anyio.Event()

    async def changed(self, seen: int, *, within: float) -> int:
        """Return how often it rang once that is not *seen*, or *within* seconds later."""
        with anyio.move_on_after(within):
            while self.told == seen:
                await self._rung.wait()
        return self.told


class Notices:
    """Tells that something changed, not what: epochs and tables say that.

    Attributes:
        epochs: Rings where it may be an epoch.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._any = Bell()
        self.epochs = Bell()

    async def changed(self, seen: int, *, within: float) -> int:
        """Return how many notices there were once that is not *seen*, or *within* seconds later."""
        return await self._any.changed(seen, within=within)

    @property
    def told(self) -> int:
        """How many notices there were."""
        return self._any.told

    def note(self) -> None:
        """Tell those who wait in this process of a change of the crew's that it made itself."""
        self._any.ring()

    async def listen(self) -> None:
        """Listen until cancelled, and again whenever the connection breaks; SQLite tells nobody."""
        engine = self._database.engine
        if engine.dialect.name != "postgresql":
            return
        errors: tuple[type[BaseException], ...] = (
            SQLAlchemyError,
            OSError,
            engine.dialect.loaded_dbapi.Error,
        )
        pause = _FIRST_PAUSE
        while True:
            before = self.told
            try:
                await self._listen_once()
            except errors as error:
                if self.told != before:
                    pause = _FIRST_PAUSE
                log.info("notices of changes are away", error=type(error).__name__)
            await anyio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _listen_once(self) -> None:
        with anyio.fail_after(_ANSWER):
            connection = await self._database.engine.connect()
        driver: Any = None
        try:
            driver = (await connection.get_raw_connection()).driver_connection
            # the pool lends no connection that listens to anybody else
            await connection.run_sync(lambda sync: sync.detach())
            with anyio.fail_after(_ANSWER):
                await connection.execute(text(f"SET application_name = '{CHANNEL}'"))
                for channel in (CHANNEL, CREW_CHANNEL):
                    await connection.execute(text(f"LISTEN {channel}"))
                await connection.commit()
            await self._take_notices(connection, driver)
        finally:
            with anyio.move_on_after(_ANSWER, shield=True):
                # otherwise a last rollback on a connection that is lost is logged as an error
                await connection.invalidate()
                await connection.close()
                if driver is not None:
                    await driver.close()

    async def _take_notices(self, connection: AsyncConnection, driver: Any) -> None:
        heard = {CHANNEL}  # at first, too: what was told while nobody listened
        while True:
            self._any.ring()
            if CHANNEL in heard:
                self.epochs.ring()
            told = driver.notifies(timeout=ALIVE_EVERY, stop_after=1)
            heard = {notice.channel async for notice in told}
            if not heard:
                with anyio.fail_after(_ANSWER):
                    await connection.execute(text("SELECT 1"))
                    await connection.commit()

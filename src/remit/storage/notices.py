"""Wakes whoever waits for changes as soon as PostgreSQL tells of one; below it, they look anyway.

bump ──▶ NOTIFY, delivered at the commit ──▶ listener ──▶ whoever waits looks at the epochs
listener away, SQLite, a pooler that swallows notices ──▶ whoever waits looks when time is up
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

ALIVE_EVERY: Final = 30.0
"""Seconds without a notice after which the connection is asked whether it still stands."""

LONGEST_PAUSE: Final = 5.0
"""Seconds between attempts to listen while the database is away."""

_FIRST_PAUSE: Final = 0.1
_ANSWER: Final = 10.0


class Notices:
    """Tells that something changed, not what: the epochs say that."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._told = 0
        self._tell = anyio.Event()

    async def changed(self, seen: int, *, within: float) -> int:
        """Return how many notices there were once that is not *seen*, or *within* seconds later."""
        with anyio.move_on_after(within):
            while self._told == seen:
                await self._tell.wait()
        return self._told

    @property
    def told(self) -> int:
        """How many notices there were."""
        return self._told

    def note(self) -> None:
        """Tell those who wait in this process of a change that it made itself."""
        self._told += 1
        self._tell.set()
        self._tell = anyio.Event()

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
            before = self._told
            try:
                await self._listen_once()
            except errors as error:
                if self._told != before:
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
                await connection.execute(text(f"LISTEN {CHANNEL}"))
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
        while True:
            # also at first: what was told while nobody listened
            self.note()
            heard = False
            async for _ in driver.notifies(timeout=ALIVE_EVERY, stop_after=1):
                heard = True
            if not heard:
                with anyio.fail_after(_ANSWER):
                    await connection.execute(text("SELECT 1"))
                    await connection.commit()

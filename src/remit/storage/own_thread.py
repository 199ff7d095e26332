"""Work with SQLite that is done in one visit to its connection's thread.

aiosqlite gives each connection a thread, and visits it three times for a statement; each visit ends
with a turn of the event loop. A batch of the record takes fifty of them, so a gateway that is busy
enough would record calls faster than their rows are written. What writes much goes there once.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar, cast

import aiosqlite
from sqlalchemy import Connection

from remit.storage.asyncio_engine import AsyncConnection

T = TypeVar("T")

MOMENT: Final = 0.002
"""Seconds; some turns of a busy event loop."""

_ROWS: Final = 64  # that a cursor which is iterated fetches at once; aiosqlite's default


class OwnThread(aiosqlite.Connection):
    """aiosqlite's connection; what its own thread asks of it is done at once."""

    def __init__(self, file: str, **arguments: Any) -> None:
        """Open *file* when it is awaited; the arguments are those of `sqlite3.connect`."""
        super().__init__(partial(sqlite3.connect, file, **arguments), iter_chunk_size=_ROWS)
        self._thread.daemon = True  # as SQLAlchemy sets it for those that it makes

    @property
    def is_here(self) -> bool:
        """Whether whoever asks is in that thread."""
        return threading.get_ident() == self._thread.ident

    async def visit(self, work: Callable[[], T]) -> T:
        """Do *work* in the thread, and return what it returns."""
        result: T = await self._execute(work)
        return result

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.is_here:
            return fn(*args, **kwargs)
        return await super()._execute(fn, *args, **kwargs)  # pyright: ignore[reportUnknownMemberType]


async def at_once(connection: AsyncConnection, work: Callable[[Connection], T]) -> T:
    """Do *work* with a connection to SQLite, all of it in the connection's thread."""
    driver = cast("OwnThread", (await connection.get_raw_connection()).driver_connection)
    return await driver.visit(lambda: _ended(connection.run_sync(work)))


def give_way(connection: Connection) -> None:
    """Let the event loop go first for a moment, if it shares its only core with this thread.

    The visit would hold up every call until its end; with more cores they go on beside it, and
    whoever waits for the database's lock would wait longer for nothing.
    """
    driver = connection.connection.driver_connection
    if isinstance(driver, OwnThread) and driver.is_here and _cores() == 1:
        time.sleep(MOMENT)  # noqa: TID251 - there is nothing to wait for


def _cores() -> int:
    """Return how many cores this thread may use."""
    may_be_pinned = hasattr(os, "sched_getaffinity")  # not on every system
    return len(os.sched_getaffinity(0)) if may_be_pinned else os.cpu_count() or 1


def _ended(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, without an event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError("work in a connection's own thread has waited for something")

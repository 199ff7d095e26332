"""Connections to a PostgreSQL database, which callers use one after another and leave as found."""

import os
import socket
import time
from asyncio import TimerHandle, get_running_loop
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import psycopg
from psycopg import AsyncConnection, AsyncRawCursor, sql
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus

from remit.data.engines.postgresql_errors import cannot_connect
from remit.data.engines.postgresql_values import take_as_text

Connection = AsyncConnection[tuple[object, ...]]

IDLE: Final = 60.0
"""Seconds that a connection is kept which nobody uses."""

CONNECT: Final = 10
"""Seconds that connecting may take."""

STOP: Final = 5.0
"""Seconds that stopping a statement may take, before its connection is cut."""

OPEN: Final = (TransactionStatus.INTRANS, TransactionStatus.INERROR)

RESET: Final = b"DISCARD ALL"
"""Undoes what a session holds: settings, roles, locks, temporary tables, prepared statements."""

_NEVER: Final = 2**31
"""How often a statement has to come before the library prepares it on its own account."""

OPTIONS: Final[Mapping[str, str | int]] = {
    "connect_timeout": CONNECT,
    "application_name": "remit",
    # a server that is gone without a word is noticed
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


class Sessions:
    """Connections as one role: opened when they are needed, closed when they are not."""

    def __init__(self, url: str, schemas: Sequence[str], *, read_only: bool) -> None:
        self._url = make_conninfo(url, **OPTIONS)
        self._schemas = schemas
        self._read_only = read_only
        self._idle: list[tuple[float, Connection]] = []
        self._busy: set[Connection] = set()
        self._timer: TimerHandle | None = None
        self._closed = False

    @asynccontextmanager
    async def transaction(
        self, seconds: float, *, read_only: bool = True
    ) -> AsyncGenerator[Connection]:
        """Hold a connection in a transaction, which is rolled back unless it was committed.

        Args:
            seconds: How long each of its statements may run.
            read_only: Whether the transaction may change nothing.

        Raises:
            DataFailure: `service_unavailable`: there is no connection.
        """
        connection = await self._begin(self._beginning(seconds, read_only=read_only))
        self._busy.add(connection)
        try:
            yield connection
        finally:
            self._busy.discard(connection)
            with anyio.move_on_after(STOP, shield=True):
                await self._take_back(connection)
            if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                finish(connection)

    async def stop(self, connection: Connection) -> None:
        """Have what runs on a connection end in the database, or cut the connection."""
        try:
            await connection.cancel_safe(timeout=STOP)
        except psycopg.Error:
            cut(connection)

    async def aclose(self) -> None:
        """Close what is idle, and stop and cut what is not."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for connection in tuple(self._busy):
            await self.stop(connection)
        while self._idle:
            finish(self._idle.pop()[1])

    async def _begin(self, beginning: bytes) -> Connection:
        """Begin a transaction on a connection that answers, a fresh one if need be."""
        while self._idle:
            connection = self._idle.pop()[1]
            with suppress(psycopg.OperationalError):  # lost while nobody used it, maybe like others
                return await self._begun(connection, beginning)
        try:
            return await self._begun(await self._connect(), beginning)
        except psycopg.Error as error:
            raise cannot_connect(error) from error

    async def _begun(self, connection: Connection, beginning: bytes) -> Connection:
        is_begun = False
        try:
            await connection.execute(beginning)
            is_begun = True
        finally:
            if not is_begun:
                finish(connection)
        return connection

    async def _connect(self) -> Connection:
        # Nothing is prepared that is read with: the library would take for prepared what `RESET`
        # has forgotten.
        connection = await AsyncConnection.connect(
            self._url,
            autocommit=True,
            cursor_factory=AsyncRawCursor,
            prepare_threshold=None if self._read_only else _NEVER,
        )
        take_as_text(connection)
        return connection

    def _beginning(self, seconds: float, *, read_only: bool) -> bytes:
        mode = "READ ONLY" if read_only or self._read_only else "READ WRITE"
        # The usual schema alone: a name without one means what the guard took it for.
        path = sql.Identifier(self._schemas[0]).as_string()
        settings = {
            "statement_timeout": f"{max(1, round(seconds * 1000))}",
            "idle_in_transaction_session_timeout": f"{round(seconds * 1000) + 30_000}",
            "search_path": path,
            "timezone": "'UTC'",
            "datestyle": "ISO",
            "intervalstyle": "'iso_8601'",
            "bytea_output": "'hex'",
            "lock_timeout": f"{max(1, round(seconds * 1000))}",
            "client_min_messages": "error",
        }
        lines = [f"BEGIN {mode}", *(f"SET LOCAL {key} = {each}" for key, each in settings.items())]
        return "; ".join(lines).encode()

    async def _take_back(self, connection: Connection) -> None:
        """Keep a connection that is as it was when it was new; close any other."""
        try:
            if connection.pgconn.transaction_status in OPEN:
                await connection.execute(b"ROLLBACK")
            is_idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
            # what writes has prepared its statement, and is used once
            if is_idle and self._read_only and not self._closed:
                await connection.execute(RESET)
                self._keep(connection)
                return
        except psycopg.Error:
            pass  # it is of no more use
        finish(connection)

    def _keep(self, connection: Connection) -> None:
        self._idle.append((time.monotonic(), connection))
        if self._timer is None:
            self._timer = get_running_loop().call_later(IDLE, self._close_idle)

    def _close_idle(self) -> None:
        """Close connections that nobody used for a while; oldest first in the list."""
        self._timer = None
        now = time.monotonic()
        while self._idle and now - self._idle[0][0] >= IDLE - 0.001:
            finish(self._idle.pop(0)[1])
        if self._idle:
            left = self._idle[0][0] + IDLE - now
            self._timer = get_running_loop().call_later(left, self._close_idle)


def finish(connection: Connection) -> None:
    """Close a connection at once."""
    connection.pgconn.finish()


def cut(connection: Connection) -> None:
    """End a connection under whoever waits on it, who then sees that it was lost."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)

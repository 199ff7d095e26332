"""The relay's connections to one server: kept for a while, the one used last taken first."""

import asyncio
import socket
from functools import partial

import anyio
from aiohappyeyeballs import (
    start_connection,  # pyright: ignore[reportUnknownVariableType] - it leaves addresses open
)

from remit.errors import UpstreamUnavailable
from remit.upstreams.company import Company
from remit.upstreams.http import CONNECTING, unreachable
from remit.upstreams.relay_bytes import Target
from remit.upstreams.relay_connection import RelayConnection
from remit.upstreams.trust import Trust
from remit.upstreams.turns import Turns

IDLE = 4.0
"""Seconds that an unused connection is kept: less than the 5 after which many servers hang up, so
that a request does not cross with that."""

_NEXT_ADDRESS = 0.25
"""Seconds until another address of the same host is tried as well (RFC 8305)."""

_CLOSING = 1.0


class RelayPool:
    """Connections to one origin.

    Args:
        target: Where to.
        where: `host:port`, for messages.
        most: Connections at once; who comes later waits, first come, first served.
        trust: For a target that speaks TLS.
        idle: Seconds that an unused connection is kept.
    """

    def __init__(
        self, target: Target, where: str, *, most: int, trust: Trust, idle: float = IDLE
    ) -> None:
        self._target = target
        self._where = where
        self._trust = trust
        self._idle = idle
        self._most = most
        self._busy = 0  # with those that rest never more than the most
        self._company = Company()
        self._turns = Turns[RelayConnection | None](self._leave)
        self._resting: list[RelayConnection] = []
        self._open: set[RelayConnection] = set()
        self._lost = anyio.Event()
        self._is_closed = False
        self._loop = asyncio.get_running_loop()
        self._sweeping: asyncio.TimerHandle | None = None

    def at_hand(self) -> RelayConnection | None:
        """Return the one used last of those that rest, if any does; then nobody waits."""
        while self._resting:
            connection = self._resting.pop()
            if not connection.is_closing():
                self._busy += 1
                return connection
        return None

    async def take(self) -> RelayConnection:
        """Return a connection that a request can be sent on; it comes back when that is over.

        Raises:
            UpstreamUnavailable: None can be opened.
        """
        connection = self.at_hand()
        if connection is not None:
            return connection
        if self._busy < self._most:
            self._busy += 1
        else:
            connection = await self._turns.wait()
            if connection is not None and not connection.is_closing():
                return connection
        is_open = False
        try:
            connection = await self._connect()
            is_open = True
        finally:
            if not is_open:
                self._leave(None)
        return connection

    async def close(self) -> None:
        """Close every connection, whatever it is doing, and open no more."""
        self._is_closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in list(self._open):
            connection.abort()
        with anyio.move_on_after(_CLOSING, shield=True):
            while self._open:
                self._lost = anyio.Event()
                await self._lost.wait()

    async def _connect(self) -> RelayConnection:
        target = self._target
        if self._is_closed:
            raise UpstreamUnavailable("was stopped")
        try:
            with anyio.fail_after(CONNECTING):
                addresses = await self._loop.getaddrinfo(
                    target.host, target.port, type=socket.SOCK_STREAM
                )
                opened = await start_connection(addresses, happy_eyeballs_delay=_NEXT_ADDRESS)
                # A stream of notifications may be silent for hours.
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                _, connection = await self._loop.create_connection(
                    partial(
                        RelayConnection,
                        self._where,
                        company=self._company,
                        loop=self._loop,
                        on_rest=self._leave,
                        on_lost=self._forget,
                    ),
                    sock=opened,
                    ssl=self._trust.context if target.is_tls else None,
                    server_hostname=target.host if target.is_tls else None,
                )
        except (OSError, RuntimeError) as error:  # uvloop has the latter for some addresses
            raise unreachable(error, self._where) from error
        if self._is_closed:
            connection.abort()
            raise UpstreamUnavailable("was stopped")
        if connection.is_closing():
            raise UpstreamUnavailable(f"hung up at once at {self._where}", transient=True)
        self._open.add(connection)
        return connection

    def _leave(self, connection: RelayConnection | None) -> None:
        """Give up a place, and its connection; whoever is next looks whether that still holds."""
        if self._turns.waiting and self._turns.hand(connection):
            return
        self._busy -= 1
        if connection is None:
            return
        connection.idle_since = self._loop.time()
        self._resting.append(connection)
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(self._idle, self._sweep)

    def _sweep(self) -> None:
        """Close what was idle for long; the oldest stand first."""
        now = self._loop.time()
        due = [one for one in self._resting if one.idle_since + self._idle <= now]
        del self._resting[: len(due)]
        for connection in due:
            connection.close()
        self._sweeping = None
        if self._resting:
            until = self._resting[0].idle_since + self._idle
            self._sweeping = self._loop.call_at(until, self._sweep)

    def _forget(self, connection: RelayConnection) -> None:
        self._open.discard(connection)
        self._lost.set()

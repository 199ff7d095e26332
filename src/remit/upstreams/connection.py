"""Opening a connection within its time, and taking turns on it.

Whoever enters `open_connection` owns the connection: the task that opened it closes it, and no
other task enters its scopes.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
)
from typing import assert_never

import anyio

from remit.errors import UpstreamUnavailable
from remit.model.servers import Transport
from remit.upstreams.builtin import open_builtin
from remit.upstreams.session import Session, Setup
from remit.upstreams.stdio import open_stdio
from remit.upstreams.streamable import open_http
from remit.upstreams.turns import Turns


class Connection:
    """An open session, and the calls on it.

    Attributes:
        in_flight: Calls that are under way.
        last_used: When the last one ended, on the event loop's clock.
    """

    def __init__(self, session: Session, *, most_calls: int) -> None:
        self.session = session
        self.in_flight = 0
        self._clock = asyncio.get_running_loop().time
        self.last_used = self._clock()
        self._most_calls = most_calls
        self._turns = Turns[None](self.__exit__)

    def at_once(self) -> AbstractContextManager[Session] | None:
        """Take a turn as `turn` does, if nobody has to wait for it."""
        if self.in_flight >= self._most_calls:
            return None
        self.in_flight += 1
        return self

    async def turn(self) -> AbstractContextManager[Session]:
        """Wait until one more call may be under way, which it then is until the context is left.

        The context must be entered at once: `with await connection.turn() as session`.
        """
        if self.in_flight < self._most_calls:
            self.in_flight += 1
        else:
            await self._turns.wait()
        return self

    def __enter__(self) -> Session:
        """Begin the call."""
        return self.session

    def __exit__(self, *exc: object) -> None:
        """End the call."""
        self.last_used = self._clock()
        if not self._turns.waiting or not self._turns.hand(None):
            self.in_flight -= 1


@asynccontextmanager
async def open_connection(
    setup: Setup, first: Callable[[Session], Awaitable[None]]
) -> AsyncGenerator[Connection]:
    """Open a connection and do what must come *first* on it, both within its `start_timeout`.

    Raises:
        UpstreamError: It cannot be opened in that time.
    """
    seconds = setup.config.start_timeout
    with anyio.CancelScope(deadline=anyio.current_time() + seconds) as scope:
        async with _open_session(setup) as session:
            await first(session)
            scope.deadline = math.inf
            yield Connection(session, most_calls=setup.config.max_concurrency)
    if scope.cancelled_caught:
        last = setup.transcript.last_line
        raise UpstreamUnavailable(
            f"did not answer within {seconds:g} seconds of its start"
            + (f": {last}" if last else "")
        )


def _open_session(setup: Setup) -> AbstractAsyncContextManager[Session]:
    transport = setup.config.transport
    match transport:
        case Transport.STDIO:
            return open_stdio(setup)
        case Transport.HTTP:
            return open_http(setup)
        case Transport.SSE:
            # Deferred: the one transport on aiohttp, which takes 6 MB, and the rarest.
            from remit.upstreams.sse import open_sse  # noqa: PLC0415 - see above

            return open_sse(setup)
        case Transport.BUILTIN:
            return open_builtin(setup)
        case _:
            assert_never(transport)

"""Server-sent events: JSON-RPC messages as frames, and streams of notifications."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import msgspec

from remit.doors.asgi import Exchange
from remit.doors.head import Headers
from remit.doors.mcp.answers import STOPPED, Stream, error_answer, on_one_line
from remit.doors.mcp.changes import KEEP_ALIVE, Notice
from remit.doors.mcp.conversation import Turns
from remit.doors.mcp.envelope import Fault
from remit.model.call_meta import OUTCOME, UNKNOWN_OUTCOME
from remit.model.principals import Principal
from remit.model.protocol import INTERNAL_ERROR

KIND: Final = b"text/event-stream"
ALIVE: Final = b": alive\n\n"
"""A comment, which shows client and proxies that the stream lives."""

SEND_TIME: Final = 30.0
"""Seconds a client has to take a frame; one that reads no more loses its stream."""

_HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"content-type", KIND),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


def frame(message: bytes) -> bytes:
    """Return a JSON-RPC message as one event."""
    return b"event: message\ndata: %b\n\n" % on_one_line(message)


async def respond_once(exchange: Exchange, message: bytes, headers: Headers = ()) -> None:
    """Answer with a stream of one event."""
    await exchange.respond(200, frame(message), kind=KIND, headers=[*_HEADERS[1:], *headers])


class Speech:
    """The answer to one request: whole, or the last event of a stream that began before it.

    Args:
        exchange: Its answer has not begun.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._turns = Turns()
        self._attending: anyio.CancelScope | None = None

    async def send(self, message: bytes) -> None:
        """Send a message before the answer; the first one begins the stream."""
        await self._turns.send(self._part, message)

    async def finish(self, message: bytes) -> bool:
        """Send the answer as the stream's end; False when there is no stream."""
        if self._attending is not None:
            self._attending.cancel()
        await self._turns.finish()
        if not self._exchange.started:
            return False
        if await _send(self._exchange, frame(message)):
            await self._exchange.end()
        return True

    async def cut_off(self, message_id: bytes) -> bool:
        """Say as the stream's end that remit stops before the answer; False without a stream."""
        unknown = msgspec.json.encode({OUTCOME: UNKNOWN_OUTCOME})
        fault = Fault(code=INTERNAL_ERROR, message=STOPPED, data=unknown)
        return await self.finish(error_answer(message_id, fault).whole)

    async def attend(self, gone: Callable[[], None]) -> None:
        """Show that the stream lives until its end; call *gone* if the client leaves before."""
        with anyio.CancelScope() as self._attending:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_alive)
                await self._exchange.gone()
                tasks.cancel_scope.cancel()
            gone()

    async def _keep_alive(self) -> None:
        while True:
            await anyio.sleep(KEEP_ALIVE)
            await self._turns.send(self._raw, ALIVE)

    async def _part(self, message: bytes) -> None:
        if not self._exchange.started:
            await self._exchange.begin(200, _HEADERS)
        await self._raw(frame(message))

    async def _raw(self, part: bytes) -> None:
        if not await _send(self._exchange, part):
            self._turns.is_over = True


async def respond_stream(
    exchange: Exchange, stream: Stream, again: Callable[[], Awaitable[Principal]]
) -> None:
    """Answer with a stream until the client leaves, its credential lapses or remit stops.

    Args:
        exchange: Its answer has not begun.
        stream: What to say, and when.
        again: Verifies the caller's credential once more.
    """
    with stream.watch:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_gone, exchange, tasks.cancel_scope)
            await exchange.begin(200, _HEADERS)
            await _pump(exchange, stream, again)
            tasks.cancel_scope.cancel()


async def _pump(
    exchange: Exchange, stream: Stream, again: Callable[[], Awaitable[Principal]]
) -> None:
    is_taken = await _send(exchange, frame(stream.opening) if stream.opening else ALIVE)
    while is_taken and (notice := await stream.watch.wait(again)) is not Notice.CLOSED:
        news = stream.watch.news(stream.tag) if notice is Notice.CHANGED else []
        is_taken = await _send(exchange, b"".join(map(frame, news)) or ALIVE)
    if is_taken and stream.closing:
        is_taken = await _send(exchange, frame(stream.closing))
    if is_taken:
        await exchange.end()


async def _send(exchange: Exchange, part: bytes) -> bool:
    """Return whether the client took it in time."""
    with anyio.move_on_after(SEND_TIME):
        await exchange.part(part)
        return True
    return False


async def _cancel_when_gone(exchange: Exchange, scope: anyio.CancelScope) -> None:
    await exchange.gone()
    scope.cancel()

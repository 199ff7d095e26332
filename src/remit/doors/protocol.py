"""uvicorn's HTTP protocol with a short way for what nearly every request to MCP is.

    bytes ──▶ a head that is known ─────────────────────────────────────────────┐
      └──▶ parser ──▶ a whole POST below the prefix, alone on a kept connection ──▶ WholeExchange
                │                                                                       │
                └──▶ anything else ──▶ uvicorn's own way ──▶ ASGI ──▶ Exchange ──▶ the same answer

The short way spares the ASGI events and a second write, and a head that came before its parsing;
who answers cannot tell them apart.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Final, Self

import anyio
import httptools
from uvicorn.protocols.http.httptools_impl import (
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from remit.doors.asgi import JSON, LARGEST_BODY, NOWHERE, Exchange
from remit.doors.framing import INVALID, FramingProtocol
from remit.doors.head import Head, Headers, Heads

Answer = Callable[[Exchange], Awaitable[None]]
"""Answers a request, whatever way it came."""

LARGEST_HEAD: Final = 64 * 1024
"""Bytes of request line and headers that are waited for; a token has 16 KiB at most.

What is read at once (256 KiB) is taken whole, so a head may be larger by one reading.
"""

HEAD_TIME: Final = 30.0
"""Seconds in which a head arrives, from a connection's beginning or the head's own."""

MOST_WAITING: Final = 16
"""Requests that may wait behind the one that is answered before no more of them are read.

Reading is how a client that has left is noticed, so it must not stop at the first one that waits.
"""

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)

_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"

_END: Final = b"0\r\n\r\n"


class DoorProtocol(FramingProtocol):
    """One connection.

    Args:
        answer: Answers what takes the short way.
        prefix: Path of the requests that may.
        heads: The heads that connections of the same port have seen.
        given: What uvicorn gives its protocols.
    """

    def __init__(self, *, answer: Answer, prefix: bytes, heads: Heads, **given: Any) -> None:
        super().__init__(**given)
        self._answer = answer
        self._prefix = prefix
        self._heads = heads
        self._is_between = True
        self._read = b""
        self._is_deferred = False
        self._body = b""
        self._is_in_head = True
        self._head_read = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._resting_since = math.inf
        self._answered: RequestResponseCycle | WholeExchange | None = None

    # The request.

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection, and wait for its first request."""
        super().connection_made(transport)
        self._await_head()

    def on_message_begin(self) -> None:
        """Begin a request; what uvicorn notes of it is made when it is needed."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._is_in_head = True
        self._is_between = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a line of the head; one behind a body in chunks is dropped (RFC 9110 §6.5.1).

        A proxy that has judged the head need not have looked at it.
        """
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Wait for the body: if it came with the head, the request may take the short way."""
        if self.parser.should_upgrade():
            return  # it is read anew, see `framing.py`
        self._end_head()
        self._body = b""
        self._is_deferred = True

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        if self._is_deferred:
            self._body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Begin to answer."""
        if self._is_in_head:
            return
        self._is_between = True
        if self._is_deferred and self._is_plain():
            self._is_deferred = False
            head = Head("POST", self.url.decode("ascii"), self.headers)
            self._heads.keep(self._read, head, self._body)
            self._begin(WholeExchange(self, head, self._body))
            return
        self._go_the_long_way()
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Take bytes from the client."""
        if self.promptness.since:
            self.promptness.end()
        if self._unsent:
            self._send_out()
        if self._is_between and self._is_free():
            known = self._heads.find(data)
            if known is not None:
                if self._head_timer is not None:
                    self._end_head()
                self._resting_since = math.inf
                self._begin(WholeExchange(self, *known))
                return
            self._read = data
        self._parse(data)
        self._read = b""

    def _parse(self, data: bytes) -> None:
        was_in_head, rested = self._is_in_head, self._resting_since
        super().data_received(data)
        try:
            self._go_the_long_way()
        except httptools.HttpParserInvalidURLError:
            # The parser lets pass what is no URL; met while it runs, uvicorn answers the same.
            self.send_400_response(INVALID)
            return
        if self._is_in_head:
            if was_in_head:
                self._bound_head(len(data))
            if self._head_timer is None:
                self._await_head()
        elif rested < math.inf and self.cycle.response_complete:
            # Empty lines, or the rest of what was answered before it was whole: no new request.
            self._resting_since = rested

    def _begin(self, exchange: "WholeExchange") -> None:
        """Answer a whole request."""
        self._answered = exchange
        self.cycle = exchange  # pyright: ignore[reportAttributeAccessIssue] - stands in for one
        exchange.task = self.loop.create_task(self._serve(exchange))
        self.tasks.add(exchange.task)

    def _is_free(self) -> bool:
        """Whether nothing is being answered, or waits to be."""
        before = self.cycle
        return (
            (before is None or before.response_complete)  # pyright: ignore[reportUnnecessaryComparison] - uvicorn begins with None
            and not self.pipeline
            and not self.transport.is_closing()
        )

    def _end_head(self) -> None:
        """Take note that a head has arrived."""
        self._is_in_head = False
        self._head_read = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _bound_head(self, read: int) -> None:
        """Refuse a head that goes on and on; whoever sends it has shown no credential yet."""
        self._head_read += read
        if self._head_read > LARGEST_HEAD and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_TIME, self.end_slow_head)

    def end_slow_head(self) -> None:
        """Refuse a head that does not arrive: its connection would be kept for nothing."""
        self._head_timer = None
        self._send_out()
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison] - uvicorn begins with None
                self.transport.write(_TOO_SLOW)
            self.transport.close()

    def _is_plain(self) -> bool:
        """Whether nothing is special about a request that is there in full."""
        parser, url = self.parser, self.url
        return (
            url.startswith(self._prefix)
            and parser.get_method() == b"POST"
            and b"?" not in url
            and b"%" not in url
            and self._is_free()
            and not self.expect_100_continue
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
        )

    def _go_the_long_way(self) -> None:
        """Hand a request whose head is there to uvicorn."""
        if not self._is_deferred:
            return
        self._is_deferred = False
        if self.transport.is_closing():
            return
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)
        super().on_headers_complete()
        if len(self.pipeline) < MOST_WAITING:
            self.flow.resume_reading()
        if self._body:
            super().on_body(self._body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    async def _serve(self, exchange: "WholeExchange") -> None:
        try:
            await self._answer(exchange)
        finally:
            self.tasks.discard(exchange.task)
            del exchange.task  # whose context leads back here: only a collection would free both
            if not exchange.response_complete and not exchange.disconnected:
                self.transport.close()

    # A connection that rests for long is closed, at the cost of one timer for many requests.

    def on_response_complete(self) -> None:
        """Go on with the next request, or rest."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
            return
        self._resting_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_in(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it has rested for long enough, or look again later."""
        self.timeout_keep_alive_task = None
        rested = self.loop.time() - self._resting_since
        if rested >= self.timeout_keep_alive:
            super().timeout_keep_alive_handler()
        elif rested >= 0:
            self._look_in(self.timeout_keep_alive - rested)

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note that the client has left."""
        super().connection_lost(exc)
        # uvicorn tells the last request of it, behind which the one that is answered may be.
        answered = self._answered
        if answered is not None and not answered.response_complete:
            answered.disconnected = True
            answered.message_event.set()
            if isinstance(answered, WholeExchange):
                answered.left()
        self.pipeline.clear()
        if self._head_timer is not None:
            self._head_timer.cancel()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()

    def _unset_keepalive_if_required(self) -> None:
        self._resting_since = math.inf

    def _look_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )


class WholeExchange(Exchange):
    """A request that is there in full, answered past ASGI.

    Attributes:
        keep_alive: Whether the connection goes on afterwards.
        disconnected: Whether the client has left before the end of the answer.
        response_complete: Whether there is no more to send.
        task: What answers it, as soon as it is begun.
    """

    __slots__ = (
        "_body",
        "_gone",
        "_is_cancelled",
        "_is_watched",
        "_protocol",
        "disconnected",
        "keep_alive",
        "response_complete",
        "task",
    )

    task: asyncio.Task[None]

    def __init__(self, protocol: DoorProtocol, head: Head, body: bytes) -> None:
        self.head = head
        self.started = False
        self.granted = ()
        self.keep_alive = True
        self.disconnected = False
        self.response_complete = False
        self._protocol = protocol
        self._body = body
        self._gone: asyncio.Event | None = None
        self._is_watched = self._is_cancelled = False

    @property
    def client(self) -> tuple[str, int] | None:
        """Address and port of the other side, or None where there is no such thing."""
        return self._protocol.client

    @property
    def server(self) -> tuple[str, int | None]:
        """Address and port that the connection came to."""
        return self._protocol.server or NOWHERE

    @property
    def message_event(self) -> asyncio.Event:
        """Set when the client has left; the many that nobody waits for are never made."""
        if self._gone is None:
            self._gone = asyncio.Event()
        return self._gone

    @property
    def whole(self) -> bytes:
        """The whole body, which came in one reading and is smaller than any limit."""
        return self._body

    async def body(self, most: int = LARGEST_BODY) -> bytes:
        """Return the same."""
        del most
        return self._body

    @property
    def leaving(self) -> Self:
        """Itself: entered by its task, it cancels the block when the client leaves."""
        return self

    def __enter__(self) -> None:
        """Let the client that leaves cancel what follows; at once if it has."""
        self._is_watched = True
        if self.disconnected:
            self.left()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Go on, whether or not there is a client; a cancellation of ours ends here, quietly."""
        self._is_watched = False
        return (
            self._is_cancelled
            and self.task.uncancel() == 0
            and kind is not None
            and issubclass(kind, asyncio.CancelledError)
        )

    def left(self) -> None:
        """Take note that the client has left."""
        if self._is_watched:
            self._is_cancelled = self.task.cancel()

    async def gone(self) -> None:
        """Return when the client has closed the connection before the end of the answer.

        After it nobody is told: the event stays set, and to ask again would never end.
        """
        await self.message_event.wait()
        if not self.disconnected:
            await anyio.sleep_forever()

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        *,
        rest: Sequence[bytes] = (),
        kind: bytes = JSON,
        headers: Headers = (),
    ) -> None:
        """Send the whole answer, in one write; *rest* is not copied."""
        lines = b"content-type: %b\r\n" % kind if body else b""
        if headers or self.granted or not self.keep_alive:
            lines += self._lines(headers)
        self.started = True
        size = len(body) + sum(map(len, rest)) if rest else len(body)
        data = b"%bcontent-length: %d\r\n%b\r\n%b" % (STATUS_LINE[status], size, lines, body)
        if self._protocol.flow.write_paused:
            await self._room()
        if not self.disconnected:
            if rest:
                self._protocol.transport.writelines((data, *rest))
            elif self._protocol.company.has_others() and self.keep_alive:
                self._protocol.send_soon(data)
            else:
                self._protocol.transport.write(data)
                self._protocol.promptness.begin()
            self._complete()

    async def begin(self, status: int, headers: Headers) -> None:
        """Begin an answer that comes in parts."""
        self.started = True
        lines = self._lines(headers)
        await self._write(b"%b%btransfer-encoding: chunked\r\n\r\n" % (STATUS_LINE[status], lines))

    async def part(self, body: bytes) -> None:
        """Send the next part."""
        if body:
            await self._write(b"%x\r\n%b\r\n" % (len(body), body))

    async def end(self) -> None:
        """End an answer that came in parts."""
        await self._write(_END)
        if not self.disconnected:
            self._complete()

    async def _write(self, data: bytes) -> None:
        await self._room()
        if not self.disconnected:
            self._protocol.transport.write(data)

    async def _room(self) -> None:
        """Wait until there is room for more, or the client has left."""
        flow = self._protocol.flow
        if flow.write_paused and not self.disconnected:
            await flow.drain()

    def _lines(self, headers: Headers) -> bytes:
        last = b"" if self.keep_alive else b"connection: close\r\n"
        return _lines(headers) + _lines(self.granted) + last

    def _complete(self) -> None:
        self.response_complete = True
        if not self.keep_alive:
            self._protocol.transport.close()
        self._protocol.on_response_complete()


def _lines(headers: Headers) -> bytes:
    lines = b""
    for name, value in headers:
        if HEADER_VALUE_RE.search(value):
            raise ValueError("a header's value with control characters")
        lines += b"%b: %b\r\n" % (name, value)
    return lines

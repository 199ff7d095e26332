"""The old HTTP transport of 2024-11-05: requests by POST, all answers over one event stream.

stream ──endpoint──▶ initialize ──▶ open ──(it ends; or a POST meets 404, or 400 about the session,
and nothing more is awaited)──▶ closed, and opened anew by whoever owns the connection
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from urllib.parse import urljoin

import anyio
from anyio.abc import TaskGroup

from remit.errors import UpstreamError, UpstreamUnavailable
from remit.model.event_stream import EVENT_STREAM, Event
from remit.upstreams.background import open_background
from remit.upstreams.channel import Channel, ChannelSession
from remit.upstreams.events import EventStream, is_event_stream
from remit.upstreams.handshake import initialize
from remit.upstreams.http import HttpExchange, is_same_origin, is_session_unknown, status_error
from remit.upstreams.http_aiohttp import open_aiohttp
from remit.upstreams.session import Session, Setup
from remit.upstreams.trace_context import context_in_request

_POSTING = 30.0
"""Seconds that a POST may take to be accepted; the answer comes over the stream."""

_STREAM = {"Accept": EVENT_STREAM, "Cache-Control": "no-store"}
_POST = {"Content-Type": "application/json"}


@asynccontextmanager
async def open_sse(setup: Setup) -> AsyncGenerator[Session]:
    """Open the stream and shake hands.

    Raises:
        UpstreamError: It cannot be opened, or does not speak the protocol.
    """
    resolved = setup.resolved
    async with (
        open_aiohttp(setup.config, resolved.url, resolved.headers) as exchange,
        open_background() as tasks,
    ):
        stream = _Stream(setup, exchange, tasks)
        tasks.start_soon(stream.read)
        try:
            await stream.opened
            era = await initialize(stream.channel, setup.abilities)
            yield ChannelSession(stream.channel, era)
        finally:
            stream.channel.close("was stopped")


class _Stream:
    """The two directions of one connection."""

    def __init__(self, setup: Setup, exchange: HttpExchange, tasks: TaskGroup) -> None:
        self._url = setup.resolved.url
        self._max_message = setup.config.max_message
        self._signals = setup.signals
        self._transcript = setup.transcript
        self._exchange = exchange
        self._tasks = tasks
        self._endpoint = ""
        self._last_notification: anyio.Event | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.channel = Channel(self._send, transcript=setup.transcript, signals=setup.signals)

    async def read(self) -> None:
        """Read the stream to its end, which is that of the connection."""
        try:
            await self._read()
            self._end(UpstreamUnavailable("ended its event stream"))
        except UpstreamError as error:
            self._end(error)

    async def _read(self) -> None:
        with closing(await self._exchange.prepare("GET", _STREAM).send()) as answer:
            if not is_event_stream(answer.headers):
                raise status_error(answer.status) or UpstreamUnavailable(
                    "does not answer with an event stream; is `transport: http` meant?"
                )
            events = EventStream(answer, self._max_message)
            while (event := await events.next()) is not None:
                self._take(event)

    def _take(self, event: Event) -> None:
        if event.name == "message":
            self.channel.receive(event.data)
        elif event.name == "endpoint" and isinstance(event.data, bytes):
            target = urljoin(self._url, event.data.decode(errors="replace"))
            if not is_same_origin(target, self._url):
                raise UpstreamUnavailable("names an endpoint on another origin")
            self._endpoint = target
            if not self.opened.done():
                self.opened.set_result(None)

    def _end(self, error: UpstreamError) -> None:
        if not self.opened.done():
            self.opened.set_exception(error)
        self.channel.close(str(error))
        self._signals.end(str(error))

    def _send(self, frame: bytes, number: int | None) -> bool:
        # Requests may overtake one another, but never a notification: `initialized` comes first.
        before, after = self._last_notification, None
        if number is None:
            after = self._last_notification = anyio.Event()
        self._tasks.start_soon(self._post, frame, number, before, after)
        return True

    async def _post(
        self,
        frame: bytes,
        number: int | None,
        before: anyio.Event | None,
        after: anyio.Event | None,
    ) -> None:
        if before is not None:
            await before.wait()
        is_forgotten = False
        try:
            with anyio.fail_after(_POSTING):
                headers = {**_POST, **context_in_request(frame)}
                request = self._exchange.prepare("POST", headers, url=self._endpoint)
                with closing(await request.send(frame)) as answer:
                    is_forgotten = is_session_unknown(answer.status, await answer.read())
                    problem = status_error(answer.status, answer.headers)
        except UpstreamError as error:
            problem = error
        except TimeoutError:
            problem = UpstreamUnavailable(
                "does not accept what it is sent", sent=True, transient=True
            )
        if is_forgotten:
            problem = UpstreamUnavailable("has forgotten the session of its stream", transient=True)
        if problem is not None:
            self.channel.reject(number, problem)
        # What was accepted before may still be answered on the stream.
        if problem is not None and is_forgotten and self.channel.is_idle:
            self._end(problem)
        if after is not None:
            after.set()

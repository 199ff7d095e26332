"""Streamable HTTP: one POST a request, in both eras.

modern: every request stands alone and is described by its headers
legacy: initialize ──▶ session ──(404, or words about the session)──▶ initialize once more,
        by whichever caller comes first, for all
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import Final

import anyio

from remit.errors import UpstreamError, UpstreamProtocolError, UpstreamUnavailable
from remit.model.conversation import Abilities
from remit.model.header_values import encode_header_value
from remit.model.protocol import (
    HEADER_MISMATCH,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    NAME_BEARING_METHODS,
)
from remit.upstreams.background import open_background
from remit.upstreams.channel import call_params, cursor_part, error_code
from remit.upstreams.dialogue import Dialogue
from remit.upstreams.era import Era, announces_changes, initialize_parts, is_modern_answer
from remit.upstreams.handshake import DISCOVER, LISTEN_PARTS, is_modern_verdict
from remit.upstreams.http import (
    HttpRequest,
    is_session_unknown,
    speaks_of_session,
    status_error,
)
from remit.upstreams.peer import HttpPeer, Reply
from remit.upstreams.relay import open_relay
from remit.upstreams.session import Session, Setup, ToolCall
from remit.upstreams.trace_context import NO_CONTEXT, context_in
from remit.upstreams.watching import LISTEN, WatchedByRequests, listen_parts, refused_of
from remit.upstreams.wire import notification_frame, request_frame

SESSION_HEADER = "Mcp-Session-Id"

LISTEN_PAUSE = 5.0
"""Seconds between two attempts to follow a server's notifications."""

_MOST_PREPARED = 512
"""Requests that are remembered: a server has a few tools, but any number of resources."""

_PROBE = 3.0
_REFUSED: Final = HTTPStatus.BAD_REQUEST.value
_LEAVING = 1.0
_MODERN_ONLY = (HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY)
_NOT_THIS_TRANSPORT = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


@asynccontextmanager
async def open_http(setup: Setup) -> AsyncGenerator[Session]:
    """Agree on an era with the server, and follow its notifications while connected.

    Raises:
        UpstreamError: It cannot be reached, or does not speak the protocol.
    """
    resolved = setup.resolved
    async with (
        open_relay(setup.config, resolved.url, resolved.headers, trust=setup.trust) as exchange,
        open_background() as tasks,
    ):
        peer = HttpPeer(setup, exchange, tasks)
        modern = ModernHttp(peer)
        if not setup.is_legacy and await modern.discover():
            tasks.start_soon(modern.listen)
            yield modern
            return
        legacy = LegacyHttp(peer, setup.abilities)
        await legacy.open()
        tasks.start_soon(legacy.listen)
        try:
            yield legacy
        finally:
            with anyio.move_on_after(_LEAVING, shield=True):
                await legacy.close()


class ModernHttp:
    """A session in name only: nothing is kept between two requests."""

    def __init__(self, peer: HttpPeer) -> None:
        self._peer = peer
        self._announces_changes = False
        self._era = Era.modern()
        self._prepared: dict[tuple[str, str], HttpRequest] = {}
        self._watching: anyio.CancelScope | None = None

    @property
    def era(self) -> Era:
        """The protocol revision that both sides speak."""
        return self._era

    async def discover(self) -> bool:
        """Return whether the server is modern.

        Raises:
            UpstreamError: It cannot be reached, or refuses our credentials.
        """
        number = self._peer.next_id()
        reply = None
        with anyio.move_on_after(_PROBE):
            frame = request_frame(number, DISCOVER, self._era.params(b""))
            request = self._prepare(DISCOVER)
            try:
                reply = await self._peer.post(frame, number=number, request=request)
            except UpstreamUnavailable as error:
                if not error.sent:
                    raise  # nobody is there
        if reply is None:
            return False
        try:
            answer = reply.result()
        except UpstreamProtocolError as error:
            return is_modern_verdict(error) or error_code(error) in _MODERN_ONLY
        except UpstreamUnavailable:
            if reply.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
                raise
            return False
        self._announces_changes = announces_changes(answer)
        self._era = Era.discovered(answer)
        return is_modern_answer(answer)

    async def list_page(self, cursor: str | None, method: str, /) -> bytes:
        """Return one page of a list; None asks for the first."""
        number = self._peer.next_id()
        frame = request_frame(number, method, self._era.params(cursor_part(cursor)))
        request = self._prepare(method)
        return (await self._peer.post(frame, number=number, request=request)).result()

    async def call(self, call: ToolCall, /) -> bytes:
        """Run a tool; a caller that leaves drops the exchange, which cancels it."""
        number = self._peer.next_id()
        headers = call.headers
        if context := context_in(call.meta):
            headers = {**headers, **context}
        reply = await self._peer.post(
            request_frame(number, call.method, call_params(self._era, call, number)),
            number=number,
            request=self._prepare(call.method, call.name),
            headers=headers,
            dialogue=call.dialogue,
        )
        return reply.result()

    async def listen(self) -> None:
        """Follow the server's notifications, if it promised any."""
        request = self._prepare(LISTEN)
        while self._announces_changes:
            number = self._peer.next_id()
            frame = request_frame(number, LISTEN, self._era.params(LISTEN_PARTS))
            with suppress(UpstreamError):
                await self._peer.follow(request, frame)
            await anyio.sleep(LISTEN_PAUSE)

    async def watch(self, uris: frozenset[str], /) -> Mapping[str, UpstreamError]:
        """Follow these on a stream of their own; the older stream ends once it is there."""
        older, self._watching = self._watching, None
        try:
            if not uris:
                return {}
            scope = self._watching = anyio.CancelScope()
            number = self._peer.next_id()
            honoured = self._peer.signals.acknowledgement(number)
            self._peer.run(partial(self._follow, uris, number, scope, honoured))
            return refused_of(uris, await honoured)
        finally:
            if older is not None:
                older.cancel()

    async def _follow(
        self,
        uris: frozenset[str],
        number: int,
        scope: anyio.CancelScope,
        honoured: asyncio.Future[object],
    ) -> None:
        problem: UpstreamError = UpstreamProtocolError("opens no stream of updates")
        frame = request_frame(number, LISTEN, self._era.params(listen_parts(uris)))
        with scope:
            try:
                await self._peer.follow(self._prepare(LISTEN), frame)
            except UpstreamError as error:
                problem = error
            if not honoured.done():
                honoured.set_exception(problem)
            elif self._watching is scope:
                self._peer.signals.lapsed()

    def _prepare(self, method: str, name: str = "") -> HttpRequest:
        known = self._prepared.get((method, name))
        if known is not None:
            return known
        headers = {MCP_PROTOCOL_VERSION_HEADER: self._era.version, MCP_METHOD_HEADER: method}
        if method in NAME_BEARING_METHODS:
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        if len(self._prepared) >= _MOST_PREPARED:
            del self._prepared[next(iter(self._prepared))]
        prepared = self._prepared[method, name] = self._peer.prepare("POST", headers)
        return prepared


class LegacyHttp:
    """A session that the server may forget, and that is then opened again once for all callers."""

    def __init__(self, peer: HttpPeer, abilities: Abilities) -> None:
        self._peer = peer
        self._abilities = abilities
        self._era = Era("")
        self._opened = 0
        self._opening = anyio.Lock()
        self._watched = WatchedByRequests(self._ask_parts)

    @property
    def era(self) -> Era:
        """The protocol revision that both sides speak."""
        return self._era

    async def open(self) -> None:
        """Shake hands.

        Raises:
            UpstreamError: The server cannot be reached, or refuses.
        """
        number = self._peer.next_id()
        frame = request_frame(number, "initialize", b"{%s}" % initialize_parts(self._abilities))
        # What opens a session is not part of one.
        request = self._peer.prepare("POST", {})
        reply = await self._peer.post(frame, number=number, request=request)
        if reply.status in _NOT_THIS_TRANSPORT and reply.message is None:
            raise UpstreamUnavailable(
                f"answered HTTP {reply.status} to `initialize`; "
                "check its url, or say `transport: sse` if that is what it speaks"
            )
        session = reply.headers.get(SESSION_HEADER.lower())
        self._era = Era.agreed(reply.result(), may_ask=bool(session))
        self._peer.enter(
            {
                MCP_PROTOCOL_VERSION_HEADER: self._era.version,
                **({SESSION_HEADER: session} if session else {}),
            }
        )
        self._opened += 1
        try:
            await self._peer.post(notification_frame("notifications/initialized"))
        finally:  # also where this caller leaves: from now on the others use it
            if self._opened > 1:
                self._watched.forget()
                self._peer.signals.lapsed()
                self._peer.signals.tools_changed()  # whoever began anew may be another version

    async def close(self) -> None:
        """Tell the server that the session is not needed any more."""
        if SESSION_HEADER in self._peer.session:
            await self._peer.delete()

    async def list_page(self, cursor: str | None, method: str, /) -> bytes:
        """Return one page of a list; None asks for the first."""
        params = self._era.params(cursor_part(cursor))
        return await self._ask(method, lambda _: params)

    async def call(self, call: ToolCall, /) -> bytes:
        """Run a tool."""
        params = partial(call_params, self._era, call)
        context = context_in(call.meta)
        return await self._ask(call.method, params, call.dialogue, context)

    async def listen(self) -> None:
        """Follow the server's notifications, if it offers a stream of them."""
        while True:
            try:
                status = await self._peer.follow(self._peer.prepare("GET", self._peer.session))
            except UpstreamError:
                status = HTTPStatus.OK
            if status == HTTPStatus.METHOD_NOT_ALLOWED or SESSION_HEADER not in self._peer.session:
                return
            await anyio.sleep(LISTEN_PAUSE)

    async def watch(self, uris: frozenset[str], /) -> Mapping[str, UpstreamError]:
        """Let the server tell of updates to exactly these resources, on the session's stream."""
        return await self._watched.watch(uris)

    async def _ask_parts(self, method: str, parts: bytes) -> bytes:
        return await self._ask(method, lambda _: self._era.params(parts))

    async def _ask(
        self,
        method: str,
        params: Callable[[int], bytes],
        dialogue: Dialogue | None = None,
        headers: Mapping[str, str] = NO_CONTEXT,
    ) -> bytes:
        if self._opening.locked():
            async with self._opening:
                pass  # a session is used once it has been opened whole
        opened = self._opened
        reply = await self._post(method, params, dialogue, headers)
        if not self._is_session_lost(reply):
            return reply.result()
        if _is_verdict(reply):
            with suppress(UpstreamError):
                await self._reopen(opened)
            return reply.result()
        await self._reopen(opened)
        # The server did not know the session, so it has not run the request.
        reply = await self._post(method, params, dialogue, headers)
        if self._is_session_lost(reply) and not _is_verdict(reply):
            raise UpstreamUnavailable("forgets the sessions that it opens")
        return reply.result()

    async def _reopen(self, opened: int) -> None:
        """Open the session anew, unless somebody has since it was the one number *opened*."""
        async with self._opening:
            if self._opened == opened:
                await self.open()

    async def _post(
        self,
        method: str,
        params: Callable[[int], bytes],
        dialogue: Dialogue | None,
        headers: Mapping[str, str],
    ) -> Reply:
        number = self._peer.next_id()
        frame = request_frame(number, method, params(number))
        is_unheard = dialogue is None
        self._peer.heard.unheard += is_unheard
        try:
            return await self._peer.post(frame, number=number, headers=headers, dialogue=dialogue)
        except anyio.get_cancelled_exc_class():
            # Unlike in the modern era, a dropped exchange cancels nothing.
            reason = b'{"requestId":%d,"reason":"the caller no longer waits"}' % number
            self._peer.post_later(notification_frame("notifications/cancelled", reason))
            raise
        finally:
            self._peer.heard.unheard -= is_unheard

    def _is_session_lost(self, reply: Reply) -> bool:
        if reply.status < _REFUSED or SESSION_HEADER not in self._peer.session:
            return False
        if reply.status == HTTPStatus.NOT_FOUND and _is_method_unknown(reply):
            return False
        return is_session_unknown(reply.status, reply.body)


def _is_verdict(reply: Reply) -> bool:
    """Whether it may be about the request itself, which then must not be sent again (R23)."""
    message = reply.message
    if message is None or message.answers is None:
        return False
    return bool(bytes(message.result)) or not speaks_of_session(reply.body)


def _is_method_unknown(reply: Reply) -> bool:
    if reply.message is None or status_error(reply.status) is None:
        return False
    try:
        reply.result()
    except UpstreamError as error:
        return error_code(error) == METHOD_NOT_FOUND
    return False

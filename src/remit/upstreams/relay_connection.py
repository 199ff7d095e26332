"""One kept connection of the relay, its answers read by llhttp.

idle ──start──▶ awaiting a head ──▶ reading a body ──▶ idle    whole, and both sides may go on
  │                   └───────────────────┴──────────▶ closed  broken off, given up, or the last
  └── anything arrives, or it was idle for long ─────▶ closed

The one who owns the connection is told each time that it has come to rest.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from remit.errors import UpstreamError
from remit.upstreams.company import Company
from remit.upstreams.http import broken, broken_off, no_http
from remit.upstreams.promptness import Promptness
from remit.upstreams.relay_answer import RelayAnswer
from remit.upstreams.relay_heads import KnownHead

_OK: Final = HTTPStatus.OK.value

MOST_HEAD = 64 * 1024
"""Bytes beside a body that may arrive at a stretch: heads, a chunk's extensions, trailers."""


class RelayConnection(asyncio.Protocol):
    """A connection that carries one exchange at a time.

    Args:
        where: `host:port`, for messages.
        company: Of the requests to the same origin.
        loop: Which it lives on.
        on_rest: Told when an exchange is over, however it ended.
        on_lost: Told when the connection is gone.

    Attributes:
        is_closing: Says whether no more requests may be sent.
        idle_since: When it came to rest, on the event loop's clock.
    """

    def __init__(
        self,
        where: str,
        *,
        company: Company,
        loop: asyncio.AbstractEventLoop,
        on_rest: Callable[["RelayConnection"], None],
        on_lost: Callable[["RelayConnection"], None],
    ) -> None:
        self.is_closing: Callable[[], bool]
        self.idle_since = 0.0
        self._where = where
        self._company = company
        self._on_rest = on_rest
        self._on_lost = on_lost
        self._transport: asyncio.Transport
        self._loop = loop
        self._parser = HttpResponseParser(self)
        self._answer: RelayAnswer | None = None
        self._fields: list[tuple[bytes, bytes]] = []
        self._known_fields = self._fields
        self._known_headers: Mapping[str, str] = {}
        self._known = KnownHead()
        self._beside_body = 0
        self._is_paused = False
        self._unsent = b""
        self._server = Promptness()

    def start(self, request: bytes, max_message: int) -> RelayAnswer:
        """Send a request, whole, and return what its answer will be found in.

        Args:
            request: What is sent.
            max_message: Bytes that its answer may have.
        """
        answer = self._answer = RelayAnswer(self, max_message, self._loop)
        self._beside_body = 0
        if self._company.has_others():
            self._unsent = request
            self._company.hold(self._send_out)
        else:
            self._transport.write(request)
            self._server.begin()
        return answer

    def _send_out(self) -> None:
        if not self.is_closing():
            request, self._unsent = self._unsent, b""
            self._transport.write(request)

    def close(self) -> None:
        """Close it while it rests."""
        self._transport.close()

    def abort(self) -> None:
        """Break it, whatever it is doing."""
        self._transport.abort()

    def resume(self) -> None:
        """Let more bytes come."""
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()

    def give_up(self) -> None:
        """Break the exchange that is under way, if there is one."""
        if self._answer is not None:
            self._answer = None
            self._transport.abort()
            self._on_rest(self)

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)
        self.is_closing = transport.is_closing

    def data_received(self, data: bytes) -> None:
        """Take bytes from the server."""
        if self._server.since:
            self._server.end()
        answer = self._answer
        if answer is None:
            self._transport.abort()  # nobody asked for anything
            return
        is_first, known = not answer.status and not self._beside_body, self._known
        if is_first and (body := known.body_in(data)) is not None:
            self._answer = None
            answer.take_whole(known.status, known.headers, body)
            self._rest(is_clean=True)
            return
        self._beside_body += len(data)
        is_http = True
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            is_http = False
        if self._answer is None:
            self._rest(is_clean=is_http)
            if is_first and not self.is_closing():
                known.learn(data, answer.status, answer.headers)
        elif not is_http or self._beside_body > MOST_HEAD:
            self._break(no_http(self._where))
        else:
            if answer.is_full and not self._is_paused:
                self._is_paused = True
                self._transport.pause_reading()
            answer.stir()

    def eof_received(self) -> None:
        """Take note that the server sends no more, which ends a body without a length."""
        answer = self._answer
        if answer is not None and answer.status and not _has_length(answer):
            self._answer = None
            self._transport.close()
            answer.complete()
            self._on_rest(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note that the connection is gone."""
        if exc is None:
            # uvloop does not tell of the end of a TLS stream otherwise. Whether somebody cut it
            # there does not matter: half a message is none.
            self.eof_received()
        self._break(broken(self._where, sent=not self._unsent))
        self._on_lost(self)

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Refuse an answer to what nobody asked."""
        if self._answer is None:
            raise ValueError("an answer too many")
        self._fields = []  # what trailed the body before is dropped

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field, be it of the head or one that trails a body."""
        self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        """Take the end of a head; that of an interim answer says nothing."""
        fields, self._fields = self._fields, []
        status = self._parser.get_status_code()
        if self._answer is not None and status >= _OK:
            if fields != self._known_fields:
                self._known_fields, self._known_headers = fields, _read(fields)
            self._answer.begin(status, self._known_headers)

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        if self._answer is not None:
            self._beside_body = 0
            self._answer.add(data)

    def on_message_complete(self) -> None:
        """Take the end of the answer."""
        answer = self._answer
        if answer is None or not answer.status:
            return  # an interim answer
        self._answer = None
        if not self._parser.should_keep_alive():
            self._transport.close()
        answer.complete()

    def _rest(self, *, is_clean: bool) -> None:
        """Come to rest after a whole answer."""
        if self._is_paused:
            self.resume()
        if not is_clean or self._unsent or self._transport.get_write_buffer_size():
            # More came than the answer, or it came before the whole request was taken.
            self._transport.abort()
        self._on_rest(self)

    def _break(self, problem: UpstreamError) -> None:
        """Close the connection; an exchange that is under way fails."""
        answer, self._answer = self._answer, None
        self._transport.abort()
        if answer is not None:
            answer.fail(broken_off() if answer.status else problem)
            self._on_rest(self)


def _read(fields: Sequence[tuple[bytes, bytes]]) -> Mapping[str, str]:
    """Return the values by names in lower case; the first of several for one name counts."""
    pairs = [(name.decode("latin-1").lower(), value) for name, value in reversed(fields)]
    return {name: value.decode("latin-1").strip() for name, value in pairs}


def _has_length(answer: RelayAnswer) -> bool:
    return "content-length" in answer.headers or "transfer-encoding" in answer.headers

"""One HTTP exchange over ASGI, without a framework: read once, answer once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from remit.doors.head import Head, Headers
from remit.errors import RemitError
from remit.model.protocol import INVALID_REQUEST

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY: Final = 4 * 1024 * 1024
"""Bytes of a request that are read; a larger one is refused whole."""

BODY_TIME: Final = 30.0
"""Seconds a client has to send the body that it announced."""

NOWHERE: Final = ("", None)
"""The address of a socket that has none."""

JSON: Final = b"application/json"
PROBLEM: Final = b"application/problem+json"


class HttpRefusal(RemitError):
    """A request that HTTP alone refuses, before anything is called.

    Attributes:
        status: HTTP status.
        headers: More headers of the answer.
        rpc_code: What an MCP client is told beside the status.
    """

    def __init__(
        self,
        status: int,
        message: str,
        headers: Headers = (),
        *,
        rpc_code: int = INVALID_REQUEST,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = tuple(headers)
        self.rpc_code = rpc_code


def later(seconds: int) -> HttpRefusal:
    """Return what refuses a request that may be sent again in so many *seconds*."""
    return HttpRefusal(503, "try again later", [(b"retry-after", b"%d" % seconds)])


class ClientGone(RemitError):
    """The client closed the connection before it had sent its request; there is nobody to tell."""


class Exchange:
    """A request with its answer to come.

    Attributes:
        head: What it began with.
        started: Whether the answer has begun.
        granted: Headers of every answer, which let the page that asked read it.
    """

    __slots__ = ("_receive", "_scope", "_send", "granted", "head", "started")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self.head = Head(scope["method"], scope["path"], scope["headers"])
        self.started = False
        self.granted: Headers = ()

    @property
    def client(self) -> tuple[str, int] | None:
        """Address and port of the other side, or None where there is no such thing."""
        return self._scope.get("client")

    @property
    def server(self) -> tuple[str, int | None]:
        """Address and port that the connection came to."""
        return self._scope.get("server") or NOWHERE

    @property
    def method(self) -> str:
        """The method."""
        return self.head.method

    @property
    def path(self) -> str:
        """The path, without the query."""
        return self.head.path

    @property
    def lines(self) -> Sequence[tuple[bytes, bytes]]:
        """The headers as they came, their names in lower case."""
        return self.head.lines

    @property
    def headers(self) -> Mapping[bytes, bytes]:
        """The headers by lower-case name; of a repeated one the last."""
        return self.head.headers

    @property
    def repeated(self) -> frozenset[bytes]:
        """Names of headers that came more than once."""
        return self.head.repeated

    def text(self, name: bytes) -> str | None:
        """Return a header's value."""
        return self.head.text(name)

    @property
    def whole(self) -> bytes | None:
        """The whole body, where it came with the head; else None: it is waited for in `body`."""
        return None

    async def body(self, most: int = LARGEST_BODY) -> bytes:
        """Return the whole body, of at most *most* bytes.

        Raises:
            HttpRefusal: It is too large (413) or too slow (408).
            ClientGone: It never ended.
        """
        if int(self.headers.get(b"content-length", b"0")) > most:
            raise _too_large(most)
        try:
            async with asyncio.timeout(BODY_TIME):
                return await self._whole_body(most)
        except TimeoutError:
            raise HttpRefusal(408, "the request took too long to arrive") from None

    async def _whole_body(self, most: int) -> bytes:
        parts = bytearray()
        while True:
            event = await self._receive()
            if event["type"] != "http.request":
                raise ClientGone
            chunk: bytes = event.get("body", b"")
            if len(parts) + len(chunk) > most:
                raise _too_large(most)
            if not event.get("more_body", False):
                return bytes(parts + chunk) if parts else chunk
            parts += chunk

    @property
    def leaving(self) -> AbstractContextManager[object, bool] | None:
        """What cancels its block once the client has left; None where `gone` has to be awaited."""
        return None

    async def gone(self) -> None:
        """Return when the client has closed the connection."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        *,
        rest: Sequence[bytes] = (),
        kind: bytes = JSON,
        headers: Headers = (),
    ) -> None:
        """Send the whole answer.

        Args:
            status: HTTP status.
            body: All that is sent, or what it begins with.
            rest: What follows, each piece as large as may be.
            kind: The type of the body.
            headers: More headers.
        """
        if rest:
            body = b"".join((body, *rest))
        lines = [(b"content-length", b"%d" % len(body)), *headers]
        if body:
            lines.append((b"content-type", kind))
        await self._start(status, lines)
        await self._send({"type": "http.response.body", "body": body})

    async def begin(self, status: int, headers: Headers) -> None:
        """Begin an answer that comes in parts."""
        await self._start(status, list(headers))

    async def part(self, body: bytes) -> None:
        """Send the next part."""
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self) -> None:
        """End an answer that came in parts."""
        await self._send({"type": "http.response.body", "body": b""})

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.started = True
        lines = [*headers, *self.granted]
        await self._send({"type": "http.response.start", "status": status, "headers": lines})


def _too_large(most: int) -> HttpRefusal:
    return HttpRefusal(413, f"the request is larger than {most} bytes")


def replay(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and then whatever comes after it."""
    is_given = False

    async def again() -> Event:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again

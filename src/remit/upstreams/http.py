"""The HTTP that upstreams need, as a small port, and its implementation on aiohttp."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urljoin, urlsplit

import aiohttp

from remit.errors import UpstreamProtocolError, UpstreamUnavailable
from remit.model.servers import ServerConfig

_CONNECTING = 10.0
_MOST_REDIRECTS = 3
_STREAMS = 2
"""Connections beside those of calls: the notifications' stream, and a list being read."""
_KEEPING_METHOD = (307, 308)
_REDIRECTS = range(300, 400)


class HttpAnswer(Protocol):
    """An answer whose head has arrived."""

    @property
    def status(self) -> int:
        """Its status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Its header fields; names in any letter case."""
        ...

    async def read(self) -> bytes:
        """Return the whole body.

        Raises:
            UpstreamError: It broke off, or is larger than the server's `max_message`.
        """
        ...

    def chunks(self) -> AsyncGenerator[bytes]:
        """Give the body as it arrives.

        Raises:
            UpstreamUnavailable: It broke off.
        """
        ...


class HttpExchange(Protocol):
    """Sends requests to one server over kept connections."""

    def exchange(
        self, method: str, headers: Mapping[str, str], body: bytes = b"", *, url: str = ""
    ) -> AbstractAsyncContextManager[HttpAnswer]:
        """Send a request, to the server's own URL unless *url* names another one.

        Leaving the context before the body is read gives the exchange up.

        Raises:
            UpstreamUnavailable: There is no answer. Its `sent` tells whether the request may have
                arrived.
        """
        ...


@asynccontextmanager
async def open_aiohttp(
    config: ServerConfig, url: str, headers: Mapping[str, str]
) -> AsyncGenerator[HttpExchange]:
    """Give an exchange with the server at *url*; *headers* go with every request."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=config.max_concurrency + _STREAMS),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECTING),
        headers={"User-Agent": "remit", **headers},
        raise_for_status=False,
    ) as session:
        yield AiohttpExchange(session, url, config.max_message)


class AiohttpExchange:
    """An exchange over one `aiohttp.ClientSession`."""

    def __init__(self, session: aiohttp.ClientSession, url: str, max_message: int) -> None:
        self._session = session
        self._url = url
        self._max_message = max_message

    @asynccontextmanager
    async def exchange(
        self, method: str, headers: Mapping[str, str], body: bytes = b"", *, url: str = ""
    ) -> AsyncGenerator[HttpAnswer]:
        """Send a request, following redirects that stay on the same origin."""
        response = await self._send(method, url or self._url, headers, body)
        async with response:
            yield AiohttpAnswer(response, self._max_message)

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> aiohttp.ClientResponse:
        for _ in range(_MOST_REDIRECTS):
            try:
                response = await self._session.request(
                    method, url, headers=headers, data=body or None, allow_redirects=False
                )
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise _unavailable(error, url) from error
            if response.status not in _REDIRECTS:
                return response
            response.release()
            url = _redirected(response, url)
        raise UpstreamUnavailable(f"redirects more than {_MOST_REDIRECTS} times")


class AiohttpAnswer:
    """An answer of aiohttp."""

    def __init__(self, response: aiohttp.ClientResponse, max_message: int) -> None:
        self._response = response
        self._max_message = max_message
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    async def read(self) -> bytes:
        """Return the whole body."""
        parts: list[bytes] = []
        size = 0
        async for part in self.chunks():
            size += len(part)
            if size > self._max_message:
                raise UpstreamProtocolError("answered with more bytes than its max_message")
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Give the body as it arrives."""
        try:
            async for part in self._response.content.iter_any():
                yield part
        except (aiohttp.ClientError, TimeoutError) as error:
            raise UpstreamUnavailable("broke off its answer", sent=True) from error


def is_same_origin(one: str, other: str) -> bool:
    """Whether two URLs have scheme, host and port in common."""
    return _origin(one) == _origin(other)


def place(url: str) -> str:
    """Return `host:port` of *url*, which may be shown: the rest of a URL may hold secrets."""
    _, host, port = _origin(url)
    return f"{host}:{port}"


def _origin(url: str) -> tuple[str, str, int]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", "", 0
    return parts.scheme, parts.hostname or "", port or {"https": 443}.get(parts.scheme, 80)


def _redirected(response: aiohttp.ClientResponse, url: str) -> str:
    target = urljoin(url, response.headers.get("Location", ""))
    if response.status not in _KEEPING_METHOD or not is_same_origin(target, url):
        # Following it would hand our credentials, or the arguments, to somebody else.
        raise UpstreamUnavailable(
            f"redirects to {place(target)} ({response.status}); give its final URL instead"
        )
    return target


def _unavailable(error: Exception, url: str) -> UpstreamUnavailable:
    where = place(url)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return UpstreamUnavailable(f"shows a certificate that does not hold for {where}")
    if isinstance(error, aiohttp.ClientSSLError):
        return UpstreamUnavailable(f"cannot be reached at {where}: it does not speak TLS as we do")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return UpstreamUnavailable(f"cannot be reached: no such host as {where}")
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        reason = os.strerror(number).lower() if number else type(error.os_error).__name__
        return UpstreamUnavailable(f"cannot be reached at {where}: {reason}")
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return UpstreamUnavailable(f"cannot be reached at {where}: no answer to connecting")
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, ValueError)):
        return UpstreamUnavailable("has a URL or a header that cannot be used")
    return UpstreamUnavailable(f"broke the connection to {where}", sent=True)


def status_error(status: int) -> UpstreamUnavailable | None:
    """Return what an HTTP status means for a request, or None when it was accepted."""
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return UpstreamUnavailable(
            f"refused our credentials (HTTP {status}): check its headers and bearer_token_env_var"
        )
    if status < HTTPStatus.BAD_REQUEST:
        return None
    # What a server refuses as the client's fault, it has not run.
    return UpstreamUnavailable(
        f"answered HTTP {status}", sent=status >= HTTPStatus.INTERNAL_SERVER_ERROR
    )

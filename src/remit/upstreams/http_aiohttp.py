"""The port of `http.py` on aiohttp, for the old SSE transport, whose calls are rare."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

import aiohttp

from remit.errors import UnreadableAnswer, UpstreamUnavailable
from remit.model.servers import ServerConfig
from remit.upstreams.http import (
    CONNECTING,
    MOST_REDIRECTS,
    STREAMS,
    USER_AGENT,
    HttpExchange,
    broken,
    broken_off,
    no_http,
    place,
    redirected,
    too_many_redirects,
    unreachable,
    unusable,
)

_NO_FIELDS: Mapping[str, str] = MappingProxyType({})


@asynccontextmanager
async def open_aiohttp(
    config: ServerConfig, url: str, headers: Mapping[str, str]
) -> AsyncGenerator[HttpExchange]:
    """Give an exchange with the server at *url*; *headers* go with every request."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=config.max_concurrency + STREAMS),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECTING),
        headers={"User-Agent": USER_AGENT, **headers},
        raise_for_status=False,
    ) as session:
        yield AiohttpExchange(session, url, config.max_message)


class AiohttpExchange:
    """An exchange over one `aiohttp.ClientSession`."""

    def __init__(self, session: aiohttp.ClientSession, url: str, max_message: int) -> None:
        self._session = session
        self._url = url
        self._max_message = max_message

    def prepare(
        self, method: str, headers: Mapping[str, str], *, url: str = ""
    ) -> "AiohttpRequest":
        """Return a request."""
        return AiohttpRequest(
            self._session, method, url or self._url, headers=headers, max_message=self._max_message
        )


class AiohttpRequest:
    """A request to be sent with aiohttp."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        max_message: int,
    ) -> None:
        self._session = session
        self._method = method
        self._url = url
        self._headers = headers
        self._max_message = max_message

    async def send(
        self, body: bytes = b"", headers: Mapping[str, str] = _NO_FIELDS
    ) -> "AiohttpAnswer":
        """Send it, following redirects that stay on the same origin."""
        url = self._url
        fields = {**self._headers, **headers}
        for _ in range(MOST_REDIRECTS):
            try:
                response = await self._session.request(
                    self._method, url, headers=fields, data=body or None, allow_redirects=False
                )
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise _unavailable(error, url) from error
            location = response.headers.get("location", "")
            try:
                target = redirected(response.status, location, url)
            except UpstreamUnavailable:
                response.release()
                raise
            if target is None:
                return AiohttpAnswer(response, self._max_message)
            response.release()
            url = target
        raise too_many_redirects()


class AiohttpAnswer:
    """An answer of aiohttp."""

    def __init__(self, response: aiohttp.ClientResponse, max_message: int) -> None:
        self._response = response
        self._max_message = max_message
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.whole = None

    async def read(self) -> bytes:
        """Return the whole body."""
        parts: list[bytes] = []
        size = 0
        while part := await self.piece():
            size += len(part)
            if size > self._max_message:
                raise UnreadableAnswer("answered with more bytes than its max_message")
            parts.append(part)
        return b"".join(parts)

    async def piece(self) -> bytes:
        """Return more of the body as it arrives; nothing once it is over."""
        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise broken_off() from error

    def close(self) -> None:
        """Give up what has not arrived yet."""
        self._response.release()


def _unavailable(error: Exception, url: str) -> UpstreamUnavailable:
    where = place(url)
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return unreachable(error.certificate_error, where)
        case aiohttp.ClientConnectorError():  # that of TLS, and that of DNS, are such
            return unreachable(error.os_error, where)
        case aiohttp.ConnectionTimeoutError():
            return unreachable(TimeoutError(), where)
        case aiohttp.ClientResponseError():
            return no_http(where)
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError() | ValueError():
            return unusable()
        case _:
            return broken(where)

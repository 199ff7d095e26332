"""One attempt at one request: bytes out, bytes in, within its limits."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import anyio
import httpx2

from remit.servers.rest.faults import RestFault

_CONNECTING: Final = 5.0
"""Seconds to reach a service."""

_SENDING: Final = ".send_request_headers.started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, undecoded.

    Attributes:
        headers: Names in lower case.
        truncated: Whether the body goes on beyond the cap.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """A request as it goes out, with its limits.

    Attributes:
        seconds: For the whole attempt, the body of the answer included.
        most_bytes: Of the answer's body; what is beyond is not read.
        reads: Whether it changes nothing.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    seconds: float
    most_bytes: int
    reads: bool


class HttpExchange:
    """Attempts over HTTP, with kept connections, no cookies and no redirects of its own.

    Args:
        service: Whose API it is, for messages.
        encrypted: Whether it is reached by https; to load whom to trust takes a while.

    Raises:
        ValueError: The proxy or the certificates that the environment names are none.
    """

    def __init__(self, service: str, *, encrypted: bool) -> None:
        self._service = service
        try:
            self._http = httpx2.AsyncClient(
                # Without encryption there is nobody to trust, nor is anybody trusted.
                verify=True if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                follow_redirects=False,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                timeout=httpx2.Timeout(None, connect=_CONNECTING, pool=_CONNECTING),
                limits=httpx2.Limits(max_connections=20, max_keepalive_connections=5),
            )
        except OSError as error:
            raise ValueError(f"SSL_CERT_FILE or SSL_CERT_DIR: {error.strerror}") from error
        except (ValueError, ImportError, httpx2.InvalidURL) as error:
            # Not what httpx2 says, which may hold the proxy's password.
            raise ValueError("HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names no proxy") from error

    async def __call__(self, sending: Sending, /) -> Answer:
        """Return the answer, whatever its status.

        Raises:
            RestFault: There was none; it tells whether the request left.
        """
        left = False

        async def trace(event: str, _info: object) -> None:
            nonlocal left
            left = left or event.endswith(_SENDING)

        try:
            with anyio.move_on_after(sending.seconds):
                return await self._exchange(sending, trace)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._fault(sending, _problem(error), left=left) from error
        raise self._fault(sending, f"did not answer within {sending.seconds:.3g} s", left=left)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _exchange(self, sending: Sending, trace: object) -> Answer:
        async with self._http.stream(
            sending.method,
            sending.url,
            headers=dict(sending.headers),
            content=sending.content,
            extensions={"trace": trace},
        ) as response:
            body, truncated = bytearray(), False
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > sending.most_bytes:
                    del body[sending.most_bytes :]
                    truncated = True
                    break
            return Answer(
                status=response.status_code,
                headers={name.lower(): value for name, value in response.headers.items()},
                body=bytes(body),
                truncated=truncated,
            )

    def _fault(self, sending: Sending, problem: str, *, left: bool) -> RestFault:
        return RestFault(
            service=self._service,
            problem=f"{self._service} {problem}",
            sent=left,
            reads=sending.reads,
            passing=True,
        )


def _problem(error: Exception) -> str:
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return "cannot be reached in time"
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
        return f"cannot be reached ({error})"
    if isinstance(error, httpx2.DecodingError):
        return "sent an answer that cannot be decoded"
    return "broke off the connection before the whole answer came"

"""The HTTP that upstreams need, as a small port, and what its implementations have in common.

`relay.py` serves everything that is called often; `http_aiohttp.py` serves the old SSE transport.
"""

import os
import socket
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from remit.errors import UpstreamUnavailable
from remit.model.http_times import retry_after

CONNECTING = 10.0
"""Seconds that a connection may take to open."""

STREAMS = 2
"""Connections beside those of calls: the notifications' stream, and a list being read."""

MOST_REDIRECTS = 3
USER_AGENT = "remit"

_DEFAULT_PORTS = {"https": 443, "http": 80}
_KEEPING_METHOD = (307, 308)
_ELSEWHERE = (301, 302, *_KEEPING_METHOD)
"""Redirects that say where to send the request instead; any other may come once it has run."""

_REDIRECTS = range(300, 400)
_NO_FIELDS: Mapping[str, str] = MappingProxyType({})
_LOOKED_AT = 1000
"""Bytes of an answer in which a reason is looked for."""

# The second is what the TypeScript library says with one transport for all, after a restart.
_OF_SESSION = (b"session", b"server not initialized")

_TRANSIENT = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)


class HttpAnswer(Protocol):
    """An answer whose head has arrived."""

    @property
    def status(self) -> int:
        """Its status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Its header fields, found by names in lower case."""
        ...

    @property
    def whole(self) -> bytes | None:
        """Its body, where all of it is there already, as it is, and no stream of events."""
        ...

    async def read(self) -> bytes:
        """Return the whole body.

        Raises:
            UpstreamError: It broke off, or is larger than the server's `max_message`.
        """
        ...

    async def piece(self) -> bytes:
        """Return more of the body as it arrives; nothing once it is over.

        Raises:
            UpstreamError: It broke off, or cannot be decoded.
        """
        ...

    def close(self) -> None:
        """Give up what has not arrived yet; to be called at the end in any case."""
        ...


class HttpRequest(Protocol):
    """A request of which only the body, and perhaps some header fields, vary."""

    async def send(self, body: bytes = b"", headers: Mapping[str, str] = ...) -> HttpAnswer:
        """Send it, following redirects that stay on the same origin.

        Args:
            body: The whole of it.
            headers: Fields of this one alone.

        Raises:
            UpstreamUnavailable: There is no answer. Its `sent` tells whether the request may have
                arrived; a POST is never sent twice.
        """
        ...


class HttpExchange(Protocol):
    """Sends requests to one server over kept connections."""

    def prepare(self, method: str, headers: Mapping[str, str], *, url: str = "") -> HttpRequest:
        """Return a request, to the server's own URL unless *url* names another one there.

        Raises:
            UpstreamUnavailable: It cannot be sent: a URL or a header makes no sense.
        """
        ...


def is_same_origin(one: str, other: str) -> bool:
    """Whether two URLs have scheme, host and port in common."""
    return _origin(one) == _origin(other)


def place(url: str) -> str:
    """Return `host:port` of *url*, which may be shown: the rest of a URL may hold secrets."""
    _, host, port = _origin(url)
    return f"{host}:{port}"


def redirected(status: int, location: str, url: str) -> str | None:
    """Return where an answer sends its request to *url* on, or None when it is no redirect.

    Raises:
        UpstreamUnavailable: It must not be followed.
    """
    if status not in _REDIRECTS:
        return None
    if not location:
        raise UpstreamUnavailable(
            f"answered HTTP {status} without saying where to go on", sent=status not in _ELSEWHERE
        )
    target = urljoin(url, location)
    if status not in _KEEPING_METHOD or not is_same_origin(target, url):
        # Following it would hand our credentials, or the arguments, to somebody else.
        raise UpstreamUnavailable(
            f"redirects to {place(target)} ({status}); give its final URL instead",
            sent=status not in _ELSEWHERE,
        )
    return target


def too_many_redirects() -> UpstreamUnavailable:
    """Return the error of a request that is sent on and on."""
    return UpstreamUnavailable(f"redirects more than {MOST_REDIRECTS} times")


def unusable() -> UpstreamUnavailable:
    """Return the error of a request that cannot be put into words of HTTP."""
    return UpstreamUnavailable("has a URL or a header that cannot be used")


def unreachable(error: BaseException, where: str) -> UpstreamUnavailable:
    """Return why there is no connection to *where*, a `host:port`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return UpstreamUnavailable(f"shows a certificate that does not hold for {where}")
    if isinstance(error, ssl.SSLError):
        return UpstreamUnavailable(f"cannot be reached at {where}: it does not speak TLS as we do")
    if isinstance(error, socket.gaierror):
        return UpstreamUnavailable(f"cannot be reached: no such host as {where}", transient=True)
    number = error.errno if isinstance(error, OSError) else None
    if number is None and isinstance(error, TimeoutError):
        return UpstreamUnavailable(
            f"cannot be reached at {where}: no answer to connecting", transient=True
        )
    reason = os.strerror(number).lower() if number else type(error).__name__
    return UpstreamUnavailable(f"cannot be reached at {where}: {reason}", transient=True)


def no_http(where: str) -> UpstreamUnavailable:
    """Return the error of an answer that cannot be parsed."""
    return UpstreamUnavailable(f"answers at {where} with what is no HTTP", sent=True)


def broken(where: str, *, sent: bool = True) -> UpstreamUnavailable:
    """Return the error of a connection that was lost before the answer came."""
    return UpstreamUnavailable(f"broke the connection to {where}", sent=sent, transient=True)


def broken_off() -> UpstreamUnavailable:
    """Return the error of a body that is not whole."""
    return UpstreamUnavailable("broke off its answer", sent=True, transient=True)


def status_error(
    status: int, headers: Mapping[str, str] = _NO_FIELDS
) -> UpstreamUnavailable | None:
    """Return what an HTTP status means for a request, or None when it was accepted.

    Args:
        status: The code.
        headers: Fields of the answer, by names in lower case.
    """
    if status < HTTPStatus.BAD_REQUEST:
        return None
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return UpstreamUnavailable(
            f"refused our credentials (HTTP {status}): check its headers and bearer_token_env_var"
        )
    # What a server refuses as the client's fault, it has not run.
    return UpstreamUnavailable(
        f"answered HTTP {status}",
        sent=status >= HTTPStatus.INTERNAL_SERVER_ERROR,
        transient=status in _TRANSIENT,
        retry_after=retry_after(headers.get("retry-after", ""), datetime.now(UTC)),
    )


def speaks_of_session(body: bytes) -> bool:
    """Whether the body of a refusal says that the session is not known."""
    said = body[:_LOOKED_AT].lower()
    return any(words in said for words in _OF_SESSION)


def is_session_unknown(status: int, body: bytes) -> bool:
    """Whether a refusal says that the session is not known, so that nothing was run."""
    if status == HTTPStatus.BAD_REQUEST:
        return speaks_of_session(body)
    if status == HTTPStatus.UNAUTHORIZED:  # as older servers of the Rust library have it
        return b"session not found" in body[:_LOOKED_AT].lower()
    return status == HTTPStatus.NOT_FOUND


def _origin(url: str) -> tuple[str, str, int]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", "", 0
    return parts.scheme, parts.hostname or "", port or _DEFAULT_PORTS.get(parts.scheme, 80)

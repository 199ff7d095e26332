"""Against web pages that reach for a gateway on the visitor's own machine (DNS rebinding)."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

from remit.doors.asgi import Exchange, HttpRefusal
from remit.doors.cors import preflight_of, readable_by
from remit.doors.head import Head, Headers
from remit.model.declaration import HttpSettings

_LOOPBACK: Final = re.compile(rb"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_NETLOC: Final = re.compile(rb"(\[[^\]@]*\]|[^:@\[\]]*)(?::[0-9]*)?")


class Guard:
    """Checks `Host` and `Origin` of every request.

    Args:
        loopback: Whether remit listens on loopback only, so that every honest `Host` is known.
        http: The `server` section in force: host and origin of `public_url` are fine, and so are
            `allowed_origins`, whose pages may call.
    """

    def __init__(self, *, loopback: bool, http: Callable[[], HttpSettings]) -> None:
        self._loopback = loopback
        self._http = http
        self._known: _Known | None = None

    def check(self, exchange: Exchange) -> None:
        """Let the request pass; pages of listed origins may read the answer.

        Raises:
            HttpRefusal: 421 for a foreign host, 403 for a foreign origin.
        """
        http, head = self._http(), exchange.head
        passed = head.passed
        if passed is None or passed[0] is not http:
            passed = head.passed = (http, self._granted(head))
        exchange.granted = passed[1]

    def _granted(self, head: Head) -> Headers:
        """Return the headers that let the page which asked read the answer."""
        origin = head.headers.get(b"origin")
        if self._loopback and (
            b"host" in head.repeated or not self._is_known(head.headers.get(b"host", b""))
        ):
            raise HttpRefusal(
                421,
                "this gateway is not known by that host name; where a proxy passes it on, an"
                " administrator declares server.public_url",
            )
        if origin is None:
            return ()
        if b"origin" in head.repeated or not self._is_allowed(origin.lower()):
            raise HttpRefusal(
                403, "pages of this origin may not call; an administrator lists allowed_origins"
            )
        return readable_by(origin) if origin.lower() in self._current().listed else ()

    def preflight(self, exchange: Exchange) -> Headers | None:
        """Return what tells a browser that pages of this origin may call; None if it did not ask.

        The method of the request is OPTIONS.

        Raises:
            HttpRefusal: As `check` does.
        """
        asked = exchange.headers
        if b"access-control-request-method" not in asked:
            return None
        origin = asked.get(b"origin", b"")
        if origin.lower() not in self._current().listed:
            return None
        self.check(exchange)
        exchange.granted = ()  # this says it itself
        return preflight_of(origin, asked.get(b"access-control-request-headers", b""))

    def _is_known(self, netloc: bytes) -> bool:
        host = host_name(netloc)
        return bool(host) and (is_loopback_name(host) or host == self._current().public_host)

    def _is_allowed(self, origin: bytes) -> bool:
        if origin in self._current().origins:
            return True
        scheme, _, netloc = origin.partition(b"://")
        is_page_here = scheme in {b"http", b"https"} and is_loopback_name(host_name(netloc))
        return self._loopback and is_page_here

    def _current(self) -> "_Known":
        http = self._http()
        if self._known is None or self._known.made_from is not http:
            self._known = _Known.of(http)
        return self._known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What one `server` section makes known."""

    made_from: HttpSettings
    public_host: bytes
    origins: frozenset[bytes]
    listed: frozenset[bytes]

    @classmethod
    def of(cls, http: HttpSettings) -> Self:
        public = urlsplit(http.public_url)
        own = {f"{public.scheme}://{public.netloc}"} if public.netloc else set[str]()
        listed = _as_sent(http.allowed_origins)
        return cls(
            made_from=http,
            public_host=host_name(public.netloc.encode()),
            origins=listed | _as_sent(own),
            listed=listed,
        )


def _as_sent(origins: Iterable[str]) -> frozenset[bytes]:
    """Return *origins* as browsers send them, lower case."""
    return frozenset(origin.rstrip("/").lower().encode() for origin in origins)


def is_loopback_name(host: bytes) -> bool:
    """Whether *host* is a name of this machine for itself."""
    return _LOOPBACK.fullmatch(host) is not None


def host_name(netloc: bytes) -> bytes:
    """Return the host without its port, lower case; an IPv6 address keeps its brackets.

    Nothing for what is more than host and port: `localhost:80@elsewhere` is elsewhere.
    """
    found = _NETLOC.fullmatch(netloc)
    return found[1].lower() if found else b""

"""Against web pages that reach for a gateway on the visitor's own machine (DNS rebinding)."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from remit.doors.asgi import Exchange, HttpRefusal

_LOOPBACK: Final = re.compile(rb"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")


class Guard:
    """Checks `Host` and `Origin` of every request.

    Args:
        loopback: Whether remit listens on loopback only, so that every honest `Host` is known.
        public_url: Where a proxy makes this gateway seen, or empty; its host and origin are fine.
        allowed_origins: Web origins whose pages may call, such as `https://app.example.test`.
    """

    def __init__(
        self, *, loopback: bool, public_url: str = "", allowed_origins: Iterable[str] = ()
    ) -> None:
        public = urlsplit(public_url)
        own = {f"{public.scheme}://{public.netloc}"} if public.netloc else set[str]()
        self._origins = frozenset(
            origin.rstrip("/").lower().encode() for origin in (*allowed_origins, *own)
        )
        self._loopback = loopback
        self._public_host = _host_name(public.netloc.encode())

    def check(self, exchange: Exchange) -> None:
        """Let the request pass.

        Raises:
            HttpRefusal: 421 for a foreign host, 403 for a foreign origin.
        """
        headers = exchange.headers
        if self._loopback and (
            b"host" in exchange.repeated or not self._is_known(headers.get(b"host", b""))
        ):
            raise HttpRefusal(421, "this gateway is not known by that host name")
        origin = headers.get(b"origin")
        if origin is not None and (
            b"origin" in exchange.repeated or not self._is_allowed(origin.lower())
        ):
            raise HttpRefusal(
                403, "pages of this origin may not call; an administrator lists allowed_origins"
            )

    def _is_known(self, netloc: bytes) -> bool:
        host = _host_name(netloc)
        return bool(host) and (host == self._public_host or _is_loopback(host))

    def _is_allowed(self, origin: bytes) -> bool:
        if origin in self._origins:
            return True
        scheme, _, netloc = origin.partition(b"://")
        return self._loopback and scheme in {b"http", b"https"} and _is_loopback(_host_name(netloc))


def _is_loopback(host: bytes) -> bool:
    return _LOOPBACK.fullmatch(host) is not None


def _host_name(netloc: bytes) -> bytes:
    """Return the host without its port, lower case; an IPv6 address keeps its brackets."""
    if netloc.startswith(b"["):
        return netloc.partition(b"]")[0] + b"]"
    return netloc.partition(b":")[0].lower()

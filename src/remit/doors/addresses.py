"""How this gateway is called from outside: the root of its own URLs, and who asked.

    public_url → what a trusted proxy was asked for → the address that the connection came to

A `Host` header that anybody may write is never part of a URL of ours: only a trusted proxy's is,
and on loopback one of the loopback names, which let nobody be sent elsewhere.
"""

import ipaddress
from collections.abc import Callable
from urllib.parse import urlsplit

from remit.doors.asgi import Exchange
from remit.doors.forwarded import HOST, Hop, TrustedProxies, peer_of
from remit.doors.guard import host_name, is_loopback_name
from remit.model.declaration import HttpSettings


class Addresses:
    """Asked when a request is refused, and for metadata; the path of a call never does.

    Args:
        http: The `server` section in force.
    """

    def __init__(self, http: Callable[[], HttpSettings]) -> None:
        self._http = http
        self._made_from: HttpSettings | None = None
        self._proxies = TrustedProxies(())

    def base(self, exchange: Exchange) -> str:
        """Return the root of our URLs, without a slash at its end."""
        public = self._http().public_url
        if public:
            return public.rstrip("/")
        seen = self._seen(exchange)
        if self._proxies.trusts(peer_of(exchange)):
            host = seen.host or exchange.text(b"host") or ""
            if HOST.fullmatch(host):
                return f"{seen.scheme or 'http'}://{host}"
        return f"http://{_own_netloc(exchange)}"

    def public_path(self) -> str:
        """Return the path of `public_url`, such as `/remit`; mostly empty."""
        return urlsplit(self._http().public_url).path.rstrip("/")

    def caller(self, exchange: Exchange) -> str:
        """Return the address of whoever sent the request, before all trusted proxies."""
        return self._seen(exchange).client

    def _seen(self, exchange: Exchange) -> Hop:
        http = self._http()
        if http is not self._made_from:
            self._proxies, self._made_from = TrustedProxies(http.trusted_proxies), http
        return self._proxies.seen(exchange)


def _own_netloc(exchange: Exchange) -> str:
    address, port = exchange.server
    asked = host_name(exchange.headers.get(b"host", b""))
    host = f"[{address}]" if ":" in address else str(address)
    # A client compares our URL with the one that it was given, so `localhost` stays `localhost`.
    if ipaddress.ip_address(address).is_loopback and is_loopback_name(asked):
        host = asked.decode()
    return f"{host}:{port}"

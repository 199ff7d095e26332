"""What both clients have in common about HTTP: limits, and what its failures mean."""

import ssl
from collections.abc import Mapping
from typing import Final

import httpx2

from remit.client.address import Address
from remit.errors import ClientError, GatewayUnreachable

TIMEOUT: Final = 60.0
"""Seconds an answer may take; looking through the whole record takes longest."""

LIMITS: Final = httpx2.Limits(
    max_connections=100, max_keepalive_connections=20, keepalive_expiry=2.0
)
"""A connection at rest is left before a gateway leaves it (5 s): a call might meet that halfway."""

NO_PROXY: Final[Mapping[str, None]] = {"http://": None, "https://": None}
"""Mounts that overrule the proxies of the environment; its certificates still count."""

BROKEN: Final = (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)
"""What a kept connection fails with that the gateway has closed meanwhile."""

TRUSTS_NOBODY: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For plain HTTP, which needs no certificate: httpx2 reads all of the system's otherwise, for each
client, which takes 30 ms."""

NO_CONNECTION: Final = (httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Ways to spend all the time before anything is sent."""

_NOT_SENT: Final = (
    *NO_CONNECTION,
    httpx2.ConnectError,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)


def trust_for(address: Address) -> ssl.SSLContext | bool:
    """Return whose certificates count: the usual ones, read only where TLS may be spoken."""
    if address.is_loopback and address.base.startswith("http:"):
        return TRUSTS_NOBODY
    return True


def unreachable(
    base: str, error: httpx2.TransportError, *, has_begun: bool = False
) -> GatewayUnreachable:
    """Return what to raise for a failure of the connection.

    Args:
        base: The gateway's root.
        error: The failure.
        has_begun: Whether something was sent before, of which this was a further round.
    """
    why = str(error) or type(error).__name__
    if isinstance(error, _NOT_SENT) and not has_begun:
        return GatewayUnreachable(f"cannot reach {base}: {why}", sent=False)
    return GatewayUnreachable(
        f"cannot reach {base}: {why}; whether the request was carried out is unknown", sent=True
    )


class Sending:
    """Whether anything of what a client asks has left for the gateway.

    Attributes:
        has_begun: So it has; before that it waits for a connection.
    """

    __slots__ = ("has_begun",)

    def __init__(self) -> None:
        self.has_begun = False

    async def take_note(self, event: str, info: Mapping[str, object]) -> None:
        """Hear how far a request is, as the extension `trace` of httpx2 tells it."""
        del info
        if event.endswith(".send_request_headers.started"):
            self.has_begun = True


def too_slow(base: str, seconds: float, *, sent: bool) -> GatewayUnreachable:
    """Return what to raise when the time is over.

    Args:
        base: The gateway's root.
        seconds: How long it took.
        sent: Whether the request, or one before it, had a connection to leave by.
    """
    if not sent:
        return GatewayUnreachable(
            f"cannot reach {base}: no connection within {seconds:g} s, the request was not sent;"
            f" a client has at most {LIMITS.max_connections} at once",
            sent=False,
        )
    return GatewayUnreachable(
        f"{base} did not answer within {seconds:g} s; whether the request was carried out is"
        " unknown",
        sent=True,
    )


def closed() -> ClientError:
    """Return what to raise once the client is closed."""
    return ClientError("the client is closed")


def in_another_loop() -> ClientError:
    """Return what to raise where a client that awaits is used in a second event loop."""
    return ClientError(
        "the client was used in another event loop; make one in each, or use remit.Client"
    )

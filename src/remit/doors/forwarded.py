"""What trusted proxies say of a request that they pass on; nobody else is believed.

    client ─► edge proxy ─► inner proxy ─► remit
              adds client   adds edge      believes each that its neighbour names, while trusted

`X-Forwarded-For|Host|Proto` or `Forwarded` (RFC 7239). A proxy that writes one kind passes the
other on as the client wrote it, so where both are there and disagree, neither counts.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from remit.doors.asgi import Exchange

MOST_HOPS: Final = 16
"""Proxies in a row that are believed; what stands before them is not looked at."""

HOST: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
                         r"(?::[0-9]{1,5})?")  # fmt: skip
"""A host, perhaps with a port, that may stand in a URL of ours."""

_FOR, _HOST, _PROTO = b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto"
_PAIR: Final = re.compile(r'\s*([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";,]*))\s*(;|,|$)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """What one proxy saw; empty texts for what it did not say.

    Attributes:
        client: Address of its own client.
        host: The host that was asked for, perhaps with a port.
        scheme: `http` or `https`.
    """

    client: str = ""
    host: str = ""
    scheme: str = ""


class TrustedProxies:
    """The proxies whose word counts.

    Args:
        entries: Addresses and networks, such as `10.0.0.0/8`; checked when they were declared.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._networks = tuple(ipaddress.ip_network(entry, strict=False) for entry in entries)

    def seen(self, exchange: Exchange) -> Hop:
        """Return where the request came from, and what it asked for as far as proxies say."""
        peer = peer_of(exchange)
        seen = Hop(client=peer)
        if not self.trusts(peer):
            return seen
        for hop in _hops(exchange):
            client = _address(hop.client)
            seen = Hop(
                client=client or seen.client,
                host=hop.host if HOST.fullmatch(hop.host) else seen.host,
                scheme=hop.scheme if hop.scheme in {"http", "https"} else seen.scheme,
            )
            if not self.trusts(client):
                break
        return seen

    def trusts(self, address: str) -> bool:
        """Whether *address* is one of the proxies."""
        if not address or not self._networks:
            return False
        found = ipaddress.ip_address(address)
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return any((mapped or found) in network for network in self._networks)


def peer_of(exchange: Exchange) -> str:
    """Return the address at the other end of the connection, or nothing where it has none."""
    client = exchange.client
    return _address(client[0]) if client else ""


def _hops(exchange: Exchange) -> Sequence[Hop]:
    """Return what the proxies wrote, the nearest one first; empty where two accounts differ."""
    ours = _texts(exchange, b"forwarded")
    theirs = [_texts(exchange, name) for name in (_FOR, _HOST, _PROTO)]
    columns = [[part.strip() for part in ",".join(lines).split(",")] for lines in theirs]
    rows = zip_longest(*(reversed(column) for column in columns), fillvalue="")
    written = [Hop(client=c, host=h, scheme=s.lower()) for c, h, s in rows] if any(theirs) else []
    standard = list(_elements(",".join(ours)))[::-1]
    if written and standard and written != standard:
        return ()
    return (written or standard)[:MOST_HOPS]


def _elements(text: str) -> Iterator[Hop]:
    """Give the elements of a `Forwarded` header; what follows a mistake is not given."""
    at, pairs = 0, dict[str, str]()
    while at < len(text):
        found = _PAIR.match(text, at)
        if found is None:
            return
        quoted = found[2]
        pairs[found[1].lower()] = found[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        at = found.end()
        if found[4] != ";":
            yield Hop(
                client=pairs.get("for", ""),
                host=pairs.get("host", ""),
                scheme=pairs.get("proto", "").lower(),
            )
            pairs = {}


def _texts(exchange: Exchange, name: bytes) -> list[str]:
    if name not in exchange.headers:
        return []
    return [value.decode("latin-1") for key, value in exchange.lines if key == name]


def _address(text: str) -> str:
    """Return an IP address without port and brackets, or nothing for anything else."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""

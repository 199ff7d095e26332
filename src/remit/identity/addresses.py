"""Which addresses the process may connect to on its own account (SSRF).

A name is resolved once, each of its addresses is checked, and the connection goes to the very
address that was checked.
"""

import ipaddress
import socket
from collections.abc import Callable
from typing import Final
from urllib.parse import SplitResult

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

_EMBEDDING: Final = tuple(
    ipaddress.ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "::/96")
)
"""IPv6 networks whose addresses lead on to an IPv4 address that would have to be checked too."""


def is_public(address: str) -> bool:
    """Whether *address* is on the public internet, and not private, loopback or link-local."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if any(ip in network for network in _EMBEDDING):
            return False
    return ip.is_global and not ip.is_multicast


def is_loopback(address: str) -> bool:
    """Whether *address* is this machine."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        return ip.ipv4_mapped.is_loopback
    return ip.is_loopback


class CheckedAddresses(AbstractResolver):
    """Resolves names to addresses that may be connected to; one that may not refuses them all.

    Args:
        secure: Whether the connection is encrypted; plain `http` goes to loopback at most.
        private: Whether private addresses are allowed.
        refusal: Makes what is raised at an address that may not be connected to.
        resolver: Asked for the addresses; the system's without one.
    """

    def __init__(
        self,
        *,
        secure: bool,
        private: bool,
        refusal: Callable[[], Exception],
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._resolver = resolver or ThreadedResolver()
        self._secure = secure
        self._private = private
        self._refusal = refusal

    def check_literal(self, parts: SplitResult) -> None:
        """Refuse a URL that names an address; aiohttp asks no resolver about those."""
        if _is_address(parts.hostname or ""):
            self._check(parts.hostname or "")

    def _check(self, address: str) -> None:
        allowed = self._private and (self._secure or is_loopback(address))
        if not allowed and not (self._secure and is_public(address)):
            raise self._refusal()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of *host*, to which the connection then goes."""
        found = await self._resolver.resolve(host, port, family)
        for entry in found:
            self._check(entry["host"])
        return found

    async def close(self) -> None:
        """Leave the resolver beneath as it is: nothing of it is open."""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True

"""Reading a JWK set from a URL, bounded in time and size.

A URL is fetched only as `https`, from an address that is public, and the connection goes to the
very address that was checked; redirects are not followed. `allow_private_url` opens private
addresses, and plain `http` on loopback (SSRF).
"""

import ipaddress
import socket
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import anyio
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from remit.identity.jwks import MOST_BYTES, KeysUnavailable

FETCH_TIMEOUT: Final = 5.0
"""Seconds for the whole of one fetch."""

_OK: Final = 200
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


class _Checked(AbstractResolver):
    """Resolves names to addresses that may be connected to; one that may not refuses them all."""

    def __init__(self, resolver: AbstractResolver, *, secure: bool, private: bool) -> None:
        self._resolver = resolver
        self._secure = secure
        self._private = private

    def check(self, address: str) -> None:
        """Refuse an address that may not be connected to.

        Raises:
            KeysUnavailable: It is one.
        """
        allowed = self._private and (self._secure or is_loopback(address))
        if not allowed and not (self._secure and is_public(address)):
            raise KeysUnavailable(
                "its address is not public: allow_private_url is off, or it is http"
            )

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of *host*, to which the connection then goes."""
        found = await self._resolver.resolve(host, port, family)
        for entry in found:
            self.check(entry["host"])
        return found

    async def close(self) -> None:
        """Leave the resolver beneath as it is: nothing of it is open."""


class UrlKeys:
    """A JWK set at a URL."""

    def __init__(
        self, url: str, *, allow_private: bool, resolver: AbstractResolver | None = None
    ) -> None:
        self._url = url
        self._private = allow_private
        self._resolver = resolver

    async def __call__(self) -> bytes:
        """Return the body.

        Raises:
            KeysUnavailable: There is none to be had, or its address is not one to ask.
        """
        try:
            with anyio.fail_after(FETCH_TIMEOUT):
                return await self._fetch()
        except TimeoutError:
            raise KeysUnavailable(f"no answer within {FETCH_TIMEOUT:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise KeysUnavailable(f"no answer ({type(error).__name__})") from None

    async def _fetch(self) -> bytes:
        checked = self._checked()
        async with (
            aiohttp.TCPConnector(
                resolver=checked, use_dns_cache=False, force_close=True, limit=1
            ) as connector,
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                headers={"User-Agent": "remit", "Accept-Encoding": "identity"},
            ) as session,
            session.get(self._url, allow_redirects=False) as response,
        ):
            if response.status != _OK:
                raise KeysUnavailable(f"status {response.status}")
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise KeysUnavailable(f"more than {MOST_BYTES} bytes")
            return bytes(body)

    def _checked(self) -> _Checked:
        parts = urlsplit(self._url)
        if parts.scheme != "https" and not (parts.scheme == "http" and self._private):
            raise KeysUnavailable("not an https URL")
        checked = _Checked(
            self._resolver or ThreadedResolver(),
            secure=parts.scheme == "https",
            private=self._private,
        )
        if _is_address(parts.hostname or ""):  # aiohttp asks no resolver about those
            checked.check(parts.hostname or "")
        return checked


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True

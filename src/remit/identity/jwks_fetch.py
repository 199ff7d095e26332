"""Reading a JWK set from a URL, bounded in time and size.

A URL is fetched only as `https`, from an address that is public, and the connection goes to the
very address that was checked; redirects are not followed. `allow_private_url` opens private
addresses, and plain `http` on loopback (SSRF).
"""

from typing import Final
from urllib.parse import urlsplit

import aiohttp
import anyio
from aiohttp.abc import AbstractResolver

from remit.identity.addresses import CheckedAddresses
from remit.identity.jwks import MOST_BYTES, KeysUnavailable

FETCH_TIMEOUT: Final = 5.0
"""Seconds for the whole of one fetch."""

_OK: Final = 200


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

    def _checked(self) -> CheckedAddresses:
        parts = urlsplit(self._url)
        if parts.scheme != "https" and not (parts.scheme == "http" and self._private):
            raise KeysUnavailable("not an https URL")
        checked = CheckedAddresses(
            secure=parts.scheme == "https",
            private=self._private,
            refusal=lambda: KeysUnavailable(
                "its address is not public: allow_private_url is off, or it is http"
            ),
            resolver=self._resolver,
        )
        checked.check_literal(parts)
        return checked

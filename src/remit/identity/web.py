"""Asking issuers over the web, bounded in time and size.

A URL is asked only as `https`, at an address that is public, and the connection goes to the very
address that was checked; redirects are not followed. `allow_private_url` opens private addresses,
and plain `http` on loopback (SSRF).
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import anyio
from aiohttp.abc import AbstractResolver

from remit.identity.addresses import CheckedAddresses
from remit.identity.jwks import MOST_BYTES

TIMEOUT: Final = 5.0
"""Seconds for the whole of one exchange."""

OK: Final = 200


class WebUnavailable(Exception):
    """There is no answer to be had; the text names no address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered; its repr shows no body, which may hold tokens."""

    status: int
    body: bytes = field(repr=False)


class Web:
    """The web, as far as one issuer may be asked.

    Args:
        allow_private: Whether inner addresses may be asked.
        resolver: Asked for the addresses; the system's without one.
    """

    def __init__(self, *, allow_private: bool, resolver: AbstractResolver | None = None) -> None:
        self._private = allow_private
        self._resolver = resolver

    async def get(self, url: str) -> bytes:
        """Return what is at *url*.

        Raises:
            WebUnavailable: Nothing is, or its address is not one to ask.
        """
        answer = await self._ask("GET", url, b"", {})
        if answer.status != OK:
            raise WebUnavailable(f"status {answer.status}")
        return answer.body

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send *body* and return what was answered, whatever its status.

        Raises:
            WebUnavailable: Nothing was, or its address is not one to ask.
        """
        return await self._ask("POST", url, body, headers)

    async def _ask(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        try:
            with anyio.fail_after(TIMEOUT):
                async with (
                    self._session(url) as session,
                    session.request(
                        method, url, data=body or None, headers=headers, allow_redirects=False
                    ) as response,
                ):
                    return Answer(status=response.status, body=await _whole(response))
        except TimeoutError:
            raise WebUnavailable(f"no answer within {TIMEOUT:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise WebUnavailable(f"no answer ({type(error).__name__})") from None

    @asynccontextmanager
    async def _session(self, url: str) -> AsyncGenerator[aiohttp.ClientSession]:
        checked = self._checked(url)
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
        ):
            yield session

    def _checked(self, url: str) -> CheckedAddresses:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and self._private):
            raise WebUnavailable("not an https URL")
        checked = CheckedAddresses(
            secure=parts.scheme == "https",
            private=self._private,
            refusal=lambda: WebUnavailable(
                "its address is not public: allow_private_url is off, or it is http"
            ),
            resolver=self._resolver,
        )
        checked.check_literal(parts)
        return checked


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MOST_BYTES:
            raise WebUnavailable(f"more than {MOST_BYTES} bytes")
    return bytes(body)

"""Events by POST to a URL, signed as Standard Webhooks says, so that libraries can check them.

    webhook-id          the event's id: who hears of it twice knows by this
    webhook-timestamp   seconds since 1970, when it was sent
    webhook-signature   v1,base64(HMAC-SHA256(secret, "{id}.{timestamp}.{body}"))

Redirects are not followed, and the connection goes to a public address, unless private ones are
allowed (SSRF).
"""

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from remit.crew.delivery import DeliveryFailed
from remit.errors import StartupError
from remit.identity.addresses import CheckedAddresses
from remit.model.crew import CrewEvent

_PREFIX: Final = "whsec_"
_TAKEN: Final = range(200, 300)


class Webhook:
    """A URL that is told of every event.

    Attributes:
        name: The host and a digest of the URL, whose path or query may be a secret.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str, secret: bytes) -> None:
        self.name = subscriber_name(url)
        self._session = session
        self._url = url
        self._secret = secret

    async def deliver(self, event: CrewEvent, now: datetime) -> None:
        """Return once the URL has answered 2xx.

        Raises:
            DeliveryFailed: It has not.
        """
        body = event_body(event)
        sent = str(int(now.timestamp()))
        headers = {
            "Content-Type": "application/json",
            "webhook-id": event.id,
            "webhook-timestamp": sent,
            "webhook-signature": signature(self._secret, event.id, sent, body),
        }
        try:
            async with self._session.post(
                self._url, data=body, headers=headers, allow_redirects=False
            ) as response:
                status = response.status
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise DeliveryFailed(f"no answer ({type(error).__name__})") from None
        if status not in _TAKEN:
            raise DeliveryFailed(f"status {status}")


@asynccontextmanager
async def open_webhook(url: str, *, secret: str, private: bool) -> AsyncGenerator[Webhook]:
    """Give the subscriber at *url*.

    Args:
        url: `https://…`; `http://` on loopback where *private* addresses are allowed.
        secret: Signs every event; `whsec_` and base64, or any text.
        private: Whether the URL may lead to an address that is not public.

    Raises:
        StartupError: URL or secret cannot be used.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise StartupError("a URL in REMIT_EVENTS_URL names no host")
    addresses = CheckedAddresses(
        secure=parts.scheme == "https",
        private=private,
        refusal=lambda: DeliveryFailed(
            "its address is not public: REMIT_EVENTS_PRIVATE is off, or it is http"
        ),
    )
    try:
        addresses.check_literal(parts)
    except DeliveryFailed as error:
        raise StartupError(f"{subscriber_name(url)!r} in REMIT_EVENTS_URL: {error}") from None
    async with (
        aiohttp.TCPConnector(resolver=addresses, use_dns_cache=False, limit=1) as connector,
        aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "remit"},
        ) as session,
    ):
        yield Webhook(session, url, _secret_bytes(secret))


def subscriber_name(url: str) -> str:
    """Return the name of a subscriber at *url*, without what in it may be secret."""
    parts = urlsplit(url)
    digest = hashlib.sha256(url.encode()).hexdigest()[:8]
    return f"{parts.scheme}://{parts.hostname}#{digest}"


def event_body(event: CrewEvent) -> bytes:
    """Return what subscribers outside are sent."""
    return json.dumps(
        {
            "type": event.topic,
            "timestamp": event.created.isoformat(),
            "id": event.id,
            "tenant": event.tenant,
            "data": dict(event.payload),
        },
        ensure_ascii=False,
    ).encode(errors="replace")


def signature(secret: bytes, event_id: str, timestamp: str, body: bytes) -> str:
    """Return the value of `webhook-signature`."""
    signed = b".".join((event_id.encode(), timestamp.encode(), body))
    digest = hmac.new(secret, signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _secret_bytes(secret: str) -> bytes:
    if not secret:
        raise StartupError(
            "a URL in REMIT_EVENTS_URL needs REMIT_EVENTS_SECRET, with which events are signed"
        )
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError:  # of base64, or of characters that it never has
        key = b""
    if not key:  # anybody could sign with an empty one
        raise StartupError("REMIT_EVENTS_SECRET begins with whsec_, but is no base64")
    return key

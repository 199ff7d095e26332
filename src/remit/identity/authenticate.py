"""From the text of a credential to a principal."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

import anyio
import structlog

from remit.errors import StorageUnavailable, Unauthenticated
from remit.identity.api_keys import KeyText, hash_secret, is_secret, parse_key_text
from remit.model.keys import Key
from remit.model.principals import Principal, PrincipalKind

log = structlog.get_logger(__name__)

MOST_VERIFIED: Final = 4096
"""Verified keys kept in memory; beyond it the memory starts anew."""

TOUCH_EVERY: Final = timedelta(minutes=1)
"""How exact `last used` is."""

_NOBODY: Final = hash_secret("nobody")
_REFUSAL: Final = "this key does not hold: unknown, wrong, expired or revoked"


class KeyStore(Protocol):
    """Where keys are kept."""

    async def find(self, key_id: str) -> Key | None:
        """Return the key with that public id, revoked or not."""
        ...

    async def touch(self, key_id: str, now: datetime) -> None:
        """Note that the key was used."""
        ...


class Authenticator:
    """Verifies API keys; remembers verified ones until `forget()` or their expiry.

    A missing key and a wrong secret take the same path: one look-up, one comparison.
    """

    def __init__(
        self, keys: KeyStore, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._keys = keys
        self._now = now
        self._verified: dict[bytes, tuple[Key, Principal]] = {}
        self._touched: dict[str, datetime] = {}
        self._forgot = 0
        self._forgotten = anyio.Event()

    def forget(self) -> None:
        """Verify every key anew, since keys have changed (R17)."""
        self._verified = {}
        self._forgot += 1
        self._forgotten.set()
        self._forgotten = anyio.Event()

    async def wait(self, seen: int) -> int:
        """Return how often keys have changed once that is not *seen*, so that streams ask again."""
        while self._forgot == seen:
            await self._forgotten.wait()
        return self._forgot

    async def __call__(self, credential: str | None) -> Principal:
        """Return the principal whose credential this is.

        Raises:
            Unauthenticated: There is none, or it does not hold; the text does not say which part.
        """
        if not credential:
            raise Unauthenticated("send a key: 'Authorization: Bearer rmt_…' or 'X-API-Key: rmt_…'")
        text = parse_key_text(credential)
        if text is None:
            raise Unauthenticated(_REFUSAL)
        digest = hashlib.sha256(credential.encode()).digest()
        # forget() puts another memory in place, so that what is being verified from a row read
        # before it is not remembered after it.
        verified = self._verified
        remembered = verified.get(digest)
        key, principal = remembered if remembered is not None else await self._verify(text)
        now = self._now()
        if not key.holds_at(now):
            raise Unauthenticated(_REFUSAL)
        if remembered is None:
            if len(verified) >= MOST_VERIFIED:
                verified.clear()
            verified[digest] = (key, principal)
        await self._touch(key, now)
        return principal

    async def _verify(self, text: KeyText) -> tuple[Key, Principal]:
        key = await self._keys.find(text.id)
        matches = is_secret(text.secret, key.secret_hash if key is not None else _NOBODY)
        if key is None or not matches:
            raise Unauthenticated(_REFUSAL)
        return key, principal_of(key)

    async def _touch(self, key: Key, now: datetime) -> None:
        last = self._touched.get(key.id)
        if last is not None and now - last < TOUCH_EVERY:
            return
        self._touched[key.id] = now
        try:
            await self._keys.touch(key.id, now)
        except StorageUnavailable as error:  # no reason to refuse a key that holds
            log.warning("use of a key cannot be noted", key=key.name, error=str(error))


def principal_of(key: Key) -> Principal:
    """Return the principal that the bearer of *key* is."""
    return Principal(
        kind=PrincipalKind.KEY,
        name=key.name,
        tenant=key.tenant,
        roles=key.roles,
        admin=key.admin,
    )

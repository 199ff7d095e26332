"""From the text of a credential to a principal."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from remit.errors import Unauthenticated
from remit.identity.api_keys import hash_secret, is_secret, parse_key_text
from remit.model.keys import Key
from remit.model.principals import Principal, PrincipalKind

MOST_VERIFIED: Final = 4096
"""Verified keys kept in memory; beyond it the memory starts anew."""

TOUCH_EVERY: Final = timedelta(minutes=1)
"""How exact `last used` is."""

_NOBODY: Final = hash_secret("nobody")


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

    def forget(self) -> None:
        """Verify every key anew, since keys have changed (R17)."""
        self._verified = {}

    async def __call__(self, credential: str | None) -> Principal:
        """Return the principal whose credential this is.

        Raises:
            Unauthenticated: There is none, or it does not hold; the text does not say which part.
        """
        if not credential:
            raise Unauthenticated("send a key: 'Authorization: Bearer rmt_…' or 'X-API-Key: rmt_…'")
        digest = hashlib.sha256(credential.encode("utf-8", "surrogateescape")).digest()
        now = self._now()
        remembered = self._verified.get(digest)
        if remembered is None:
            remembered = await self._verify(credential)
            if len(self._verified) >= MOST_VERIFIED:
                self._verified = {}
            self._verified[digest] = remembered
        key, principal = remembered
        if not key.holds_at(now):
            raise Unauthenticated("this key does not hold: unknown, wrong, expired or revoked")
        await self._touch(key, now)
        return principal

    async def _verify(self, credential: str) -> tuple[Key, Principal]:
        text = parse_key_text(credential)
        key = await self._keys.find(text.id) if text is not None else None
        stored = key.secret_hash if key is not None else _NOBODY
        matches = is_secret(text.secret if text is not None else "", stored)
        if key is None or not matches:
            raise Unauthenticated("this key does not hold: unknown, wrong, expired or revoked")
        return key, principal_of(key)

    async def _touch(self, key: Key, now: datetime) -> None:
        last = self._touched.get(key.id)
        if last is None or now - last >= TOUCH_EVERY:
            self._touched[key.id] = now
            await self._keys.touch(key.id, now)


def principal_of(key: Key) -> Principal:
    """Return the principal that the bearer of *key* is."""
    return Principal(
        kind=PrincipalKind.KEY,
        name=key.name,
        tenant=key.tenant,
        roles=key.roles,
        admin=key.admin,
    )

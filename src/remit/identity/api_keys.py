"""API keys: `rmt_<id>_<secret>`; only the id and a hash of the secret are ever stored.

The secret is 256 random bits, so one SHA-256 is enough: there is nothing to guess.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

PREFIX: Final = "rmt"
LONGEST: Final = 256
"""Characters beyond which a text cannot be a key."""

_ID_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
_ID_LENGTH: Final = 12


@dataclass(frozen=True, slots=True)
class KeyText:
    """A key as its bearer holds it; its repr never shows the secret."""

    id: str
    secret: str = field(repr=False)

    def reveal(self) -> str:
        """Return the text to hand out, once."""
        return f"{PREFIX}_{self.id}_{self.secret}"


def make_key_text() -> KeyText:
    """Return a new random key."""
    identifier = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH))
    return KeyText(identifier, secrets.token_urlsafe(32))


def parse_key_text(text: str) -> KeyText | None:
    """Return the key that *text* spells, or None when it cannot be one."""
    if len(text) > LONGEST or not text.isascii():
        return None
    prefix, _, rest = text.partition("_")
    identifier, _, secret = rest.partition("_")
    if prefix != PREFIX or not identifier or not secret:
        return None
    return KeyText(identifier, secret)


def hash_secret(secret: str) -> str:
    """Return the hex SHA-256 that is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_secret(secret: str, stored_hash: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(hash_secret(secret), stored_hash)

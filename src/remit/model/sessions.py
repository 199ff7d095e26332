"""A session at the console, as it is stored: never the secret that its browser holds."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

LONGEST: Final = timedelta(hours=12)
"""After so long a session ends, whatever it was used for."""

LONGEST_IDLE: Final = timedelta(hours=1)
"""After so long without a request a session ends."""

SEEN_EVERY: Final = timedelta(minutes=1)
"""How exactly it is known when a session was last used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByKey:
    """Somebody came with a key; the session is worth what that key is worth now.

    Attributes:
        key_id: The public part of the key.
        secret_hash: Hex SHA-256 of its secret as it was then, so that another secret ends it.
    """

    key_id: str
    secret_hash: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByIssuer:
    """Somebody came from an OpenID provider; what they are is what the rules say of `roles` now.

    Attributes:
        issuer: Who vouched for them.
        client_id: What this gateway was called there.
        subject: What the issuer calls them, for ever.
        shown: A name for people; it decides nothing.
        roles: What the issuer said that they are.
    """

    issuer: str
    client_id: str
    subject: str
    shown: str
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSession:
    """A session; all times are aware UTC.

    Attributes:
        id: Hex SHA-256 of the secret that the browser holds.
        tenant: Where its bearer belongs.
        began: How its bearer came in.
        last_seen: When it was last used, as exactly as `SEEN_EVERY`.
        expires: When it ends at the latest.
    """

    id: str
    tenant: str
    began: ByKey | ByIssuer
    created: datetime
    last_seen: datetime
    expires: datetime

    def holds_at(self, now: datetime) -> bool:
        """Whether it has neither reached its end nor idled out at *now*."""
        return now < self.expires and now - self.last_seen < LONGEST_IDLE

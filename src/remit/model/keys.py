"""An API key, as it is stored: never its secret."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A stored API key.

    Attributes:
        id: The public part of `rmt_<id>_<secret>`.
        name: Unique among a tenant's keys that are not revoked.
        secret_hash: Hex SHA-256 of the secret.
        roles: Roles its bearer acts in.
        admin: Whether its bearer administers the tenant.
        expires: Aware UTC, or None for never.
        revoked: Aware UTC, or None while it holds.
    """

    id: str
    name: str
    tenant: str
    secret_hash: str
    roles: tuple[str, ...] = ()
    admin: bool = False
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    last_used: datetime | None = None

    def holds_at(self, now: datetime) -> bool:
        """Whether the key may be used at *now*."""
        return self.revoked is None and (self.expires is None or now < self.expires)

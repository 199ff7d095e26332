"""An API key, as it is stored: never its secret."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from remit.model.principals import UserRole

KeyState = Literal["holds", "ending", "revoked", "expired"]
"""Where a key stands; `ending` is one whose end was ordered and that has a while left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A stored API key.

    Attributes:
        id: The public part of `rmt_<id>_<secret>`.
        name: Unique among a tenant's keys for which no end was ordered.
        secret_hash: Hex SHA-256 of the secret.
        roles: Roles its bearer acts in.
        user_roles: What its bearer is to the `data` server.
        service: Whether its bearer is the three-tool caller of the `data` server (S2.2).
        queries: Approved queries a service key is limited to; empty for no limit (S2.28).
        agent: The agent that its bearer is, or empty; that agent's type and role then count.
        act_for: Agents that its bearer may act for, beside whatever it is itself (R26).
        admin: Whether its bearer administers the tenant.
        auditor: Whether its bearer reads what an administrator does, and changes nothing.
        owner: Name of the user whose key it is, or empty. It opens nothing: whoever suggests with
            one and decides with the other is one person all the same (R13), and a user who is
            disabled is kept out with their keys (R17).
        expires: Aware UTC, or None for never.
        revoked: When its end was ordered for, aware UTC, or None; a replaced key may have a
            while left.
    """

    id: str
    name: str
    tenant: str
    secret_hash: str
    roles: tuple[str, ...] = ()
    user_roles: tuple[UserRole, ...] = ()
    service: bool = False
    queries: tuple[str, ...] = ()
    agent: str = ""
    act_for: tuple[str, ...] = ()
    admin: bool = False
    auditor: bool = False
    owner: str = ""
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    last_used: datetime | None = None

    def holds_at(self, now: datetime) -> bool:
        """Whether the key may be used at *now*."""
        return (self.expires is None or now < self.expires) and (
            self.revoked is None or now < self.revoked
        )

    def state_at(self, now: datetime) -> KeyState:
        """Return where the key stands at *now*."""
        if self.holds_at(now):
            return "ending" if self.revoked else "holds"
        return "revoked" if self.revoked and self.revoked <= now else "expired"


class HeldKey(NamedTuple):
    """A key that holds, with no more of it than what its bearer may depends on.

    Attributes are those of `Key`.
    """

    name: str
    owner: str
    agent: str
    roles: tuple[str, ...]
    user_roles: tuple[UserRole, ...]
    service: bool

"""The OpenID provider that people sign in at, as declared, and what it makes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from remit.model.principals import UserRole

DEFAULT_SCOPES: Final = ("openid", "profile", "email")
"""What is asked for unless the declaration says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider:
    """`identity.oidc`: the values of a claim make people what they are; without any, nothing.

    Attributes:
        issuer: Where its description is, and what `iss` must be, to the letter.
        client_id: What this gateway is called there.
        client_secret_env: Variable with the secret of that client; empty for a public client.
        scopes: What is asked for; `openid` is among it.
        allow_private_url: Whether it may be asked at inner addresses.
        claims: Which claim holds what: `roles`, `tenant`, `name`.
        administrators: Values of the claim of roles that make an administrator of the tenant.
        auditors: Those that make somebody who reads everything and changes nothing.
        reviewers: Those that make somebody who decides on suggestions of the `data` server.
        users: Those that make a business user of the `data` server.
    """

    issuer: str
    client_id: str
    client_secret_env: str = ""
    scopes: tuple[str, ...] = DEFAULT_SCOPES
    allow_private_url: bool = False
    claims: Mapping[str, str] = field(default_factory=dict[str, str])
    administrators: tuple[str, ...] = ()
    auditors: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    users: tuple[str, ...] = ()

    def makes_administrator(self, roles: tuple[str, ...]) -> bool:
        """Whether somebody with these values administers their tenant."""
        return not set(roles).isdisjoint(self.administrators)

    def makes_auditor(self, roles: tuple[str, ...]) -> bool:
        """Whether somebody with these values reads everything; an administrator is no auditor."""
        return not self.makes_administrator(roles) and not set(roles).isdisjoint(self.auditors)

    def user_roles_of(self, roles: tuple[str, ...]) -> tuple[UserRole, ...]:
        """Return what somebody with these values is to the `data` server."""
        made = {UserRole.USER: self.users, UserRole.DATA: self.reviewers}
        return tuple(role for role, values in made.items() if not set(roles).isdisjoint(values))

"""From the claims of a verified token to a principal (R5, R6, R11, S4.3).

Which claim holds what is the issuer's to say (`claims`); a name is looked up as it stands, then as
a dotted path. What can also close something (groups, the two lists of servers) refuses the token
where it has an unexpected shape; the rest gives nothing then.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, cast

from remit.identity.credentials import CredentialRefused
from remit.model.grants import JwtIssuer
from remit.model.principals import (
    DEFAULT_TENANT,
    Principal,
    PrincipalKind,
    ServerPolicy,
    UserRole,
)

LONGEST_NAME: Final = 256
"""Characters of a subject, tenant, role or group."""

ABSENT: Final = object()
"""Stands for a claim that is not there."""

ELSEWHERE: Final = "_claim_names"
"""Holds the names of claims that are to be fetched, such as too many groups (OIDC Core §5.6.2)."""

_ALLOW, _DENY = "mcpServerAllowIds", "mcpServerDenyIds"
_ADMIN, _AUDITOR = "isAdmin", "isAuditor"


def principal_from(claims: Mapping[str, object], issuer: JwtIssuer, expires: datetime) -> Principal:
    """Return the user that a verified token speaks of; always a user, whatever `sub` says (R6).

    Raises:
        CredentialRefused: Subject, tenant, groups or server lists are not what they must be.
    """
    is_admin = claims.get(_ADMIN) is True
    return Principal(
        kind=PrincipalKind.USER,
        name=_name(claims.get("sub"), "sub"),
        tenant=_tenant(claims, issuer),
        roles=_roles(_claim(claims, issuer, "roles")),
        user_roles=_user_roles(claims, issuer),
        groups=_groups(claims, issuer),
        servers=_servers(claims, admin=is_admin),
        issuer=issuer.issuer,
        admin=is_admin,
        auditor=claims.get(_AUDITOR) is True and not is_admin,
        expires=expires,
    )


def scopes_of(claims: Mapping[str, object]) -> frozenset[str]:
    """Return the scopes that a token was given: `scope` (RFC 9068), or `scp` as some issuers say.

    A text holds several between spaces; a list holds one in each entry.
    """
    found: set[str] = set()
    for name in ("scope", "scp"):
        value = claims.get(name)
        if isinstance(value, str):
            found.update(value.split())
        elif isinstance(value, list):
            found.update(text for text in cast("Sequence[object]", value) if isinstance(text, str))
    return frozenset(found)


def _claim(claims: Mapping[str, object], issuer: JwtIssuer, wanted: str) -> object:
    return claim_at(claims, issuer.claims.get(wanted, wanted))


def claim_at(claims: Mapping[str, object], path: str) -> object:
    """Return the claim of that name, or at that dotted path; `ABSENT` for none."""
    if path in claims:
        return claims[path]
    found: object = claims
    for step in path.split("."):
        if not isinstance(found, dict) or step not in found:
            return ABSENT
        found = cast("Mapping[str, object]", found)[step]
    return found


def _tenant(claims: Mapping[str, object], issuer: JwtIssuer) -> str:
    tenant = _claim(claims, issuer, "tenant")
    return issuer.tenant or DEFAULT_TENANT if tenant is ABSENT else _name(tenant, "tenant")


def _user_roles(claims: Mapping[str, object], issuer: JwtIssuer) -> tuple[UserRole, ...]:
    claim = _claim(claims, issuer, "user_roles")
    # The default is for tokens that say nothing; what is said and wrong stays nothing (R11).
    names = names_in(issuer.default_user_role if claim is ABSENT else claim)
    return tuple(role for role in UserRole if role.value in names)


def _servers(claims: Mapping[str, object], *, admin: bool) -> ServerPolicy | None:
    if not any(name in claims for name in (_ALLOW, _DENY, _ADMIN)):
        return None
    return ServerPolicy(
        allow=_server_names(claims, _ALLOW), deny=_server_names(claims, _DENY), admin=admin
    )


def _server_names(claims: Mapping[str, object], name: str) -> frozenset[str]:
    value = claims.get(name, [])
    if not isinstance(value, list):
        raise CredentialRefused(f"{name} is no list")
    names = cast("Sequence[object]", value)
    if not all(isinstance(entry, str) for entry in names):
        raise CredentialRefused(f"{name} holds something but texts")
    return frozenset(cast("Sequence[str]", names))


def _roles(value: object) -> tuple[str, ...]:
    # The record joins roles with commas. Groups it does not hold, and those of a directory have
    # commas in their names (`CN=ops,OU=groups`), which a deny may be about.
    return tuple(name for name in names_in(value) if "," not in name)


def _groups(claims: Mapping[str, object], issuer: JwtIssuer) -> tuple[str, ...]:
    """Return the groups, which a deny may be about, so that none at all would close less."""
    claim = _claim(claims, issuer, "groups")
    if claim is ABSENT:
        elsewhere = claims.get(ELSEWHERE)
        if isinstance(elsewhere, dict) and issuer.claims.get("groups", "groups") in elsewhere:
            raise CredentialRefused(f"groups are elsewhere, as {ELSEWHERE} says")
        return ()
    if claim is not None and _texts(claim) is None:
        raise CredentialRefused("groups are neither a text nor a list of texts")
    return names_in(claim)


def names_in(value: object) -> tuple[str, ...]:
    """Return a text, or a list of texts, as names; anything else is none at all."""
    return tuple(name for name in dict.fromkeys(_texts(value) or ()) if is_name(name))


def _texts(value: object) -> Sequence[str] | None:
    """Return a text, or a list of texts, as a list; None for anything else."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return None
    entries = cast("Sequence[object]", value)
    if not all(isinstance(entry, str) for entry in entries):
        return None
    return cast("Sequence[str]", entries)


def _name(value: object, claim: str) -> str:
    if not isinstance(value, str) or not is_name(value):
        raise CredentialRefused(f"{claim} is no printable text of 1 to {LONGEST_NAME} characters")
    return value


def is_name(text: str) -> bool:
    """Whether *text* does as the name of a user, a tenant, a role or a group."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()

"""Grants, agent types and toolsets: the layers beside roles, as declared (R9)."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from remit.model.principals import AgentType

PUBLIC_KEY_ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
    "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
)  # fmt: skip
"""What an issuer with public keys may sign with; all of them unless it lists some."""

SECRET_ALGORITHMS: Final = ("HS256",)
"""What an issuer may sign with whose secret we hold too, and nobody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """An allow or a deny of servers or tools, for one user, group, agent or the whole tenant.

    An `allow` opens a server whose `default_access` is `deny`; it never widens a ceiling (R11).

    Attributes:
        subject: SUBJECT spelling (`user:ann`, `agent:w1`, `key:ci`, `role:reviewer`),
            `group:NAME`, or `*` for everybody in the tenant.
        server: Server name, or empty when `tool` is given.
        tool: Pattern over `server/tool` (R15), or empty when `server` is given.
        until: Aware UTC from which it counts no more, or None.
        enabled: Whether it counts at all (R19).
    """

    subject: str
    effect: Literal["allow", "deny"]
    server: str = ""
    tool: str = ""
    until: datetime | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTypeRule:
    """What one agent type may call: patterns, deny before allow (S3.6-S3.9)."""

    type: AgentType
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetOptions:
    """The three options of the `data` server's toolsets; all default to true (S2.5)."""

    allow_ontology_maintenance: bool = True
    add_query_tools: bool = True
    add_ontology_maintenance: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """The `policy` section."""

    admin_bypass: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtIssuer:
    """One entry of `identity.jwt`.

    Attributes:
        audience: What `aud` must hold; at least one.
        scopes: What `scope` must hold for a token to come in; None where nothing is said of it.
        secret_env: Variable with the secret of HS256; the only way to allow HS256.
        leeway: Seconds of clock difference that are forgiven.
        claims: Which claim holds what: `roles`, `user_roles`, `groups`, `tenant`.
        tenant: The one tenant that its tokens are for, or empty where the token says which.
    """

    issuer: str
    audience: tuple[str, ...]
    scopes: tuple[str, ...] | None = None
    jwks_url: str = ""
    jwks_file: str = ""
    secret_env: str = ""
    algorithms: tuple[str, ...] = ()
    leeway: float = 30.0
    default_user_role: str = ""
    allow_private_url: bool = False
    claims: dict[str, str] = field(default_factory=dict[str, str])
    tenant: str = ""

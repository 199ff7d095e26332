"""The declaration: what `remit.yaml` states, and what a revision of it holds (R18)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from remit.model.alert_rules import AlertRules
from remit.model.grants import AgentTypeRule, Grant, JwtIssuer, PolicySettings, ToolsetOptions
from remit.model.limits import Limit
from remit.model.oidc import OidcProvider
from remit.model.retention import Retention
from remit.model.roles import Role
from remit.model.servers import ServerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """How the record is kept.

    Attributes:
        body_cap: Most bytes of arguments, and of a result, that one row stores.
        durability: `process` survives kill -9; `disk` survives power loss (R29).
    """

    retention_days: int | None = None
    retention_rows: int | None = None
    body_cap: int = 16 * 1024
    durability: Literal["process", "disk"] = "process"

    @property
    def retention(self) -> Retention:
        """How long the record is kept."""
        return Retention(days=self.retention_days, rows=self.retention_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The `server` section: how the gateway is seen from outside."""

    public_url: str = ""
    trusted_proxies: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings:
    """How the `data` server treats what callers send.

    Attributes:
        screening: What becomes of a value that looks like an injection (R35): `refuse` runs
            nothing, `alert` runs it, bound as every value is. Either raises the alert.
    """

    screening: Literal["refuse", "alert"] = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One validated configuration document.

    Attributes:
        servers: By name, in the order of the document.
        roles: By name, in the order of the document.
        agent_types: By type; a type that is not declared has the rules of S3.6-S3.8.
        grants: In the order of the document; order never matters to a decision.
        groups: Group to its members in SUBJECT spelling, beside what a token says of groups.
        issuers: Whose tokens are accepted.
        oidc: Where people sign in to the console, or None.
        limits: In the order of the document; order never matters.
        document: The document as plain data (`${NAME}` references unexpanded), which a revision
            stores and `export` writes.
    """

    version: str = "1.0"
    servers: Mapping[str, ServerConfig] = field(default_factory=dict[str, ServerConfig])
    roles: Mapping[str, Role] = field(default_factory=dict[str, Role])
    agent_types: tuple[AgentTypeRule, ...] = ()
    toolsets: ToolsetOptions = field(default_factory=ToolsetOptions)
    grants: tuple[Grant, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    policy: PolicySettings = field(default_factory=PolicySettings)
    issuers: tuple[JwtIssuer, ...] = ()
    oidc: OidcProvider | None = None
    limits: tuple[Limit, ...] = ()
    audit: AuditSettings = field(default_factory=AuditSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    data: DataSettings = field(default_factory=DataSettings)
    alerts: AlertRules = field(default_factory=AlertRules)
    document: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)

"""The policy snapshot: one tenant's rules at one revision, indexed so that asking is cheap.

Every verdict that a rule can give is made here, once, with its path and its reason; the layers
look them up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from types import MappingProxyType

from remit.model.decisions import Decision, Layer, LayerVerdict, Verdict
from remit.model.declaration import Declaration
from remit.model.grants import Grant
from remit.model.principals import AgentType, Principal
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.agent_types import (
    CREW_TOOLS,
    AgentTypeRules,
    agent_type_rules,
    compile_agent_type,
)
from remit.policy.grants import SubjectGrants, compile_grants
from remit.policy.limits import LimitRules
from remit.policy.memo import Memo
from remit.policy.role_rules import RoleRules, compile_role
from remit.policy.standing import Hats, Standing
from remit.policy.toolsets import LOADOUTS, PLACES, Audience, Toolset, compile_toolsets

MOST_DECISIONS = 16_384
"""How many decisions a snapshot remembers: roles times tools of a large installation."""

MOST_CALLERS = 16_384
"""How many callers a snapshot remembers, and how many standings."""

DATA = "data"
"""The server that toolsets govern (R9)."""


class Domain(Enum):
    """What governs a server for a caller that no other ceiling of its own governs there (R9)."""

    TOOLSETS = "toolsets"
    AGENT_TYPES = "agent types"
    ROLES = "roles"


def domain_of(*names: str) -> Domain:
    """Return the domain of a server: by its name, and by which of remit's own servers it is."""
    if DATA in names:
        return Domain.TOOLSETS
    return Domain.AGENT_TYPES if CREW_TOOLS.keys() & names else Domain.ROLES


def governed_tools(server: str) -> tuple[str, ...]:
    """Return the tools that toolsets or agent types know of *server*, by its name; or none."""
    return tuple(LOADOUTS) if server == DATA else CREW_TOOLS.get(server, ())


def list_order(tool: ToolId) -> tuple[str, int, str]:
    """Return what lists are sorted by: server, canonical place on the `data` server, name."""
    places: Mapping[str, int] = PLACES if tool.server == DATA else {}
    return tool.server, places.get(tool.name, len(places)), tool.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRules:
    """One declared server's rules.

    Attributes:
        standing: Whether it is enabled.
        domain: Whose ceiling it is under.
        access: What `default_access: allow` says, or None where a role has to name the server.
    """

    standing: LayerVerdict
    domain: Domain
    access: LayerVerdict | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicySnapshot:
    """One tenant's rules at one revision: never changed, only replaced whole.

    Attributes:
        belongs: What the first layer says to the tenant's own callers.
        servers: By name, in the order of the declaration.
        roles: By name, in the order of the declaration.
        agent_types: Declared ones and defaults.
        toolsets: What each kind of caller has of the `data` server.
        grants: By subject; those that count until `good_until`.
        memberships: SUBJECT spelling to the groups that the declaration lists it in, each as the
            subject of a grant.
        admin_bypass: Whether the source's rule for administrators is on (R12).
        limits: How often what is allowed may be called.
        good_until: When a grant ends next, so that `at()` has to be asked anew; None for never.
        decisions: Made before, by whose they are and about what. Forgetting these three changes no
            answer.
        standings: Looked up before, by what they were looked up for.
        recognised: Callers seen before, by their `id()`, which is theirs as long as they are here.
    """

    tenant: str
    revision: int
    belongs: LayerVerdict = field(repr=False)
    servers: Mapping[str, ServerRules] = field(repr=False)
    roles: Mapping[str, RoleRules] = field(repr=False)
    agent_types: Mapping[AgentType, AgentTypeRules] = field(repr=False)
    toolsets: Mapping[Audience, Toolset] = field(repr=False)
    grants: Mapping[str, SubjectGrants] = field(repr=False)
    memberships: Mapping[str, tuple[str, ...]] = field(repr=False)
    admin_bypass: bool
    limits: LimitRules = field(repr=False)
    good_until: datetime | None
    decisions: Memo[tuple[Standing, ToolId], Decision] = field(
        init=False, repr=False, default_factory=lambda: Memo(MOST_DECISIONS)
    )
    standings: Memo[Hats, Standing] = field(
        init=False, repr=False, default_factory=lambda: Memo(MOST_CALLERS)
    )
    recognised: Memo[int, tuple[Principal, Standing]] = field(
        init=False, repr=False, default_factory=lambda: Memo(MOST_CALLERS)
    )
    _declared_grants: tuple[Grant, ...] = field(repr=False)

    def at(self, now: datetime) -> "PolicySnapshot":
        """Return the rules as they stand at *now*: this snapshot unless a grant has ended."""
        if self.good_until is None or now < self.good_until:
            return self
        grants = compile_grants(self._declared_grants, now)
        return replace(self, grants=grants.by_subject, good_until=grants.good_until)


def compile_snapshot(
    declaration: Declaration, *, tenant: str, revision: int, now: datetime | None = None
) -> PolicySnapshot:
    """Index what *declaration* says about who may do what.

    Args:
        declaration: What is declared.
        tenant: Whose rules these are.
        revision: Their number.
        now: Aware moment that grants with an end are judged at; without one, no allow that ends
            counts and every deny does.

    Raises:
        DeclarationError: A pattern cannot be one (`check_pattern`).
    """
    grants = compile_grants(declaration.grants, now)
    agent_types = agent_type_rules(declaration.agent_types)
    servers = {name: _server_rules(server) for name, server in declaration.servers.items()}
    roles = {name: compile_role(role) for name, role in declaration.roles.items()}
    return PolicySnapshot(
        tenant=tenant,
        revision=revision,
        belongs=LayerVerdict(
            layer=Layer.TENANT,
            verdict=Verdict.ALLOW,
            reason=f"the caller belongs to tenant {tenant!r}",
        ),
        servers=MappingProxyType(servers),
        roles=MappingProxyType(roles),
        agent_types=MappingProxyType(
            {name: compile_agent_type(rule) for name, rule in agent_types.items()}
        ),
        toolsets=compile_toolsets(declaration.toolsets),
        grants=grants.by_subject,
        memberships=MappingProxyType(_memberships(declaration.groups)),
        admin_bypass=declaration.policy.admin_bypass,
        limits=LimitRules(tenant, declaration.limits),
        good_until=grants.good_until,
        _declared_grants=declaration.grants,
    )


def _memberships(groups: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    held: dict[str, list[str]] = {}
    for group, members in groups.items():
        for member in members:
            held.setdefault(member, []).append(f"group:{group}")
    return {member: tuple(names) for member, names in held.items()}


def _server_rules(server: ServerConfig) -> ServerRules:
    path = f"mcp_servers.{server.name}"
    standing = LayerVerdict(
        layer=Layer.SERVER,
        verdict=Verdict.ALLOW if server.enabled else Verdict.DENY,
        rule=path if server.enabled else f"{path}.enabled",
        reason=f"server {server.name!r} is {'enabled' if server.enabled else 'disabled'}",
    )
    access = LayerVerdict(
        layer=Layer.ACCESS,
        verdict=Verdict.ALLOW,
        rule=f"{path}.default_access",
        reason=f"server {server.name!r} is open to whoever may use its tools",
    )
    return ServerRules(
        standing=standing,
        domain=domain_of(server.name, server.builtin),
        access=access if server.default_access == "allow" else None,
    )

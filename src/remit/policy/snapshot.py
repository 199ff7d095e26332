"""The policy snapshot: one tenant's rules at one revision, indexed so that asking is cheap.

Every verdict that a rule can give is made here, once, with its path and its reason; the layers
look them up.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from types import MappingProxyType

from remit.model.decisions import Decision, Layer, LayerVerdict, Verdict
from remit.model.declaration import Declaration
from remit.model.grants import Grant
from remit.model.principals import AgentType
from remit.model.roles import Role
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
from remit.policy.patterns import Pattern
from remit.policy.rules import PatternRule, PatternRules
from remit.policy.toolsets import LOADOUTS, PLACES, Audience, Toolset, compile_toolsets

MEMO_LIMIT = 16_384
"""Most decisions one snapshot remembers: roles times tools of a large installation."""

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


class DecisionMemo:
    """Decisions made on one snapshot, which cannot change while it stands; at most *limit*.

    A question is all that a decision depends on besides the snapshot.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[Hashable, Decision] = {}

    def find(self, question: Hashable) -> Decision | None:
        """Return the decision made before, or None."""
        return self._kept.get(question)

    def keep(self, question: Hashable, decision: Decision) -> None:
        """Remember *decision*, forgetting all others when there are too many."""
        if len(self._kept) >= self._limit:
            self._kept.clear()
        self._kept[question] = decision

    def __len__(self) -> int:
        """Return how many decisions are kept."""
        return len(self._kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRules:
    """One role's rules.

    Attributes:
        named: What it grants by exact name, where a star is a star (S0.17).
        allow: What it grants by pattern.
        deny: What it refuses, whatever grants it.
        servers: The servers it names literally, an explicit grant of each (R11).
        explains_denials: Whether a refused caller is told why (R14).
    """

    named: Mapping[ToolId, LayerVerdict]
    allow: PatternRules
    deny: PatternRules
    servers: Mapping[str, LayerVerdict]
    explains_denials: bool


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
        memo: Decisions made before; forgetting them changes no answer.
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
    memo: DecisionMemo = field(repr=False)
    _declared_grants: tuple[Grant, ...] = field(repr=False)

    def at(self, now: datetime) -> "PolicySnapshot":
        """Return the rules as they stand at *now*: this snapshot unless a grant has ended."""
        if self.good_until is None or now < self.good_until:
            return self
        grants = compile_grants(self._declared_grants, now)
        return replace(
            self,
            grants=grants.by_subject,
            good_until=grants.good_until,
            memo=DecisionMemo(MEMO_LIMIT),
        )


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
    roles = {name: _role_rules(role) for name, role in declaration.roles.items()}
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
        memo=DecisionMemo(MEMO_LIMIT),
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


def _role_rules(role: Role) -> RoleRules:
    allows = _allow_rules(role)
    return RoleRules(
        named=MappingProxyType(_named_tools(role)),
        allow=PatternRules.index(allows),
        deny=PatternRules.index(_deny_rules(role)),
        servers=MappingProxyType(_named_servers(role, allows)),
        explains_denials=role.denials == "explain",
    )


def _named_tools(role: Role) -> dict[ToolId, LayerVerdict]:
    named: dict[ToolId, LayerVerdict] = {}
    for server, names in role.tools.items():
        for position, name in enumerate(names):
            verdict = LayerVerdict(
                layer=Layer.CEILING,
                verdict=Verdict.ALLOW,
                rule=f"roles.{role.name}.tools.{server}[{position}]",
                reason=f"role {role.name!r} names the tool",
            )
            named.setdefault(ToolId(server, name), verdict)
    return named


def _allow_rules(role: Role) -> tuple[PatternRule, ...]:
    return _pattern_rules(role, role.allow, Layer.CEILING, Verdict.ALLOW)


def _deny_rules(role: Role) -> tuple[PatternRule, ...]:
    return _pattern_rules(role, role.deny, Layer.DENY, Verdict.DENY)


def _pattern_rules(
    role: Role, patterns: Sequence[str], layer: Layer, verdict: Verdict
) -> tuple[PatternRule, ...]:
    says = "allows" if verdict is Verdict.ALLOW else "denies"
    return tuple(
        PatternRule(
            pattern=Pattern.parse(text),
            position=position,
            verdict=LayerVerdict(
                layer=layer,
                verdict=verdict,
                rule=f"roles.{role.name}.{verdict.value}[{position}]",
                reason=f"role {role.name!r} {says} {text!r}",
            ),
        )
        for position, text in enumerate(patterns)
    )


def _named_servers(role: Role, allows: Iterable[PatternRule]) -> dict[str, LayerVerdict]:
    path = f"roles.{role.name}"
    places = [(server, f"{path}.mcp_servers[{at}]") for at, server in enumerate(role.mcp_servers)]
    places += [(server, f"{path}.tools.{server}") for server in role.tools]
    places += [
        (rule.pattern.literal_server, rule.verdict.rule)
        for rule in allows
        if rule.pattern.literal_server is not None
    ]
    named: dict[str, LayerVerdict] = {}
    for server, place in places:
        verdict = LayerVerdict(
            layer=Layer.ACCESS,
            verdict=Verdict.ALLOW,
            rule=place,
            reason=f"role {role.name!r} names server {server!r}",
        )
        named.setdefault(server, verdict)
    return named

"""The policy snapshot: one tenant's rules at one revision, indexed so that asking is cheap.

Every verdict that a rule can give is made here, once, with its path and its reason; the layers
look them up.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from remit.model.decisions import Decision, Layer, LayerVerdict, Verdict
from remit.model.declaration import Declaration
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.policy.patterns import Pattern
from remit.policy.rules import PatternRule, PatternRules

MEMO_LIMIT = 16_384
"""Most decisions one snapshot remembers: roles times tools of a large installation."""

Question = tuple[str, tuple[str, ...], ToolId]
"""All that a decision depends on besides the snapshot: the caller's tenant and roles, the tool."""


class DecisionMemo:
    """Decisions made on one snapshot, which cannot change while it stands; at most *limit*."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[Question, Decision] = {}

    def find(self, question: Question) -> Decision | None:
        """Return the decision made before, or None."""
        return self._kept.get(question)

    def keep(self, question: Question, decision: Decision) -> None:
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
        access: What `default_access: allow` says, or None where a role has to name the server.
    """

    standing: LayerVerdict
    access: LayerVerdict | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicySnapshot:
    """One tenant's rules at one revision: never changed, only replaced whole.

    Attributes:
        servers: By name, in the order of the declaration.
        roles: By name, in the order of the declaration.
        memo: Decisions made before; forgetting them changes no answer.
    """

    tenant: str
    revision: int
    servers: Mapping[str, ServerRules] = field(repr=False)
    roles: Mapping[str, RoleRules] = field(repr=False)
    memo: DecisionMemo = field(repr=False)


def compile_snapshot(declaration: Declaration, *, tenant: str, revision: int) -> PolicySnapshot:
    """Index what *declaration* says about who may do what.

    Raises:
        DeclarationError: A pattern cannot be one (`check_pattern`).
    """
    servers = {name: _server_rules(server) for name, server in declaration.servers.items()}
    roles = {name: _role_rules(role) for name, role in declaration.roles.items()}
    return PolicySnapshot(
        tenant=tenant,
        revision=revision,
        servers=MappingProxyType(servers),
        roles=MappingProxyType(roles),
        memo=DecisionMemo(MEMO_LIMIT),
    )


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
        standing=standing, access=access if server.default_access == "allow" else None
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

"""A role's rules, indexed: every verdict that they can give is made once, with path and reason."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.roles import Role
from remit.model.tools import ToolId
from remit.policy.patterns import Pattern
from remit.policy.rules import PatternRule, PatternRules


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRules:
    """One role's rules.

    Attributes:
        named: What it grants by exact name, where a star is a star (S0.17).
        allow: What it grants by pattern.
        deny: What it refuses, whatever grants it.
        servers: The servers it names literally, an explicit grant of each (R11).
        is_open_ended: Whether a pattern of it may fit tools of servers that it does not name.
        explains_denials: Whether a refused caller is told why (R14).
    """

    named: Mapping[ToolId, LayerVerdict]
    allow: PatternRules
    deny: PatternRules
    servers: Mapping[str, LayerVerdict]
    is_open_ended: bool
    explains_denials: bool

    def may_reach(self, server: str) -> bool:
        """Whether any rule of it could allow a tool of *server*; without one none is allowed."""
        return self.is_open_ended or server in self.servers


def compile_role(role: Role) -> RoleRules:
    """Index the rules of one role.

    Raises:
        DeclarationError: A pattern cannot be one.
    """
    allows = _allow_rules(role)
    return RoleRules(
        named=MappingProxyType(_named_tools(role)),
        allow=PatternRules.index(allows),
        deny=PatternRules.index(_deny_rules(role)),
        servers=MappingProxyType(_named_servers(role, allows)),
        # where server and tool part in `mcp__a__b__c` depends on what servers there are
        is_open_ended=any(
            rule.pattern.is_mcp or rule.pattern.literal_server is None for rule in allows
        ),
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

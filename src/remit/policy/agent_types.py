"""Agent types: the crew's servers and tools as data, and the rules of S3.6-S3.8 as defaults.

The source writes `*` for a SUPERVISOR. A bare pattern is none here (R15), and a star over every
server would say nothing about which servers agent types govern: `mcp__*` means every crew tool,
and names no server, so that roles go on governing all others (R9).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.grants import AgentTypeRule
from remit.model.principals import AgentType
from remit.policy.patterns import Pattern
from remit.policy.rules import PatternRule, PatternRules

CREW_TOOLS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "mail": ("list_inbox", "read", "send", "reply"),
        "agent": ("get_status", "get_task", "get_epic"),
        "system": ("log_decision",),
        "task": ("create", "assign", "update_status", "add_comment", "list", "get"),
        "epic": (
            "create",
            "update_status",
            "list_tasks",
            "get_review_queue",
            "approve_task",
            "request_changes",
        ),
        "orchestrator": ("list", "create", "check_health", "recover"),
        "supervisor": ("pause_agent", "resume_agent", "reassign_task"),
    }
)
"""The servers that agent types govern, with their tools (S3.12-S3.20, R34)."""

DEFAULT_AGENT_TYPES: Mapping[AgentType, AgentTypeRule] = MappingProxyType(
    {
        rule.type: rule
        for rule in (
            AgentTypeRule(type=AgentType.SUPERVISOR, allow=("mcp__*",)),
            AgentTypeRule(
                type=AgentType.ORCHESTRATOR,
                allow=(
                    "mcp__mail__*",
                    "mcp__agent__*",
                    "mcp__system__*",
                    "mcp__task__*",
                    "mcp__epic__*",
                ),
                deny=("mcp__supervisor__*",),
            ),
            AgentTypeRule(
                type=AgentType.WORKER,
                allow=(
                    "mcp__mail__*",
                    "mcp__agent__get_status",
                    "mcp__agent__get_task",
                    "mcp__agent__get_epic",
                    "mcp__system__log_decision",
                    "mcp__task__update_status",
                    "mcp__task__add_comment",
                ),
                deny=(
                    "mcp__supervisor__*",
                    "mcp__orchestrator__*",
                    "mcp__epic__*",
                    "mcp__task__create",
                    "mcp__task__assign",
                ),
            ),
        )
    }
)
"""What holds for a type that the declaration does not declare (S3.6-S3.8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTypeRules:
    """One agent type's rules, compiled.

    Attributes:
        servers: The servers that an allow names literally: governed by the type beside the crew's
            (R9), and opened by it (R11).
    """

    allow: PatternRules
    deny: PatternRules
    servers: Mapping[str, LayerVerdict]


def agent_type_rules(declared: Iterable[AgentTypeRule]) -> dict[AgentType, AgentTypeRule]:
    """Return every type's rule: a declared one replaces its default whole."""
    return {**DEFAULT_AGENT_TYPES, **{rule.type: rule for rule in declared}}


def compile_agent_type(rule: AgentTypeRule) -> AgentTypeRules:
    """Index the rules of one agent type.

    Raises:
        DeclarationError: A pattern cannot be one.
    """
    allows = tuple(_rules(rule, "allow", rule.allow, Layer.CEILING, Verdict.ALLOW))
    denies = _rules(rule, "deny", rule.deny, Layer.DENY, Verdict.DENY)
    servers: dict[str, LayerVerdict] = {}
    for allowing in allows:
        server = allowing.pattern.literal_server
        if server is not None:
            servers.setdefault(
                server,
                LayerVerdict(
                    layer=Layer.ACCESS,
                    verdict=Verdict.ALLOW,
                    rule=allowing.verdict.rule,
                    reason=f"agent type {rule.type.value} names server {server!r}",
                ),
            )
    return AgentTypeRules(
        allow=PatternRules.index(allows),
        deny=PatternRules.index(denies),
        servers=MappingProxyType(servers),
    )


def _rules(
    rule: AgentTypeRule, key: str, patterns: tuple[str, ...], layer: Layer, verdict: Verdict
) -> Iterable[PatternRule]:
    verb = "allows" if verdict is Verdict.ALLOW else "denies"
    for position, text in enumerate(patterns):
        yield PatternRule(
            pattern=Pattern.parse(text),
            position=position,
            verdict=LayerVerdict(
                layer=layer,
                verdict=verdict,
                rule=f"agent_types.{rule.type.value}.{key}[{position}]",
                reason=f"agent type {rule.type.value} {verb} {text!r}",
            ),
        )

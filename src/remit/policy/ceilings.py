"""The ceilings of layer D, each with its domain (R9).

key scope    a service key: everything; its toolset of `data`, and nothing elsewhere
toolsets     the `data` server
agent types  the crew's servers, and any server that an allow of the caller's type names literally
roles        every other server

Only ceilings whose domain holds the tool are asked, and all that are asked must say yes.
"""

from collections.abc import Callable, Iterator

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.tools import ToolId
from remit.policy.agent_types import AgentTypeRules
from remit.policy.snapshot import Domain, PolicySnapshot, RoleRules, domain_of
from remit.policy.standing import Standing

Ceiling = Callable[[PolicySnapshot, Standing, ToolId], LayerVerdict]


def ceilings_of(snapshot: PolicySnapshot, standing: Standing, server: str) -> list[Ceiling]:
    """Return the ceilings whose domain holds the tools of *server* for this caller."""
    domain = _domain_of(snapshot, server)
    if standing.service and domain is not Domain.TOOLSETS:
        return [ask_key_scope]
    asked: list[Ceiling] = [ask_toolset] if domain is Domain.TOOLSETS else []
    if is_governed_by_type(snapshot, standing, server):
        asked.append(ask_agent_type)
    return asked or [ask_roles]


def is_governed_by_type(snapshot: PolicySnapshot, standing: Standing, server: str) -> bool:
    """Whether agent types govern *server* for this caller."""
    if _domain_of(snapshot, server) is Domain.AGENT_TYPES:
        return True
    rules = type_rules_of(snapshot, standing)
    return rules is not None and server in rules.servers


def ask_toolset(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Allow what the caller's toolset holds (S2.9)."""
    if standing.audience is None:
        return _no(f"toolsets govern server {tool.server!r}, and the caller has no user role")
    said = snapshot.toolsets[standing.audience].get(tool.name)
    if said is not None:
        return said
    return _no(f"toolset {standing.audience.value!r} does not hold {tool.name!r}")


def ask_agent_type(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Allow what the caller's agent type allows (S3.9)."""
    if standing.agent_type is None:
        return _no(f"agent types govern server {tool.server!r}, and the caller has none")
    rules = snapshot.agent_types[standing.agent_type]
    return rules.allow.find(tool) or _no(
        f"agent type {standing.agent_type.value} does not allow it"
    )


def ask_roles(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Allow what any role of the caller grants, by name before by pattern (R8)."""
    for role in roles_of(snapshot, standing):
        verdict = role.named.get(tool) or role.allow.find(tool)
        if verdict is not None:
            return verdict
    return _no(_why_no_role(snapshot, standing), rule=_nearest_role(snapshot, standing))


def roles_of(snapshot: PolicySnapshot, standing: Standing) -> Iterator[RoleRules]:
    """Yield the rules of the caller's roles; an unknown role is nothing (R11)."""
    for name in standing.roles:
        if (role := snapshot.roles.get(name)) is not None:
            yield role


def type_rules_of(snapshot: PolicySnapshot, standing: Standing) -> AgentTypeRules | None:
    """Return the rules of the caller's agent type, or None when it is no agent."""
    return None if standing.agent_type is None else snapshot.agent_types[standing.agent_type]


def _domain_of(snapshot: PolicySnapshot, server: str) -> Domain:
    declared = snapshot.servers.get(server)
    return declared.domain if declared is not None else domain_of(server)


def ask_key_scope(_snapshot: PolicySnapshot, _standing: Standing, tool: ToolId) -> LayerVerdict:
    """Deny a service key whatever is not of the `data` server (S2.2)."""
    return _no(f"a service key opens nothing of server {tool.server!r}")


def _no(reason: str, rule: str = "") -> LayerVerdict:
    return LayerVerdict(layer=Layer.CEILING, verdict=Verdict.DENY, rule=rule, reason=reason)


def _nearest_role(snapshot: PolicySnapshot, standing: Standing) -> str:
    """Return where a grant would have to stand: the caller's first role that is declared."""
    held = (f"roles.{name}" for name in standing.roles if name in snapshot.roles)
    return next(held, "")


def _why_no_role(snapshot: PolicySnapshot, standing: Standing) -> str:
    if not standing.roles:
        return "no role allows it: the caller has none"
    held = ", ".join(
        repr(name) if name in snapshot.roles else f"{name!r} (not declared)"
        for name in standing.roles
    )
    return f"no role allows it: the caller has {held}"

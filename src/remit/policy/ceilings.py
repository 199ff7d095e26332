"""The ceilings of layer D, each with its domain (R9).

key scope    a service key: everything; its toolset of `data`, and nothing elsewhere
toolsets     the `data` server
agent types  the crew's servers, and any server that an allow of the caller's type names literally
roles        every other server

Only ceilings whose domain holds the tool are asked, and all that are asked must say yes.
"""

from collections.abc import Callable, Sequence

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.tools import ToolId
from remit.policy.snapshot import Domain, PolicySnapshot, domain_of
from remit.policy.standing import Standing

Ceiling = Callable[[PolicySnapshot, Standing, ToolId], LayerVerdict]


def ceilings_of(snapshot: PolicySnapshot, standing: Standing, server: str) -> Sequence[Ceiling]:
    """Return the ceilings whose domain holds the tools of *server* for this caller."""
    domain = _domain_of(snapshot, server)
    if standing.hats.service and domain is not Domain.TOOLSETS:
        return BY_KEY_SCOPE
    if domain is Domain.TOOLSETS:
        return BY_BOTH if is_governed_by_type(snapshot, standing, server) else BY_TOOLSET
    return BY_TYPE if is_governed_by_type(snapshot, standing, server) else BY_ROLES


def is_governed_by_type(snapshot: PolicySnapshot, standing: Standing, server: str) -> bool:
    """Whether agent types govern *server* for this caller."""
    if standing.type_rules is not None and server in standing.type_rules.servers:
        return True
    return _domain_of(snapshot, server) is Domain.AGENT_TYPES


def ask_toolset(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Allow what the caller's toolset holds (S2.9)."""
    audience = standing.hats.audience
    if audience is None:
        return _no(f"toolsets govern server {tool.server!r}, and the caller has no user role")
    said = snapshot.toolsets[audience].get(tool.name)
    return said or _no(f"toolset {audience.value!r} does not hold {tool.name!r}")


def ask_agent_type(_snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Allow what the caller's agent type allows (S3.9)."""
    if standing.type_rules is None:
        return _no(f"agent types govern server {tool.server!r}, and the caller has none")
    return standing.type_rules.allow.find(tool) or _no(
        f"agent type {standing.hats.agent_type} does not allow it"
    )


def ask_roles(_snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Allow what any role of the caller grants, by name before by pattern (R8)."""
    for role in standing.roles:
        verdict = role.named.get(tool) or role.allow.find(tool)
        if verdict is not None:
            return verdict
    return standing.no_role


def ask_key_scope(_snapshot: PolicySnapshot, _standing: Standing, tool: ToolId) -> LayerVerdict:
    """Deny a service key whatever is not of the `data` server (S2.2)."""
    return _no(f"a service key opens nothing of server {tool.server!r}")


BY_KEY_SCOPE: Sequence[Ceiling] = (ask_key_scope,)
BY_TOOLSET: Sequence[Ceiling] = (ask_toolset,)
BY_TYPE: Sequence[Ceiling] = (ask_agent_type,)
BY_BOTH: Sequence[Ceiling] = (ask_toolset, ask_agent_type)
BY_ROLES: Sequence[Ceiling] = (ask_roles,)


def _domain_of(snapshot: PolicySnapshot, server: str) -> Domain:
    declared = snapshot.servers.get(server)
    return declared.domain if declared is not None else domain_of(server)


def _no(reason: str) -> LayerVerdict:
    return LayerVerdict(layer=Layer.CEILING, verdict=Verdict.DENY, reason=reason)

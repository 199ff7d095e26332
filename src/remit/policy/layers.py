"""The layers of R9, each a small pure function from (snapshot, principal, tool) to a verdict.

tenant   the caller belongs to the tenant whose rules these are
server   the server is declared and enabled
deny     no explicit deny of any of the caller's roles fits
ceiling  one of the caller's roles grants the tool
access   the server is open by default, or one of the caller's roles names it
tool     what only the tool can know; a layer that has no function is silent
"""

from collections.abc import Callable, Iterator, Mapping

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.principals import Principal
from remit.model.tools import ToolId
from remit.policy.snapshot import PolicySnapshot, RoleRules

Ask = Callable[[PolicySnapshot, Principal, ToolId], LayerVerdict]


def ask_tenant(snapshot: PolicySnapshot, principal: Principal, _tool: ToolId) -> LayerVerdict:
    """Deny a caller of another tenant (A)."""
    if principal.tenant == snapshot.tenant:
        return LayerVerdict(
            layer=Layer.TENANT,
            verdict=Verdict.ALLOW,
            reason=f"the caller belongs to tenant {snapshot.tenant!r}",
        )
    return LayerVerdict(
        layer=Layer.TENANT,
        verdict=Verdict.DENY,
        reason=f"the caller belongs to tenant {principal.tenant!r}, not to {snapshot.tenant!r}",
    )


def ask_server(snapshot: PolicySnapshot, _principal: Principal, tool: ToolId) -> LayerVerdict:
    """Deny a server that is not declared, or that is disabled (B)."""
    server = snapshot.servers.get(tool.server)
    if server is not None:
        return server.standing
    return LayerVerdict(
        layer=Layer.SERVER,
        verdict=Verdict.DENY,
        reason=f"server {tool.server!r} is not declared",
    )


def ask_deny(snapshot: PolicySnapshot, principal: Principal, tool: ToolId) -> LayerVerdict:
    """Deny what any role of the caller denies (C); administrators are bound too (R12)."""
    for role in _roles_of(snapshot, principal):
        if (verdict := role.deny.find(tool)) is not None:
            return verdict
    return LayerVerdict(
        layer=Layer.DENY, verdict=Verdict.SILENT, reason="no role of the caller denies it"
    )


def ask_ceiling(snapshot: PolicySnapshot, principal: Principal, tool: ToolId) -> LayerVerdict:
    """Allow what any role of the caller grants, by name before by pattern; else deny (D, R8)."""
    for role in _roles_of(snapshot, principal):
        verdict = role.named.get(tool) or role.allow.find(tool)
        if verdict is not None:
            return verdict
    return LayerVerdict(
        layer=Layer.CEILING,
        verdict=Verdict.DENY,
        rule=_nearest_role(snapshot, principal),
        reason=_why_no_role(snapshot, principal),
    )


def ask_access(snapshot: PolicySnapshot, principal: Principal, tool: ToolId) -> LayerVerdict:
    """Allow a server that is open by default or that a role of the caller names (E, R11)."""
    server = snapshot.servers.get(tool.server)
    if server is not None and server.access is not None:
        return server.access
    for role in _roles_of(snapshot, principal):
        if (verdict := role.servers.get(tool.server)) is not None:
            return verdict
    return LayerVerdict(
        layer=Layer.ACCESS,
        verdict=Verdict.DENY,
        reason=f"server {tool.server!r} is not open by default, and no role of the caller names it",
    )


ASKED: Mapping[Layer, Ask] = {
    Layer.TENANT: ask_tenant,
    Layer.SERVER: ask_server,
    Layer.DENY: ask_deny,
    Layer.CEILING: ask_ceiling,
    Layer.ACCESS: ask_access,
}


def ask(layer: Layer, snapshot: PolicySnapshot, principal: Principal, tool: ToolId) -> LayerVerdict:
    """Return what *layer* says; a layer that has no function is silent."""
    if (function := ASKED.get(layer)) is None:
        return LayerVerdict(layer=layer, verdict=Verdict.SILENT)
    return function(snapshot, principal, tool)


def _roles_of(snapshot: PolicySnapshot, principal: Principal) -> Iterator[RoleRules]:
    """Yield the rules of the caller's roles; an unknown role is nothing (R11)."""
    for name in principal.roles:
        if (role := snapshot.roles.get(name)) is not None:
            yield role


def _nearest_role(snapshot: PolicySnapshot, principal: Principal) -> str:
    """Return where a grant would have to stand: the caller's first role that is declared."""
    held = (f"roles.{name}" for name in principal.roles if name in snapshot.roles)
    return next(held, "")


def _why_no_role(snapshot: PolicySnapshot, principal: Principal) -> str:
    if not principal.roles:
        return "no role allows it: the caller has none"
    held = ", ".join(
        repr(name) if name in snapshot.roles else f"{name!r} (not declared)"
        for name in principal.roles
    )
    return f"no role allows it: the caller has {held}"

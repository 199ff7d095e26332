"""The layers of R9, each a small pure function from (snapshot, standing, tool) to a verdict.

tenant   the caller belongs to the tenant whose rules these are
server   the server is declared and enabled
deny     no explicit deny fits: of a role, of the agent type, by a grant, or of the caller's token
ceiling  every ceiling whose domain holds the tool says yes (`ceilings.py`)
access   the server is open by default, or explicitly to this caller
tool     what only the tool can know; silent here
"""

from collections.abc import Callable, Iterable, Mapping

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.tools import ToolId
from remit.policy.ceilings import BY_ROLES, ceilings_of, is_governed_by_type
from remit.policy.grants import Found
from remit.policy.snapshot import PolicySnapshot
from remit.policy.standing import Standing

Ask = Callable[[PolicySnapshot, Standing, ToolId], LayerVerdict]

_SILENT = LayerVerdict(layer=Layer.TOOL, verdict=Verdict.SILENT)

_NO_DENY = LayerVerdict(
    layer=Layer.DENY, verdict=Verdict.SILENT, reason="nothing denies it to the caller"
)

BYPASS = "policy.admin_bypass"
"""The rule that lets an administrator's token pass (R12)."""


def ask_tenant(snapshot: PolicySnapshot, standing: Standing, _tool: ToolId) -> LayerVerdict:
    """Deny a caller of another tenant (A)."""
    if standing.hats.tenant == snapshot.tenant:
        return snapshot.belongs
    return LayerVerdict(
        layer=Layer.TENANT,
        verdict=Verdict.DENY,
        reason=f"the caller belongs to tenant {standing.hats.tenant!r}, not to {snapshot.tenant!r}",
    )


def ask_server(snapshot: PolicySnapshot, _standing: Standing, tool: ToolId) -> LayerVerdict:
    """Deny a server that is not declared, or that is disabled (B)."""
    server = snapshot.servers.get(tool.server)
    if server is not None:
        return server.standing
    return LayerVerdict(
        layer=Layer.SERVER,
        verdict=Verdict.DENY,
        reason=f"server {tool.server!r} is not declared",
    )


def ask_deny(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Deny what any rule denies the caller (C); administrators are bound too.

    With `policy: {admin_bypass: true}` an administrator's token passes the denies of whole servers,
    which are all that the source's rule knows of (S4.5, R12); those of tools still bind it.
    """
    if (denied := _deny_of_tool(snapshot, standing, tool)) is not None:
        return denied
    if standing.bypasses:
        return LayerVerdict(
            layer=Layer.DENY,
            verdict=Verdict.SILENT,
            rule=BYPASS,
            reason="no deny of a tool fits, and those of servers do not bind this administrator",
        )
    if denied := _first(grants.of_server(tool.server) for grants in standing.denies):
        return denied
    if standing.hats.servers is not None and tool.server in standing.hats.servers.deny:
        return LayerVerdict(
            layer=Layer.DENY,
            verdict=Verdict.DENY,
            rule="token.mcpServerDenyIds",
            reason=f"the caller's token denies server {tool.server!r}",
        )
    return _NO_DENY


def ask_ceiling(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Allow what every ceiling allows whose domain holds the tool (D); the first no decides."""
    if standing.bypasses:
        return LayerVerdict(
            layer=Layer.CEILING,
            verdict=Verdict.ALLOW,
            rule=BYPASS,
            reason="an administrator gets every server (S4.5)",
        )
    said = [ask(snapshot, standing, tool) for ask in ceilings_of(snapshot, standing, tool.server)]
    return next((verdict for verdict in said if verdict.verdict is Verdict.DENY), said[0])


def ask_access(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Allow a server that is open by default or that is explicitly opened to the caller (E, R11).

    What a role or an agent type names or is granted counts only where it governs the server, so
    that no hat opens another's domain.
    """
    server = snapshot.servers.get(tool.server)
    if server is not None and server.access is not None:
        return server.access
    if standing.bypasses:
        return LayerVerdict(
            layer=Layer.ACCESS,
            verdict=Verdict.ALLOW,
            rule=BYPASS,
            reason="an administrator gets every server (S4.5)",
        )
    return _opened(snapshot, standing, tool) or LayerVerdict(
        layer=Layer.ACCESS,
        verdict=Verdict.DENY,
        reason=f"server {tool.server!r} is not open by default, and nothing opens it to the caller",
    )


def ask_tool(_snapshot: PolicySnapshot, _standing: Standing, _tool: ToolId) -> LayerVerdict:
    """Leave it to the tool itself (F)."""
    return _SILENT


LAYERS: Mapping[Layer, Ask] = {
    Layer.TENANT: ask_tenant,
    Layer.SERVER: ask_server,
    Layer.DENY: ask_deny,
    Layer.CEILING: ask_ceiling,
    Layer.ACCESS: ask_access,
    Layer.TOOL: ask_tool,
}
"""Every layer with its function, in the order in which they are asked."""


def _deny_of_tool(
    snapshot: PolicySnapshot, standing: Standing, tool: ToolId
) -> LayerVerdict | None:
    for denies in standing.role_denies:
        if (verdict := denies.find(tool)) is not None:
            return verdict
    rules = standing.type_rules
    if rules is not None and is_governed_by_type(snapshot, standing, tool.server):
        verdict = rules.deny.find(tool)
        if verdict is not None:
            return verdict
    return _first(grants.of_tool(tool) for grants in standing.denies)


def _opened(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict | None:
    """Return what opens the server, or this tool of it, explicitly to the caller."""
    if ceilings_of(snapshot, standing, tool.server) is BY_ROLES:
        named, granted = [role.servers for role in standing.roles], standing.allows
    else:
        rules = standing.type_rules
        named, granted = [] if rules is None else [rules.servers], standing.own_allows
    for servers in named:
        if (verdict := servers.get(tool.server)) is not None:
            return verdict
    found = (grants.of_server(tool.server) or grants.of_tool(tool) for grants in granted)
    return _first(found) or _opened_by_token(standing, tool)


def _opened_by_token(standing: Standing, tool: ToolId) -> LayerVerdict | None:
    if standing.hats.servers is None or tool.server not in standing.hats.servers.allow:
        return None
    return LayerVerdict(
        layer=Layer.ACCESS,
        verdict=Verdict.ALLOW,
        rule="token.mcpServerAllowIds",
        reason=f"the caller's token opens server {tool.server!r}",
    )


def _first(found: Iterable[Found | None]) -> LayerVerdict | None:
    """Return the verdict of the grant that stands first in the declaration."""
    fitting = [one for one in found if one is not None]
    return min(fitting).verdict if fitting else None

"""The layers of R9, each a small pure function from (snapshot, standing, tool) to a verdict.

tenant   the caller belongs to the tenant whose rules these are
server   the server is declared and enabled
deny     no explicit deny fits: of a role, of the agent type, by a grant, or of the caller's token
ceiling  every ceiling whose domain holds the tool says yes (`ceilings.py`)
access   the server is open by default, or explicitly to this caller
tool     what only the tool can know; a layer that has no function is silent
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.tools import ToolId
from remit.policy.ceilings import (
    ask_roles,
    ceilings_of,
    is_governed_by_type,
    roles_of,
    type_rules_of,
)
from remit.policy.grants import ROLE, Found, GrantList
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
    if standing.tenant == snapshot.tenant:
        return snapshot.belongs
    return LayerVerdict(
        layer=Layer.TENANT,
        verdict=Verdict.DENY,
        reason=f"the caller belongs to tenant {standing.tenant!r}, not to {snapshot.tenant!r}",
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
    if (denied := next(_denies_of_tools(snapshot, standing, tool), None)) is not None:
        return denied
    if standing.bypasses(snapshot):
        return LayerVerdict(
            layer=Layer.DENY,
            verdict=Verdict.SILENT,
            rule=BYPASS,
            reason="no deny of a tool fits, and those of servers do not bind this administrator",
        )
    if denied := _first(grant.of_server(tool.server) for grant in _denies(snapshot, standing)):
        return denied
    if standing.servers is not None and tool.server in standing.servers.deny:
        return LayerVerdict(
            layer=Layer.DENY,
            verdict=Verdict.DENY,
            rule="token.mcpServerDenyIds",
            reason=f"the caller's token denies server {tool.server!r}",
        )
    return _NO_DENY


def ask_ceiling(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Allow what every ceiling allows whose domain holds the tool (D); the first no decides."""
    if standing.bypasses(snapshot):
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
    if standing.bypasses(snapshot):
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


ASKED: Mapping[Layer, Ask] = {
    Layer.TENANT: ask_tenant,
    Layer.SERVER: ask_server,
    Layer.DENY: ask_deny,
    Layer.CEILING: ask_ceiling,
    Layer.ACCESS: ask_access,
}


def ask(layer: Layer, snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict:
    """Return what *layer* says; the layer of the tool itself is silent here."""
    if (function := ASKED.get(layer)) is None:
        return _SILENT
    return function(snapshot, standing, tool)


def _denies_of_tools(
    snapshot: PolicySnapshot, standing: Standing, tool: ToolId
) -> Iterator[LayerVerdict]:
    for role in roles_of(snapshot, standing):
        if (verdict := role.deny.find(tool)) is not None:
            yield verdict
    rules = type_rules_of(snapshot, standing)
    if (
        rules is not None
        and is_governed_by_type(snapshot, standing, tool.server)
        and (verdict := rules.deny.find(tool)) is not None
    ):
        yield verdict
    if denied := _first(grant.of_tool(tool) for grant in _denies(snapshot, standing)):
        yield denied


def _denies(snapshot: PolicySnapshot, standing: Standing) -> Iterator[GrantList]:
    return (snapshot.grants[subject].deny for subject in standing.subjects)


def _opened(snapshot: PolicySnapshot, standing: Standing, tool: ToolId) -> LayerVerdict | None:
    """Return what opens the server, or this tool of it, explicitly to the caller."""
    by_roles = ceilings_of(snapshot, standing, tool.server) == [ask_roles]
    named = [role.servers for role in roles_of(snapshot, standing)] if by_roles else []
    if not by_roles and (rules := type_rules_of(snapshot, standing)) is not None:
        named.append(rules.servers)
    for servers in named:
        if (verdict := servers.get(tool.server)) is not None:
            return verdict
    granted = [
        snapshot.grants[subject].allow
        for subject in standing.subjects
        if by_roles or not subject.startswith(ROLE)
    ]
    found = (grant.of_server(tool.server) or grant.of_tool(tool) for grant in granted)
    return _first(found) or _opened_by_token(standing, tool)


def _opened_by_token(standing: Standing, tool: ToolId) -> LayerVerdict | None:
    if standing.servers is None or tool.server not in standing.servers.allow:
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

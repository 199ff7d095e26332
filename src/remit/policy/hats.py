"""Who can call a tool only by two things at once: one opens its server, the other allows it (R9).

A grant to a user opens a server and allows no tool; a role allows a tool and need not reach its
server. Neither can call alone, so whoever asks who can would hear of nobody.
"""

from collections.abc import Iterator
from dataclasses import replace

from remit.model.decisions import Layer, Verdict
from remit.model.principals import Principal, PrincipalKind, UserRole
from remit.model.tools import ToolId
from remit.policy.engine import decide, explain
from remit.policy.grants import SubjectGrants
from remit.policy.snapshot import PolicySnapshot

Pair = tuple[str, str]
"""What opens the server and what allows the tool, both in SUBJECT spelling."""


def pairs_that_can(snapshot: PolicySnapshot, tool: ToolId) -> tuple[Pair, ...]:
    """Return who can use *tool* by two hats and by neither alone.

    What opens is a user, a group or a role; what allows is a role or a user role.
    """
    server = snapshot.servers.get(tool.server)
    if server is None or server.access is not None:  # open to whoever is allowed
        return ()
    openers = {
        name: one
        for name, one in _openers(snapshot, tool)
        if not decide(snapshot, one, tool).allowed
    }
    allowing = {
        name: hat
        for name, hat in _hats(snapshot)
        if _is_stopped_by_access_alone(snapshot, hat, tool)
    }
    return tuple(
        (opener, name)
        for opener, one in openers.items()
        for name, hat in allowing.items()
        if name != opener and decide(snapshot, _both(one, hat), tool).allowed
    )


def _is_stopped_by_access_alone(snapshot: PolicySnapshot, hat: Principal, tool: ToolId) -> bool:
    said = explain(snapshot, hat, tool).layers
    return [one.layer for one in said if one.verdict is Verdict.DENY] == [Layer.ACCESS]


def _both(one: Principal, hat: Principal) -> Principal:
    return replace(one, roles=(*one.roles, *hat.roles), user_roles=hat.user_roles)


def _openers(snapshot: PolicySnapshot, tool: ToolId) -> Iterator[tuple[str, Principal]]:
    somebody = _somebody(snapshot)
    for subject, grants in snapshot.grants.items():
        kind, _, name = subject.partition(":")
        if kind == "user" and _opens(grants, tool):
            yield subject, replace(somebody, name=name)
        elif kind == "group" and _opens(grants, tool):
            yield subject, replace(somebody, groups=(name,))
    for member, groups in snapshot.memberships.items():
        kind, _, name = member.partition(":")
        if kind == "user" and any(_opens(snapshot.grants.get(group), tool) for group in groups):
            yield member, replace(somebody, name=name)
    for name, role in snapshot.roles.items():
        if tool.server in role.servers or _opens(snapshot.grants.get(f"role:{name}"), tool):
            yield f"role:{name}", replace(somebody, roles=(name,))


def _opens(grants: SubjectGrants | None, tool: ToolId) -> bool:
    return grants is not None and bool(
        grants.allow.of_server(tool.server) or grants.allow.of_tool(tool)
    )


def _hats(snapshot: PolicySnapshot) -> Iterator[tuple[str, Principal]]:
    somebody = _somebody(snapshot)
    for name, rules in snapshot.roles.items():
        if rules.is_open_ended:  # one that names its servers opens them itself (R11)
            yield f"role:{name}", replace(somebody, roles=(name,))
    for role in UserRole:
        yield f"user-role:{role.value}", replace(somebody, user_roles=(role,))


def _somebody(snapshot: PolicySnapshot) -> Principal:
    return Principal(kind=PrincipalKind.USER, name="", tenant=snapshot.tenant)

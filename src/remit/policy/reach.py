"""What a caller's own rules name, for words about a list that is short or empty (R14)."""

from remit.model.principals import Principal
from remit.policy.callers import standing_of
from remit.policy.snapshot import Domain, PolicySnapshot


def named_servers(snapshot: PolicySnapshot, principal: Principal) -> tuple[str, ...]:
    """Return the servers that the rules of *principal* name, in their order, without repetition.

    A toolset names the declared servers that toolsets govern. Nothing is named for a caller of
    another tenant.
    """
    if principal.tenant != snapshot.tenant:
        return ()
    standing = standing_of(snapshot, principal)
    names: list[str] = []
    if not standing.hats.service:
        for role in standing.roles:
            names += role.servers
    if standing.type_rules is not None:
        names += standing.type_rules.servers
    if standing.hats.audience is not None:
        names += [
            name for name, server in snapshot.servers.items() if server.domain is Domain.TOOLSETS
        ]
    return tuple(dict.fromkeys(names))


def reaches_any_server(snapshot: PolicySnapshot, principal: Principal) -> bool:
    """Whether a role or the agent type of *principal* allows by a pattern that names no server."""
    if principal.tenant != snapshot.tenant:
        return False
    standing = standing_of(snapshot, principal)
    by_type = standing.type_rules
    return (by_type is not None and by_type.allow.reaches_any_server) or any(
        role.allow.reaches_any_server for role in standing.roles
    )

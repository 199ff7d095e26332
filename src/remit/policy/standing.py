"""A caller's standing: all of a principal that decisions under one snapshot depend on.

The layers see a standing and never the principal, so that a decision remembered under a standing
holds for everybody who shares it, and what is not in it can change no answer.
"""

from typing import NamedTuple

from remit.model.principals import AgentType, Principal, ServerPolicy
from remit.policy.grants import EVERYBODY, ROLE
from remit.policy.snapshot import PolicySnapshot
from remit.policy.toolsets import Audience, audience_of


class Standing(NamedTuple):
    """What a caller is to the rules of one tenant.

    Attributes:
        roles: As held, declared or not; reasons name them.
        audience: What it is to the `data` server.
        service: Whether the scope of a service key governs everything it does (R9).
        servers: What its token says of servers.
        subjects: The subjects of grants that it is.
    """

    tenant: str
    roles: tuple[str, ...]
    audience: Audience | None
    agent_type: AgentType | None
    service: bool
    servers: ServerPolicy | None
    subjects: tuple[str, ...]

    def bypasses(self, snapshot: PolicySnapshot) -> bool:
        """Whether the source's rule for administrators is switched on and means this one (R12)."""
        return snapshot.admin_bypass and self.servers is not None and self.servers.admin


def standing_of(snapshot: PolicySnapshot, principal: Principal) -> Standing:
    """Return the standing of *principal* under the rules of *snapshot*."""
    return Standing(
        principal.tenant,
        principal.roles,
        audience_of(principal.user_roles, service=principal.service),
        principal.agent_type,
        principal.service,
        principal.servers,
        _subjects(snapshot, principal) if snapshot.grants else (),
    )


def _subjects(snapshot: PolicySnapshot, principal: Principal) -> tuple[str, ...]:
    """Return the subjects that it is and that a grant is about.

    A group counts whether the token names it or the declaration lists the caller in it. A role
    counts as held: one that is not declared can still be denied something.
    """
    own = principal.subject
    candidates = (
        own,
        *(f"{ROLE}{name}" for name in principal.roles),
        *(f"group:{name}" for name in principal.groups),
        *snapshot.memberships.get(own, ()),
        EVERYBODY,
    )
    return tuple(dict.fromkeys(name for name in candidates if name in snapshot.grants))

"""A caller's standing: all of a principal that decisions under one snapshot depend on, looked up.

The layers see a standing and never the principal, so that a decision remembered under a standing
holds for everybody who shares it, and what is not in it can change no answer. What the layers would
look up for every tool is looked up here once.
"""

from dataclasses import dataclass
from typing import NamedTuple

from remit.model.decisions import LayerVerdict
from remit.model.principals import AgentType, ServerPolicy
from remit.policy.agent_types import AgentTypeRules
from remit.policy.grants import GrantList
from remit.policy.role_rules import RoleRules
from remit.policy.rules import PatternRules
from remit.policy.toolsets import Audience


class Hats(NamedTuple):
    """What a caller is to the rules of one tenant, by name; who wears the same hats shares them.

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """The rules that a caller's hats stand for. Lists without a rule are left out.

    Attributes:
        bypasses: Whether the source's rule for administrators is on and means this one (R12).
        roles: The rules of its roles; an unknown role is nothing (R11).
        role_denies: What its roles deny.
        no_role: What the ceiling says when none of its roles allows.
        type_rules: The rules of its agent type, or None when it is no agent.
        denies: What grants deny it.
        allows: What grants allow it, on servers that roles govern.
        own_allows: The same without those to its roles, which count on no other server.
    """

    hats: Hats
    bypasses: bool
    roles: tuple[RoleRules, ...]
    role_denies: tuple[PatternRules, ...]
    no_role: LayerVerdict
    type_rules: AgentTypeRules | None
    denies: tuple[GrantList, ...]
    allows: tuple[GrantList, ...]
    own_allows: tuple[GrantList, ...]

    def may_reach(self, server: str) -> bool:
        """Whether any ceiling could allow a tool of *server*; without one every tool is denied.

        It spares lists the question for each tool of each server that a caller has nothing to do
        with, and decides nothing.
        """
        return (
            self.bypasses
            or self.type_rules is not None
            or self.hats.audience is not None
            or any(role.may_reach(server) for role in self.roles)
        )

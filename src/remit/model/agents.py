"""An agent: a supervised worker, bound to its own key (R5)."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from remit.model.principals import AgentType, Principal, PrincipalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A registered agent, as it is now; its keys follow every change of it.

    Attributes:
        id: Unique in its tenant.
        role: The squad role it also acts in, or empty.
        epic: The epic it works on, or empty.
        tmux_session: Where its program runs, if whoever started that said so (S3.31).
    """

    id: str
    tenant: str
    type: AgentType
    role: str = ""
    epic: str = ""
    tmux_session: str = ""
    created: datetime

    @property
    def principal(self) -> Principal:
        """The caller that holds one of its keys: two hats, each with its own domain (R9)."""
        return Principal(
            kind=PrincipalKind.AGENT,
            name=self.id,
            tenant=self.tenant,
            agent_type=self.type,
            roles=(self.role,) if self.role else (),
        )


class KnownAgent(NamedTuple):
    """An agent with no more of it than what it may depends on.

    Attributes are those of `Agent`.
    """

    id: str
    type: AgentType
    role: str


def active_agent(principal: Principal) -> Principal | None:
    """Return the agent that is active when *principal* acts; None where none is (S3.38).

    An agent that acts for another is active itself, and the other may be gone. A caller that is
    none may run the program of the agent that it acts for.
    """
    caller = principal.caller or principal
    who = caller if caller.kind is PrincipalKind.AGENT else principal
    return who if who.kind is PrincipalKind.AGENT else None


def may_act_as(principal: Principal, agent_id: str) -> bool:
    """Whether *principal* is the agent of that id, or may act for it if its tenant has one (R26).

    A SUPERVISOR may for every agent of its tenant, a key for those that its scope names.
    """
    if agent_id in principal.act_for:
        return True
    if principal.kind is not PrincipalKind.AGENT:
        return False
    return principal.name == agent_id or principal.agent_type is AgentType.SUPERVISOR

"""Whom a call is made for, and what a caller hears of a name that means no tool (R26, S3.11)."""

from dataclasses import replace
from typing import Protocol

from remit.calls.directory import PolicySource
from remit.errors import AgentNotFound, BadCall, CallDenied
from remit.model.agents import Agent, may_act_as
from remit.model.calls import Call
from remit.model.principals import Principal, PrincipalKind
from remit.policy.engine import may_name
from remit.upstreams.names import readings

_PREFIX = "mcp__"


class AgentSource(Protocol):
    """Where agents are found."""

    async def find(self, tenant: str, agent_id: str, /) -> Agent | None:
        """Return the agent as it is now, or None."""
        ...


class Acting:
    """Who acts, where a caller says for which agent.

    Args:
        agents: Those of every tenant.
        policies: The rules of one.
    """

    def __init__(self, agents: AgentSource, policies: PolicySource) -> None:
        self._agents = agents
        self._policies = policies

    async def agent_of(
        self, principal: Principal, agent_id: str | None, tool: str
    ) -> Principal | None:
        """Return the agent that *principal* acts for by naming it; None where it is that itself.

        A caller that may not act for it does not hear whether there is such an agent.

        Raises:
            BadCall: An agent does not say which one it is.
            CallDenied: It may not act for that agent.
            AgentNotFound: It might, but there is none.
        """
        is_agent = principal.kind is PrincipalKind.AGENT
        if agent_id is None:
            if is_agent:
                raise BadCall("agentId is missing: an agent says which one acts, mostly itself")
            return None
        if is_agent and agent_id == principal.name:
            return None
        if not may_act_as(principal, agent_id):
            raise CallDenied(
                f"{principal.subject} may not act for agent {agent_id[:80]!r}", tool=tool
            )
        agent = await self._agents.find(principal.tenant, agent_id)
        if agent is None:
            raise AgentNotFound(f"there is no agent {agent_id[:80]!r}")
        return replace(agent.principal, caller=principal)

    def may_name(self, call: Call) -> bool:
        """Whether a call whose name means no tool may hear so (S3.11)."""
        name = call.requested
        snapshot = self._policies.snapshot
        found = readings(name, snapshot.servers)
        spelling = name if name.startswith(_PREFIX) else _PREFIX + name
        whose = (call.principal,) if call.agent is None else (call.principal, call.agent)
        return all(may_name(snapshot, one, spelling, found) for one in whose)

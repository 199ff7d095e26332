"""Registering and changing agents."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from remit.admin.names import require_agent_id, require_role
from remit.errors import BadCall, NotFound
from remit.model.agents import Agent
from remit.model.principals import AgentType
from remit.model.roles import Role

LONGEST_EPIC: Final = 128


class AgentStore(Protocol):
    """Where agents are kept."""

    async def add(self, agent: Agent) -> None:
        """Store a new agent."""
        ...

    async def change(self, agent: Agent) -> None:
        """Make the agent of that id what *agent* says."""
        ...

    async def find(self, tenant: str, agent_id: str) -> Agent | None:
        """Return the agent as it is now, or None."""
        ...

    async def all_agents(self, tenant: str) -> Sequence[Agent]:
        """Return every agent of *tenant*, by id."""
        ...


def check_agent(
    agent_id: str,
    *,
    tenant: str,
    type_name: str,
    now: datetime,
    role: str = "",
    epic: str = "",
    roles: Mapping[str, Role],
) -> Agent:
    """Return the agent that these words describe; `add` or `change` stores it.

    Raises:
        BadCall: Id, type or epic do not do; the text says what does.
        NotFound: The role is not declared; the text names those that are.
    """
    require_agent_id(agent_id)
    types = {member.value: member for member in AgentType}
    if type_name.upper() not in types:
        raise BadCall(f"an agent's type is one of {', '.join(types)}, not {type_name[:80]!r}")
    if role:
        require_role(role, roles)
    if len(epic) > LONGEST_EPIC or not epic.isprintable():
        raise BadCall(f"an epic is named by up to {LONGEST_EPIC} printable characters")
    return Agent(
        id=agent_id,
        tenant=tenant,
        type=types[type_name.upper()],
        role=role,
        epic=epic,
        created=now,
    )


async def get_agent(store: AgentStore, tenant: str, agent_id: str) -> Agent:
    """Return the agent of that id.

    Raises:
        NotFound: There is none; the text names those that there are.
    """
    agent = await store.find(tenant, agent_id)
    if agent is None:
        known = ", ".join(each.id for each in await store.all_agents(tenant)) or "none"
        raise NotFound(
            f"there is no agent {agent_id[:80]!r}; agents: {known};"
            " `remit agents create` registers one"
        )
    return agent


async def registered(store: AgentStore, tenant: str, agent_ids: Sequence[str]) -> Sequence[str]:
    """Return ids that all are those of agents of *tenant*.

    Raises:
        NotFound: One is not; the text names those that there are.
    """
    return [(await get_agent(store, tenant, each)).id for each in dict.fromkeys(agent_ids)]

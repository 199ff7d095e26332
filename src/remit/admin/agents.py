"""Registering and changing agents."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from remit.admin.names import MOST_TOLD, require_agent_id, require_role, told
from remit.calls.ids import new_id
from remit.errors import BadCall, NotFound
from remit.model.agents import Agent
from remit.model.crew import CrewEvent, Epic, Member
from remit.model.crew_events import agent_created
from remit.model.principals import AgentType
from remit.model.roles import Role

LONGEST_EPIC: Final = 128
LONGEST_SESSION: Final = 128


class AgentStore(Protocol):
    """Where agents are kept."""

    async def add(self, agent: Agent, told: CrewEvent | None = None) -> None:
        """Store a new agent, with the event that tells of it."""
        ...

    async def change(self, agent: Agent, *, seen: Agent) -> None:
        """Make the agent of that id, which was *seen* before, what *agent* says.

        Raises:
            Outdated: It is something else now.
        """
        ...

    async def find(self, tenant: str, agent_id: str) -> Agent | None:
        """Return the agent as it is now, or None."""
        ...

    async def agents_after(self, tenant: str, after: str | None, limit: int) -> Sequence[Agent]:
        """Return agents of *tenant* by id, at most *limit*, those behind an id alone."""
        ...

    async def count(self, tenant: str) -> int:
        """Return how many agents *tenant* has."""
        ...


class CrewStore(Protocol):
    """Where the work of agents is kept."""

    async def find_member(self, tenant: str, agent_id: str) -> Member | None:
        """Return a registered agent at its work, or None."""
        ...

    async def find_epic(self, tenant: str, epic_id: str) -> Epic | None:
        """Return an epic, or None."""
        ...


def check_agent(
    agent_id: str,
    *,
    tenant: str,
    type_name: str,
    now: datetime,
    role: str = "",
    epic: str = "",
    tmux_session: str = "",
    roles: Mapping[str, Role],
) -> Agent:
    """Return the agent that these words describe; `add` or `change` stores it.

    Raises:
        BadCall: Id, type, epic or session do not do; the text says what does.
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
    if len(tmux_session) > LONGEST_SESSION or not tmux_session.isprintable():
        raise BadCall(f"a tmux session has a name of up to {LONGEST_SESSION} printable characters")
    return Agent(
        id=agent_id,
        tenant=tenant,
        type=types[type_name.upper()],
        role=role,
        epic=epic,
        tmux_session=tmux_session,
        created=now,
    )


async def register(store: AgentStore, agent: Agent) -> None:
    """Store a new agent, and tell of it (S3.30).

    Raises:
        Conflict: An agent of that id exists, or its epic has an orchestrator.
    """
    await store.add(agent, agent_created(agent, new_id()))


async def notes_on(crew: CrewStore, agent: Agent) -> Sequence[str]:
    """Return what does not go together in an agent as it is now, a sentence each.

    None of it is refused: an agent may be registered before its epic is made, and whoever changes
    its type may give its task to another afterwards.
    """
    if agent.type is AgentType.WORKER:
        return ()
    notes: list[str] = []
    if agent.epic and await crew.find_epic(agent.tenant, agent.epic) is None:
        notes.append(
            f"there is no epic {agent.epic!r}, so that {agent.id!r} runs none until there is;"
            " `epic/create` makes one and gives its id"
        )
    member = await crew.find_member(agent.tenant, agent.id)
    if member is not None and member.task:
        notes.append(
            f"{agent.id!r} still has the task {member.task!r}, on which only a WORKER works;"
            " `supervisor/reassign_task` gives it to another"
        )
    return notes


async def get_agent(store: AgentStore, tenant: str, agent_id: str) -> Agent:
    """Return the agent of that id.

    Raises:
        NotFound: There is none; the text names those that there are.
    """
    agent = await store.find(tenant, agent_id)
    if agent is None:
        raise NotFound(
            f"there is no agent {agent_id[:80]!r}; agents: {await told_agents(store, tenant)};"
            " `remit agents create` registers one"
        )
    return agent


async def told_agents(store: AgentStore, tenant: str) -> str:
    """Return the agents of *tenant* for a message."""
    some = await store.agents_after(tenant, None, MOST_TOLD)
    return told((agent.id for agent in some), await store.count(tenant))


async def registered(store: AgentStore, tenant: str, agent_ids: Sequence[str]) -> Sequence[str]:
    """Return ids that all are those of agents of *tenant*.

    Raises:
        NotFound: One is not; the text names those that there are.
    """
    return [(await get_agent(store, tenant, each)).id for each in dict.fromkeys(agent_ids)]

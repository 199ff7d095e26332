"""Registered agents as rows."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Row, func, select, update

from remit.errors import Conflict, Outdated
from remit.model.agents import Agent, KnownAgent
from remit.model.crew import AgentState, CrewEvent
from remit.model.principals import AgentType
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.crew_events import add_events, await_turn
from remit.storage.database import LONGEST_LOOK, Database
from remit.storage.dialects import insert, page_of, take_turn
from remit.storage.epochs import bump
from remit.storage.tables import agents, crew_agents
from remit.storage.versions import add_new

_ORCHESTRATORS: Final = 0x6F726368  # any number that every remit agrees on: "orch"

_AGENTS: Final = select(agents, crew_agents.c.tmux_session).select_from(
    agents.outerjoin(
        crew_agents, (crew_agents.c.tenant == agents.c.tenant) & (crew_agents.c.id == agents.c.id)
    )
)


class Agents:
    """The agents of every tenant; a change counts as one of keys, since keys follow it (R17)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, agent: Agent, told: CrewEvent | None = None) -> None:
        """Store a new agent, with the event that tells of it.

        Raises:
            Conflict: An agent of that id exists, or its epic has an orchestrator.
        """
        try:
            async with self._database.writing() as connection:
                await register(connection, agent)
                if told is not None:
                    await await_turn(connection)
                    await add_events(connection, [told])
        except Outdated as problem:
            raise Conflict(str(problem)) from None

    async def change(self, agent: Agent, *, seen: Agent) -> None:
        """Make the agent of that id what *agent* says; when it was created stays as it is.

        Args:
            agent: What it is to be.
            seen: What it was when whoever changes it looked.

        Raises:
            Outdated: It is something else now, or there is none.
            Conflict: Its epic has another orchestrator.
        """
        values = agent_values(agent)
        del values["created"]
        there = [agents.c[name] == value for name, value in agent_values(seen).items()]
        statement = update(agents).where(*there).values(values).returning(agents.c.id)
        async with self._database.writing() as connection:
            other = await _other_orchestrator(connection, agent)
            if other is not None:
                raise Conflict(other)
            session = await _session_of(connection, agent)  # in the order of `crew_changes.py`
            await _set_session(connection, agent)
            changed = (await connection.execute(statement)).one_or_none()
            if changed is None or session != seen.tmux_session:
                raise Outdated(f"somebody changed agent {agent.id!r} meanwhile")
            await bump(connection, agent.tenant, "keys")

    async def find(self, tenant: str, agent_id: str) -> Agent | None:
        """Return the agent as it is now, or None."""
        query = _AGENTS.where(agents.c.tenant == tenant, agents.c.id == agent_id)
        async with self._database.reading(within=LONGEST_LOOK) as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else _agent(row)

    async def all_agents(self, tenant: str) -> Sequence[Agent]:
        """Return every agent of *tenant*, by id."""
        query = _AGENTS.where(agents.c.tenant == tenant)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        return sorted((_agent(row) for row in rows), key=lambda agent: agent.id)

    async def agents_after(self, tenant: str, after: str | None, limit: int) -> Sequence[Agent]:
        """Return agents of *tenant* by id, at most *limit*, those behind an id alone."""
        query = _AGENTS.where(agents.c.tenant == tenant)
        async with self._database.reading() as connection:
            page = page_of(query, connection, agents.c.id, after, limit)
            rows = (await connection.execute(page)).all()
        return [_agent(row) for row in rows]

    async def count(self, tenant: str) -> int:
        """Return how many agents *tenant* has."""
        query = select(func.count()).where(agents.c.tenant == tenant)
        async with self._database.reading() as connection:
            return (await connection.execute(query)).scalar_one()

    async def known(self, tenant: str) -> Sequence[KnownAgent]:
        """Return every agent of *tenant*, by id, with no more than is read fast of thousands."""
        query = select(agents.c.id, agents.c.type, agents.c.role).where(agents.c.tenant == tenant)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        types = {each.value: each for each in AgentType}
        return [
            KnownAgent(agent_id, types[of_type], role)
            for agent_id, of_type, role in sorted(map(tuple, rows))
        ]


async def register(connection: AsyncConnection, agent: Agent) -> None:
    """Write a new agent in the transaction of *connection*, which must be undone on an error.

    Raises:
        Outdated: An agent of that id exists, or its epic has an orchestrator; the text says which.
    """
    other = await _other_orchestrator(connection, agent)
    if other is not None:
        raise Outdated(other)
    try:
        await add_new(connection, agents, [agent_values(agent)])
    except Outdated:
        raise Outdated(f"an agent {agent.id!r} exists already") from None
    await _set_session(connection, agent)
    await bump(connection, agent.tenant, "keys")


async def _other_orchestrator(connection: AsyncConnection, agent: Agent) -> str | None:
    """Return that the agent's epic has another orchestrator, if it is to be one (S3.31).

    Nobody else finds out about another one meanwhile; that ends with the transaction.
    """
    if agent.type is not AgentType.ORCHESTRATOR or not agent.epic:
        return None
    await connection.run_sync(take_turn, _ORCHESTRATORS)
    query = select(agents.c.id).where(
        agents.c.tenant == agent.tenant,
        agents.c.type == AgentType.ORCHESTRATOR.value,
        agents.c.epic == agent.epic,
        agents.c.id != agent.id,
    )
    found = (await connection.execute(query.limit(1))).scalar_one_or_none()
    return None if found is None else f"epic {agent.epic!r} has an orchestrator already, {found!r}"


async def _session_of(connection: AsyncConnection, agent: Agent) -> str:
    """Return where the agent's program runs, as nobody else changes it meanwhile."""
    columns = crew_agents.c
    query = select(columns.tmux_session).where(
        columns.tenant == agent.tenant, columns.id == agent.id
    )
    return (await connection.execute(query.with_for_update())).scalar_one_or_none() or ""


async def _set_session(connection: AsyncConnection, agent: Agent) -> None:
    """Write where the agent's program runs, if that is news (S3.31)."""
    session, columns = agent.tmux_session, crew_agents.c
    is_news = columns.tmux_session != session
    change = {"tmux_session": session, "version": columns.version + 1}
    if not session:
        place = (columns.tenant == agent.tenant) & (columns.id == agent.id)
        await connection.execute(update(crew_agents).where(place, is_news).values(change))
        return
    fresh = insert(connection, crew_agents).values(
        tenant=agent.tenant,
        id=agent.id,
        state=AgentState.IDLE.value,
        task="",
        paused="",
        tmux_session=session,
        crashes=0,
        updated=agent.created,
        version=1,
    )
    await connection.execute(
        fresh.on_conflict_do_update(index_elements=["tenant", "id"], set_=change, where=is_news)
    )


def agent_values(agent: Agent) -> dict[str, object]:
    """Return the row of *agent*."""
    return {
        "tenant": agent.tenant,
        "id": agent.id,
        "type": agent.type.value,
        "role": agent.role,
        "epic": agent.epic,
        "created": agent.created,
    }


def _agent(row: Row[Any]) -> Agent:
    return Agent(
        id=row.id,
        tenant=row.tenant,
        type=AgentType(row.type),
        role=row.role,
        epic=row.epic,
        tmux_session=row.tmux_session or "",
        created=row.created,
    )

"""Registered agents as rows."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from remit.errors import Conflict, NotFound
from remit.model.agents import Agent
from remit.model.principals import AgentType
from remit.storage.database import Database
from remit.storage.epochs import bump
from remit.storage.tables import agents


class Agents:
    """The agents of every tenant; a change counts as one of keys, since keys follow it (R17)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, agent: Agent) -> None:
        """Store a new agent.

        Raises:
            Conflict: An agent of that id exists.
        """
        try:
            async with self._database.writing() as connection:
                await connection.execute(insert(agents).values(agent_values(agent)))
                await bump(connection, agent.tenant, "keys")
        except IntegrityError:
            raise Conflict(f"an agent {agent.id!r} exists already") from None

    async def change(self, agent: Agent) -> None:
        """Make the agent of that id what *agent* says; when it was created stays as it is.

        Raises:
            NotFound: There is none.
        """
        values = agent_values(agent)
        del values["created"]
        statement = (
            update(agents)
            .where(agents.c.tenant == agent.tenant, agents.c.id == agent.id)
            .values(values)
            .returning(agents.c.id)
        )
        async with self._database.writing() as connection:
            if (await connection.execute(statement)).one_or_none() is None:
                raise NotFound(f"there is no agent {agent.id!r}")
            await bump(connection, agent.tenant, "keys")

    async def find(self, tenant: str, agent_id: str) -> Agent | None:
        """Return the agent as it is now, or None."""
        query = select(agents).where(agents.c.tenant == tenant, agents.c.id == agent_id)
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else _agent(row)

    async def all_agents(self, tenant: str) -> Sequence[Agent]:
        """Return every agent of *tenant*, by id."""
        query = select(agents).where(agents.c.tenant == tenant)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        return sorted((_agent(row) for row in rows), key=lambda agent: agent.id)


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
        created=row.created,
    )

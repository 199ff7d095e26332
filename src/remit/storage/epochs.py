"""Counters that tell a running gateway that another process changed something (R17)."""

import math
from collections.abc import Mapping
from typing import Final, Literal

from sqlalchemy import select, text

from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.database import Database
from remit.storage.dialects import insert
from remit.storage.notices import CHANNEL
from remit.storage.tables import epochs

Topic = Literal["keys", "revisions", "tenants"]
"""What a counter counts the changes of."""

_RESTART: Final = "restart:"


class Epochs:
    """The counters of every tenant; one cheap read each time somebody asks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self, *, within: float = math.inf) -> Mapping[tuple[str, str], int]:
        """Return tenant and topic to number of changes so far; another number means a change.

        Args:
            within: Seconds that it may take.

        Raises:
            StorageUnavailable: The database cannot be read, or not in that time. With PostgreSQL
                the connection is not used again: it may be dead, and the store alive.
        """
        query = select(epochs.c.tenant, epochs.c.topic, epochs.c.value)
        async with self._database.reading(within=within) as connection:
            rows = (await connection.execute(query)).all()
        return {(row.tenant, row.topic): row.value for row in rows}

    async def count_restart(self, tenant: str, server: str) -> int:
        """Let every gateway restart a server; returns how often that was asked for by now.

        Raises:
            StorageUnavailable: The others cannot be told.
        """
        async with self._database.writing() as connection:
            return await _count(connection, tenant, f"{_RESTART}{server}")


def restarted_server(topic: str) -> str:
    """Return the server whose restarts are counted under *topic*; empty for other topics."""
    return topic.removeprefix(_RESTART) if topic.startswith(_RESTART) else ""


async def bump(connection: AsyncConnection, tenant: str, topic: Topic) -> None:
    """Count a change, in the transaction that makes it; PostgreSQL tells of it at its commit."""
    await _count(connection, tenant, topic)


async def _count(connection: AsyncConnection, tenant: str, topic: str) -> int:
    statement = insert(connection, epochs).values(tenant=tenant, topic=topic, value=1)
    counted = statement.on_conflict_do_update(
        index_elements=["tenant", "topic"], set_={"value": epochs.c.value + 1}
    ).returning(epochs.c.value)
    value = (await connection.execute(counted)).scalar_one()
    if connection.dialect.name == "postgresql":
        await connection.execute(text(f"NOTIFY {CHANNEL}"))
    return value

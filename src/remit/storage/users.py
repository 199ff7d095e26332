"""Disabled users as rows: users themselves live with their issuers."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import delete, select

from remit.storage.database import LONGEST_LOOK, Database
from remit.storage.dialects import insert, page_of
from remit.storage.epochs import bump
from remit.storage.tables import disabled_users


class Users:
    """Who may not come in, by tenant and name, whoever vouches for them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def disable(self, tenant: str, name: str, now: datetime) -> None:
        """Keep a user out; one that is disabled already stays so, since when it was."""
        async with self._database.writing() as connection:
            statement = insert(connection, disabled_users).values(
                tenant=tenant, name=name, since=now
            )
            await connection.execute(
                statement.on_conflict_do_nothing(index_elements=["tenant", "name"])
            )
            await bump(connection, tenant, "keys")

    async def enable(self, tenant: str, name: str) -> bool:
        """Let a user in again; False when it was not disabled."""
        statement = (
            delete(disabled_users)
            .where(disabled_users.c.tenant == tenant, disabled_users.c.name == name)
            .returning(disabled_users.c.name)
        )
        async with self._database.writing() as connection:
            if (await connection.execute(statement)).one_or_none() is None:
                return False
            await bump(connection, tenant, "keys")
        return True

    async def is_disabled(self, tenant: str, name: str) -> bool:
        """Whether that user is kept out."""
        query = select(disabled_users.c.name).where(
            disabled_users.c.tenant == tenant, disabled_users.c.name == name
        )
        async with self._database.reading(within=LONGEST_LOOK) as connection:
            return (await connection.execute(query)).one_or_none() is not None

    async def all_disabled(self, tenant: str) -> Mapping[str, datetime]:
        """Return name to since when, by name."""
        query = select(disabled_users.c.name, disabled_users.c.since).where(
            disabled_users.c.tenant == tenant
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        return dict(sorted(map(tuple, rows)))

    async def disabled_since(self, tenant: str, name: str) -> datetime | None:
        """Return since when that user is kept out; None when it is not."""
        query = select(disabled_users.c.since).where(
            disabled_users.c.tenant == tenant, disabled_users.c.name == name
        )
        async with self._database.reading() as connection:
            return (await connection.execute(query)).scalar_one_or_none()

    async def disabled_after(
        self, tenant: str, after: str | None, limit: int
    ) -> Mapping[str, datetime]:
        """Return the same as `all_disabled`, at most *limit*, those behind a name alone."""
        query = select(disabled_users.c.name, disabled_users.c.since).where(
            disabled_users.c.tenant == tenant
        )
        async with self._database.reading() as connection:
            page = page_of(query, connection, disabled_users.c.name, after, limit)
            rows = (await connection.execute(page)).all()
        return {row.name: row.since for row in rows}

"""Tenants as rows; what belongs to one carries its name."""

from collections.abc import Sequence

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from remit.errors import Conflict
from remit.model.tenants import Tenant
from remit.storage.database import Database
from remit.storage.epochs import bump
from remit.storage.tables import tenants


class Tenants:
    """Every tenant of the installation; `default` is there from the start."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, tenant: Tenant) -> None:
        """Store a new tenant.

        Raises:
            Conflict: A tenant of that name exists.
        """
        row = {"name": tenant.name, "uuid": tenant.uuid, "created": tenant.created}
        try:
            async with self._database.writing() as connection:
                await connection.execute(insert(tenants).values(row))
                await bump(connection, tenant.name, "tenants")
        except IntegrityError:
            raise Conflict(f"a tenant {tenant.name!r} exists already") from None

    async def all_tenants(self) -> Sequence[Tenant]:
        """Return every tenant, oldest first; `default` is always there."""
        query = select(tenants).order_by(tenants.c.created, tenants.c.name)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        return [Tenant(uuid=row.uuid, name=row.name, created=row.created) for row in rows]

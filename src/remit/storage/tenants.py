"""Tenants as rows; what belongs to one carries its name."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import func, insert, select

from remit.errors import Conflict
from remit.model.tenants import Tenant
from remit.storage.database import Database
from remit.storage.dialects import take_turn
from remit.storage.epochs import bump
from remit.storage.tables import tenants

_ONE_AT_A_TIME: Final = 0x74656E616E74  # any number that every remit agrees on: "tenant"


class Tenants:
    """Every tenant of the installation; `default` is there from the start."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, tenant: Tenant) -> None:
        """Store a new tenant.

        Raises:
            Conflict: A tenant of that name exists, in whatever case its letters are.
        """
        row = {"name": tenant.name, "uuid": tenant.uuid, "created": tenant.created}
        names = select(tenants.c.name)
        alike = names.where(func.lower(tenants.c.name) == tenant.name.lower())
        async with self._database.writing() as connection:
            await connection.run_sync(take_turn, _ONE_AT_A_TIME)
            for taken in (await connection.execute(alike)).scalars():
                raise Conflict(
                    f"a tenant {taken!r} exists already;"
                    " choose a name that differs in more than letter case"
                )
            await connection.execute(insert(tenants).values(row))
            await bump(connection, tenant.name, "tenants")

    async def all_tenants(self) -> Sequence[Tenant]:
        """Return every tenant, oldest first; `default` is always there."""
        query = select(tenants).order_by(tenants.c.created, tenants.c.name)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        return [Tenant(uuid=row.uuid, name=row.name, created=row.created) for row in rows]

"""Work that one of all processes over the database does at a time."""

from datetime import datetime

from sqlalchemy import Column, ColumnElement, or_

from remit.storage.database import Database
from remit.storage.dialects import insert
from remit.storage.tables import leases


class Leases:
    """Who does what, and for how long nobody else does it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, name: str, holder: str, *, now: datetime, until: datetime) -> bool:
        """Whether *holder* does the work of that name from now until then."""
        async with self._database.writing() as connection:
            statement = insert(connection, leases).values(name=name, holder=holder, until=until)
            taken = statement.on_conflict_do_update(
                index_elements=["name"],
                set_={"holder": holder, "until": until},
                where=or_(leases.c.holder == holder, is_over(leases.c.until, now, until)),
            ).returning(leases.c.name)
            return (await connection.execute(taken)).one_or_none() is not None


def is_over(ends: Column[datetime], now: datetime, until: datetime) -> ColumnElement[bool]:
    """Return whether a lease that ends then holds nobody up who wants one from now until *until*.

    One that lasts more than twice as long comes from a clock that was ahead.
    """
    return or_(ends <= now, ends > until + (until - now))

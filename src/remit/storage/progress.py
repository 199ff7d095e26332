"""How far each journal is in the database.

It is committed together with the events, so that whoever takes over a dead process's journal
begins where that one ended: a row that retention has removed since does not come back.
"""

from collections.abc import Collection

from sqlalchemy import case, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remit.storage.dialects import insert
from remit.storage.tables import audit_journals


async def taken_of(connection: AsyncConnection, name: str) -> int:
    """Return how many bytes of the journal *name* are in the database."""
    query = select(audit_journals.c.taken).where(audit_journals.c.name == name)
    return (await connection.execute(query)).scalar_one_or_none() or 0


async def note_taken(connection: AsyncConnection, name: str, end: int) -> None:
    """Note that the first *end* bytes are in it; never less than before."""
    statement = insert(connection, audit_journals).values(name=name, taken=end)
    new, old = statement.excluded.taken, audit_journals.c.taken
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=["name"], set_={"taken": case((new > old, new), else_=old)}
        )
    )


async def forget_journals(connection: AsyncConnection, names: Collection[str]) -> None:
    """Forget journals that are deleted."""
    await connection.execute(delete(audit_journals).where(audit_journals.c.name.in_(names)))

"""How far each journal is in the database.

It is committed together with the events, so that whoever takes over a dead process's journal
begins where that one ended: a row that retention has removed since does not come back.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, case, delete, select, text

from remit.storage.dialects import insert
from remit.storage.tables import audit_journals
from remit.storage.texts import storable

# both databases read it, and every batch does it: making it anew takes longer than doing it
_MOVE_ON: Final = text(
    "INSERT INTO audit_journals (name, taken) VALUES (:name, :end) ON CONFLICT (name) "
    "DO UPDATE SET taken = excluded.taken WHERE audit_journals.taken = :start"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Bytes of the journal *name*, from *start* to *end*; whole lines."""

    name: str
    start: int
    end: int


def taken_of(connection: Connection, name: str) -> int:
    """Return how many bytes of the journal *name* are in the database."""
    query = select(audit_journals.c.taken).where(audit_journals.c.name == name)
    return connection.execute(query).scalar_one_or_none() or 0


def is_next(connection: Connection, stretch: Stretch) -> bool:
    """Note that *stretch* is in the database, if all before it is and nothing of it; say whether.

    Nobody can have taken it then: whoever takes lines notes so in the same transaction.
    """
    values = {"name": storable(stretch.name), "start": stretch.start, "end": stretch.end}
    return connection.execute(_MOVE_ON, values).rowcount == 1


def note_taken(connection: Connection, stretch: Stretch) -> None:
    """Note that all up to the end of *stretch* is in it; never less than before."""
    statement = insert(connection, audit_journals).values(name=stretch.name, taken=stretch.end)
    new, old = statement.excluded.taken, audit_journals.c.taken
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["name"], set_={"taken": case((new > old, new), else_=old)}
        )
    )


def forget_journals(connection: Connection, names: Collection[str]) -> None:
    """Forget journals that are deleted."""
    connection.execute(delete(audit_journals).where(audit_journals.c.name.in_(names)))

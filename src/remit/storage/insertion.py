"""Audit events become rows: numbered, chained, and spelled as both databases take them.

All of it runs between two statements of a transaction, so it works on SQLAlchemy's plain
connections, as `run_sync` lends one.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from msgspec.structs import astuple
from sqlalchemy import Connection, insert, select
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import StatementError

from remit.model.events import AuditEvent
from remit.storage.chain import (
    FIELDS,
    Head,
    canonical_time,
    hash_of,
    hashed_text,
    heads_of,
    save_heads,
)
from remit.storage.dialects import take_turn
from remit.storage.own_thread import give_way
from remit.storage.tables import JsonText, StorableText, audit_events
from remit.storage.texts import storable, storable_json

_INSERTED: Final = (*FIELDS, "link", "hash")
_KIND: Final = FIELDS.index("kind")
_TIME: Final = FIELDS.index("time")
_MS: Final = FIELDS.index("ms")
_SPELLINGS: Final[Sequence[tuple[int, Callable[[str], str]]]] = [
    (index, storable if isinstance(kind, StorableText) else storable_json)
    for index, kind in enumerate(audit_events.c[name].type for name in FIELDS)
    if isinstance(kind, StorableText | JsonText)
]
_PLACES: Final = "(" + ", ".join("?" * len(_INSERTED)) + ")"
_ESCAPE: Final = rb"\u"
_ROWS: Final = (100, 10)
"""Rows in one statement, most first; four hundred would be 6 % cheaper, and take 5 MB for ever."""

_ONE_AT_A_TIME: Final = 0x6175646974  # any number that every remit agrees on: "audit"

_Ends = dict[str, tuple[int, str]]
"""The last link of each tenant's chain, and its hash; a row makes one."""


def insert_events(
    connection: Connection,
    events: Sequence[AuditEvent],
    *,
    are_new: Callable[[], bool] = lambda: False,
) -> None:
    """Add *events* to the chains of their tenants; one that is there already stays as it is.

    Args:
        connection: In a write transaction.
        events: In the order in which they are numbered.
        are_new: Called when nobody else can insert any more: whether none of them can be there,
            which spares asking for each.

    Raises:
        sqlalchemy.exc.IntegrityError: One of them is there although they are said to be new.
        sqlalchemy.exc.StatementError: One of them does not fit the table.
        OverflowError: Likewise.
    """
    if not events:
        return
    # in turn, so that a row that is seen later never has a lower number (`after` relies on it)
    # and two writers never continue one chain
    take_turn(connection, _ONE_AT_A_TIME)
    fresh = events if are_new() else _unknown(connection, events)
    if not fresh:
        return
    insertion = _insertion(connection.dialect)
    heads = heads_of(connection, {*map(storable, {event.tenant for event in fresh})})
    ends: _Ends = {tenant: (head.length, head.hash) for tenant, head in heads.items()}
    for statement, some in insertion.batches(fresh):
        try:
            parameters = insertion.parameters(some, ends)
        except ValueError as error:
            raise StatementError(str(error), statement, None, error) from error
        connection.exec_driver_sql(statement, parameters)
        if len(some) == _ROWS[0]:
            give_way(connection)
    save_heads(
        connection,
        {tenant: Head(length=length, hash=digest) for tenant, (length, digest) in ends.items()},
    )


def _unknown(connection: Connection, events: Sequence[AuditEvent]) -> Sequence[AuditEvent]:
    """Return the first event of each id that is not in the table yet."""
    by_id: dict[str, AuditEvent] = {}
    for event in events:
        by_id.setdefault(event.id, event)
    query = select(audit_events.c.id).where(audit_events.c.id.in_(by_id))
    for row in connection.execute(query):
        del by_id[row.id]
    return list(by_id.values())


class _Insertion:
    """One insert, compiled once and bound by hand.

    SQLAlchemy's own binding takes several times as long as the database does. On SQLite many rows
    go into one statement: its driver gives up the interpreter's lock at every execution, and a
    busy gateway would take it from the writer at every row.
    """

    def __init__(self, dialect: Dialect) -> None:
        placed = insert(audit_events).values(dict.fromkeys(_INSERTED)).inline()
        self._one = str(placed.compile(dialect=dialect, column_keys=list(_INSERTED)))
        self._is_sqlite = dialect.name == "sqlite"
        before, _, after = self._one.partition(_PLACES)
        self._many = {rows: before + ", ".join([_PLACES] * rows) + after for rows in _ROWS}

    def batches(self, events: Sequence[AuditEvent]) -> Iterator[tuple[str, Sequence[AuditEvent]]]:
        """Give statements, and the events that each of them inserts."""
        start = 0
        if self._is_sqlite:
            for size, statement in self._many.items():
                while len(events) - start >= size:
                    yield statement, events[start : start + size]
                    start += size
        if start < len(events):
            yield self._one, events[start:]

    def parameters(self, events: Sequence[AuditEvent], ends: _Ends) -> Any:
        """Return the parameters of *events* as the next of their chains; makes the chains longer.

        Raises:
            ValueError: One of them has a time without a zone, or a text without UTF-8.
        """
        rows = [self._row(event, ends) for event in events]
        if not self._is_sqlite:
            return [dict(zip(_INSERTED, row, strict=True)) for row in rows]
        return tuple(chain.from_iterable(rows)) if len(rows) in self._many else rows

    def _row(self, event: AuditEvent, ends: _Ends) -> tuple[Any, ...]:
        moment = event.time
        if moment.tzinfo is None:
            raise ValueError(f"a time needs its zone: {moment!r}")
        moment = moment.astimezone(UTC)
        values: list[Any] = list(astuple(event))
        values[_KIND] = str(event.kind)
        values[_TIME] = time = canonical_time(moment)
        values[_MS] = float(event.ms)
        tenant = event.tenant if event.tenant in ends else storable(event.tenant)
        length, previous = ends[tenant]
        link = length + 1
        try:
            text = hashed_text(link, values)
        except UnicodeEncodeError:
            text = _ESCAPE
        if _ESCAPE in text:  # how JSON spells whatever cannot be stored, and little else
            for index, spell in _SPELLINGS:
                if values[index] is not None:
                    values[index] = spell(values[index])
            text = hashed_text(link, values)
        digest = hash_of(previous, text)
        ends[tenant] = (link, digest)
        # SQLite keeps times as SQLAlchemy spells them: a space, and no zone
        values[_TIME] = f"{time[:10]} {time[11:26]}" if self._is_sqlite else moment
        return (*values, link, digest)


_insertion = lru_cache(_Insertion)

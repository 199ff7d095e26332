"""Audit events as rows, and the questions people ask of them."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Select, exists, func, literal, or_, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import StatementError
from sqlalchemy.ext.asyncio import AsyncConnection

from remit.errors import BadCall
from remit.model.events import AuditEvent, AuditQuery, EventKind
from remit.storage.tables import JsonText, StorableText, audit_events
from remit.storage.texts import storable, storable_json

_FIELDS: Final = AuditEvent.__struct_fields__
_COLUMNS: Final = [audit_events.c[name] for name in _FIELDS]
_PLACES: Final = "(" + ", ".join("?" * len(_FIELDS)) + ")"
_ROWS: Final = (100, 10)
"""Rows in one statement, most first; SQLite takes some 32,000 values in it."""

_ONE_AT_A_TIME: Final = 0x6175646974  # any number that every remit agrees on: "audit"


async def insert_events(connection: AsyncConnection, events: Sequence[AuditEvent]) -> None:
    """Add *events*; one that is there already stays as it is.

    Raises:
        sqlalchemy.exc.StatementError: One of them does not fit the table.
        OverflowError: Likewise, on SQLite.
    """
    if connection.dialect.name == "postgresql":
        # in turn, so that a row that is seen later never has a lower number: `after` relies on it
        await connection.execute(text(f"SELECT pg_advisory_xact_lock({_ONE_AT_A_TIME})"))
    insertion = _insertion(connection.dialect)
    try:
        rows = [insertion.bind(event) for event in events]
    except ValueError as error:
        raise StatementError(str(error), insertion.one, None, error) from error
    for statement, parameters in insertion.batches(rows):
        await connection.exec_driver_sql(statement, parameters)


class _Insertion:
    """One insert, compiled once and bound by hand.

    SQLAlchemy's own binding takes several times as long as the database does. On SQLite many rows
    go into one statement: its driver gives up the interpreter's lock at every execution, and a
    busy gateway would take it from the writer at every row.
    """

    def __init__(self, dialect: Dialect) -> None:
        insert = postgresql.insert if dialect.name == "postgresql" else sqlite.insert
        placed = insert(audit_events).values(dict.fromkeys(_FIELDS)).inline()
        once = placed.on_conflict_do_nothing(index_elements=["id"])
        self.one = str(once.compile(dialect=dialect, column_keys=list(_FIELDS)))
        self._positional = dialect.positional
        self._binds = [(name, _bind_of(name, dialect)) for name in _FIELDS]
        before, _, after = self.one.partition(_PLACES)
        self._many = {rows: before + ", ".join([_PLACES] * rows) + after for rows in _ROWS}

    def bind(self, event: AuditEvent) -> Any:
        """Return the parameters of one row, as the driver wants them."""
        values = [
            value if (value := getattr(event, name)) is None or bind is None else bind(value)
            for name, bind in self._binds
        ]
        return tuple(values) if self._positional else dict(zip(_FIELDS, values, strict=True))

    def batches(self, rows: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """Give statements and parameters that insert *rows*."""
        start = 0
        if self._positional:
            for size, statement in self._many.items():
                while len(rows) - start >= size:
                    together = rows[start : start + size]
                    yield statement, tuple(chain.from_iterable(together))
                    start += size
        if start < len(rows):
            yield self.one, list(rows[start:])


_insertion = lru_cache(_Insertion)


def _bind_of(name: str, dialect: Dialect) -> Callable[[Any], Any] | None:
    kind = audit_events.c[name].type
    if isinstance(kind, StorableText):
        return storable
    if isinstance(kind, JsonText):
        return storable_json
    return kind.dialect_impl(dialect).bind_processor(dialect)


async def find_calls(connection: AsyncConnection, query: AuditQuery) -> Sequence[AuditEvent]:
    """Return the last event of each call that matches, newest first.

    Raises:
        BadCall: `before` is no event id.
    """
    statement = (
        select(*_COLUMNS)
        .where(audit_events.c.tenant == query.tenant, _is_last_of_call(), *_conditions(query))
        .order_by(audit_events.c.id.desc())
        .limit(query.limit)
    )
    return [_event(row) for row in (await connection.execute(statement)).all()]


async def events_after(
    connection: AsyncConnection, tenant: str, seq: int, limit: int
) -> Sequence[tuple[int, AuditEvent]]:
    """Return events with a number above *seq*, lowest first."""
    statement: Select[Any] = (
        select(audit_events.c.seq, *_COLUMNS)
        .where(audit_events.c.tenant == tenant, audit_events.c.seq > seq)
        .order_by(audit_events.c.seq)
        .limit(limit)
    )
    return [(row.seq, _event(row)) for row in (await connection.execute(statement)).all()]


def _is_last_of_call() -> ColumnElement[bool]:
    later = audit_events.alias("later")
    return or_(
        audit_events.c.kind != EventKind.INVOKED,
        ~exists().where(
            later.c.call_id == audit_events.c.call_id,
            later.c.tenant == audit_events.c.tenant,
            later.c.kind != EventKind.INVOKED,
        ),
    )


def _conditions(query: AuditQuery) -> Sequence[ColumnElement[bool]]:
    columns = audit_events.c
    conditions = [
        columns[name] == value
        for name in ("principal", "server", "tool", "decision", "outcome", "code")
        if (value := getattr(query, name)) is not None
    ]
    if query.role is not None:
        conditions.append(_has_role(query.role))
    if query.since is not None:
        conditions.append(columns.time >= query.since)
    if query.until is not None:
        conditions.append(columns.time < query.until)
    if query.text is not None:
        conditions.append(_mentions(query.text))
    if query.before is not None:
        conditions.append(columns.id < _event_id(query.before))
    return conditions


def _has_role(role: str) -> ColumnElement[bool]:
    # LIKE ignores case on SQLite; names do not (R15)
    roles = literal(",", StorableText) + audit_events.c.role + literal(",", StorableText)
    return func.replace(roles, literal(f",{role},", StorableText), "") != roles


def _mentions(words: str) -> ColumnElement[bool]:
    searched = ("call_id", "tool", "server", "principal", "arguments", "error")
    return or_(*(audit_events.c[name].icontains(words, autoescape=True) for name in searched))


def _event_id(given: str) -> str:
    try:
        return str(uuid.UUID(given))
    except ValueError:
        raise BadCall(f"{given!r} is no event id") from None


def _event(row: Row[Any]) -> AuditEvent:
    values: dict[str, Any] = {name: getattr(row, name) for name in _FIELDS}
    values["kind"] = EventKind(row.kind)
    return AuditEvent(**values)

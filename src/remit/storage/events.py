"""Audit events as rows, and the questions people ask of them."""

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import structlog
from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Select,
    and_,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import StatementError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import NullType

from remit.errors import BadCall
from remit.model.events import ADMINISTRATION, ENDS, AuditEvent, AuditQuery, EventKind
from remit.storage.chain import FIELDS, Head, canonical_time, heads_of, row_hash, save_heads
from remit.storage.damaged import is_sound, mended
from remit.storage.dialects import take_turn
from remit.storage.tables import JsonText, StorableText, audit_events
from remit.storage.texts import storable, storable_json

log = structlog.get_logger(__name__)

_COLUMNS: Final = [audit_events.c[name] for name in FIELDS]
_INSERTED: Final = (*FIELDS, "link", "hash")
_TEXTS: Final = tuple(
    name for name in FIELDS if isinstance(audit_events.c[name].type, StorableText | JsonText)
)
_fields_of: Final = attrgetter(*FIELDS)
_texts_of: Final = attrgetter(*_TEXTS)
_TENANT: Final = FIELDS.index("tenant")
_TIME: Final = FIELDS.index("time")
_MS: Final = FIELDS.index("ms")
_PLACES: Final = "(" + ", ".join("?" * len(_INSERTED)) + ")"
_ROWS: Final = (100, 10)
"""Rows in one statement, most first; SQLite takes some 32,000 values in it."""

_ONE_AT_A_TIME: Final = 0x6175646974  # any number that every remit agrees on: "audit"


async def insert_events(connection: AsyncConnection, events: Sequence[AuditEvent]) -> None:
    """Add *events* to the chains of their tenants; one that is there already stays as it is.

    Args:
        connection: In a write transaction.
        events: In the order in which they are numbered.

    Raises:
        sqlalchemy.exc.StatementError: One of them does not fit the table.
        OverflowError: Likewise.
    """
    if not events:
        return
    # in turn, so that a row that is seen later never has a lower number (`after` relies on it)
    # and two writers never continue one chain
    await take_turn(connection, _ONE_AT_A_TIME)
    fresh = await _unknown(connection, events)
    if not fresh:
        return
    insertion = _insertion(connection.dialect)
    try:
        rows = [insertion.values(event) for event in fresh]
    except ValueError as error:
        raise StatementError(str(error), insertion.one, None, error) from error
    heads = await heads_of(connection, {hashed[_TENANT] for _, hashed in rows})
    parameters = [insertion.link(bound, hashed, heads) for bound, hashed in rows]
    for statement, batch in insertion.batches(parameters):
        await connection.exec_driver_sql(statement, batch)
    await save_heads(connection, heads)


async def _unknown(
    connection: AsyncConnection, events: Sequence[AuditEvent]
) -> Collection[AuditEvent]:
    """Return the first event of each id that is not in the table yet."""
    by_id: dict[str, AuditEvent] = {}
    for event in events:
        by_id.setdefault(event.id, event)
    query = select(audit_events.c.id).where(audit_events.c.id.in_(by_id))
    for row in (await connection.execute(query)).all():
        del by_id[row.id]
    return by_id.values()


class _Insertion:
    """One insert, compiled once and bound by hand.

    SQLAlchemy's own binding takes several times as long as the database does. On SQLite many rows
    go into one statement: its driver gives up the interpreter's lock at every execution, and a
    busy gateway would take it from the writer at every row.
    """

    def __init__(self, dialect: Dialect) -> None:
        placed = insert(audit_events).values(dict.fromkeys(_INSERTED)).inline()
        self.one = str(placed.compile(dialect=dialect, column_keys=list(_INSERTED)))
        self._positional = dialect.positional
        self._binds = tuple(_binds_of(dialect))
        self._other = tuple(bind for bind in self._binds if not bind[2])
        before, _, after = self.one.partition(_PLACES)
        self._many = {rows: before + ", ".join([_PLACES] * rows) + after for rows in _ROWS}

    def values(self, event: AuditEvent) -> tuple[list[Any], list[Any]]:
        """Return the values of one row, as the driver wants them and as they are hashed."""
        hashed: list[Any] = list(_fields_of(event))
        bound = hashed.copy()
        for index, bind, is_spelling in self._other if _is_plain(event) else self._binds:
            value = hashed[index]
            if value is not None:
                bound[index] = bind(value)
                if is_spelling:
                    hashed[index] = bound[index]
        hashed[_TIME] = canonical_time(event.time.astimezone(UTC))
        hashed[_MS] = float(event.ms)
        return bound, hashed

    def link(self, bound: list[Any], hashed: list[Any], heads: dict[str, Head]) -> Any:
        """Return the parameters of one row as the next of its chain, and make the chain longer."""
        tenant = hashed[_TENANT]
        before = heads[tenant]
        link = before.length + 1
        head = Head(length=link, hash=row_hash(before.hash, link, hashed))
        heads[tenant] = head
        values = (*bound, link, head.hash)
        return values if self._positional else dict(zip(_INSERTED, values, strict=True))

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


def _binds_of(dialect: Dialect) -> Iterator[tuple[int, Callable[[Any], Any], bool]]:
    """Give what makes a field's value one for the driver: its place, and how.

    Last comes whether that spells out what cannot be stored, so that it is what is hashed too.
    """
    for index, name in enumerate(FIELDS):
        kind = audit_events.c[name].type
        if isinstance(kind, StorableText):
            yield index, storable, True
        elif isinstance(kind, JsonText):
            yield index, storable_json, True
        elif (bind := kind.dialect_impl(dialect).bind_processor(dialect)) is not None:
            yield index, bind, False


def _is_plain(event: AuditEvent) -> bool:
    """Whether every text of *event* can be stored as it is; seen at a glance of all at once."""
    together = "".join(text for text in _texts_of(event) if text is not None)
    return together.isascii() and "\0" not in together and "\\u" not in together


async def find_calls(connection: AsyncConnection, query: AuditQuery) -> Sequence[AuditEvent]:
    """Return the last event of each call that matches, newest first.

    Raises:
        BadCall: `before` is no event id.
    """
    statement = (
        select(audit_events.c.seq, *_COLUMNS)
        .where(audit_events.c.tenant == query.tenant, _is_last_of_call(), *_conditions(query))
        .order_by(audit_events.c.id.desc())
        .limit(query.limit)
    )
    return [event for _, event in await _events(connection, statement)]


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
    return await _events(connection, statement)


async def _events(
    connection: AsyncConnection, statement: Select[Any]
) -> Sequence[tuple[int, AuditEvent]]:
    """Return the rows of a query, by their numbers, also those that another hand changed."""
    try:
        rows = [
            (row["seq"], _fields(row)) for row in (await connection.execute(statement)).mappings()
        ]
        if all(is_sound(values) for _, values in rows):
            return [(seq, _event(values)) for seq, values in rows]
    except (ValueError, TypeError):
        log.debug("rows cannot be read as they are")  # SQLite stores anything in any column
    columns = [
        column if connection.dialect.name != "sqlite" else type_coerce(column, NullType())
        for column in _COLUMNS
    ]
    raw = statement.with_only_columns(
        audit_events.c.seq,
        *(column.label(name) for name, column in zip(FIELDS, columns, strict=True)),
    )
    found = (await connection.execute(raw)).mappings()
    return [(row["seq"], mended(row["seq"], _fields(row))) for row in found]


def _fields(row: RowMapping) -> dict[str, Any]:
    return {name: row[name] for name in FIELDS}


def _is_last_of_call() -> ColumnElement[bool]:
    later = audit_events.alias("later")
    return or_(
        # whatever is no beginning and no attempt, also a kind that another hand wrote
        audit_events.c.kind.not_in((EventKind.INVOKED, EventKind.ATTEMPTED)),
        and_(
            audit_events.c.kind == EventKind.INVOKED,
            ~exists().where(
                later.c.call_id == audit_events.c.call_id,
                later.c.tenant == audit_events.c.tenant,
                later.c.kind.in_(ENDS),
            ),
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
    if not query.changes:
        conditions.append(columns.server != ADMINISTRATION)
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


def _event(values: dict[str, Any]) -> AuditEvent:
    values["kind"] = EventKind(values["kind"])
    return AuditEvent(**values)

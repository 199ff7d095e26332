"""The questions people ask of the audit, and its rows as events again."""

import uuid
from collections.abc import Sequence
from typing import Any, Final

import structlog
from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Select,
    and_,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.types import NullType

from remit.errors import BadCall
from remit.model.events import ADMINISTRATION, ENDS, AuditEvent, AuditQuery, EventKind
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.chain import FIELDS
from remit.storage.damaged import is_sound, mended
from remit.storage.tables import StorableText, audit_events

log = structlog.get_logger(__name__)

_COLUMNS: Final = [audit_events.c[name] for name in FIELDS]


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
    if query.code:
        conditions.append(columns.code != literal_column("''"))  # else no index of codes fits
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
    searched = ("call_id", "tool", "server", "principal", "member", "arguments", "error")
    return or_(*(audit_events.c[name].icontains(words, autoescape=True) for name in searched))


def _event_id(given: str) -> str:
    try:
        return str(uuid.UUID(given))
    except ValueError:
        raise BadCall(f"{given!r} is no event id") from None


def _event(values: dict[str, Any]) -> AuditEvent:
    values["kind"] = EventKind(values["kind"])
    return AuditEvent(**values)

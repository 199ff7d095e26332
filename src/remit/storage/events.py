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
from remit.model.events import (
    ADMINISTRATION,
    ENDS,
    AuditEvent,
    AuditQuery,
    EventKind,
    tool_readings,
)
from remit.model.principals import DEFAULT_TENANT
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.chain import FIELDS
from remit.storage.damaged import is_sound, mended
from remit.storage.event_ids import DRIFT, first_id
from remit.storage.tables import StorableText, audit_events

log = structlog.get_logger(__name__)

STRETCH: Final = 100_000
"""Rows that one statement reads at most where no index leads to what fits: under a second."""

MOST_OF_A_CALL: Final = 100
"""Events of one call that are read; a call has as many attempts as it may have, and two more."""

_COLUMNS: Final = [audit_events.c[name] for name in FIELDS]


def has_to_read(query: AuditQuery) -> bool:
    """Whether no index leads to what is asked for, so that rows are read until enough fit."""
    by_index = (query.principal, query.tool, query.code, query.after, query.tools)
    asked = (query.decision, query.outcome, query.server, query.role, query.text, query.servers)
    is_of_some = any(asked) or query.tenant != DEFAULT_TENANT
    return is_of_some and not any(by_index)


async def end_of_stretch(connection: AsyncConnection, query: AuditQuery) -> str | None:
    """Return the id at which the newest STRETCH rows end that *query* may mean; None for all.

    Raises:
        BadCall: `before` is no event id.
    """
    ids = audit_events.c.id
    statement = (
        select(ids).where(*_between_ids(query)).order_by(ids.desc()).offset(STRETCH - 1).limit(1)
    )
    return (await connection.execute(statement)).scalar_one_or_none()


async def find_calls(
    connection: AsyncConnection, query: AuditQuery, *, down_to: str | None = None
) -> Sequence[AuditEvent]:
    """Return the last event of each call that matches, newest first; with `after` oldest first.

    Args:
        connection: To the database.
        query: What is asked for.
        down_to: The event id at which to stop looking; None to go on to the end.

    Raises:
        BadCall: `before` or `after` is no event id.
    """
    ids = audit_events.c.id
    statement = (
        select(audit_events.c.seq, *_COLUMNS)
        .where(
            audit_events.c.tenant == query.tenant,
            _is_last_of_call(),
            *_conditions(query),
            *_within(query),
            *([] if down_to is None else [ids >= down_to]),
            *([] if query.text is None else [_mentions(connection, query.text)]),
        )
        .order_by(ids.desc() if query.after is None else ids)
        .limit(query.limit)
    )
    return [event for _, event in await _events(connection, statement)]


async def events_of(connection: AsyncConnection, tenant: str, call: str) -> Sequence[AuditEvent]:
    """Return the events of one call as they happened; none of a call that is not on record.

    There is none of its beginning where its end came at once: the end says all that it does.
    """
    columns = audit_events.c
    statement = (
        select(columns.seq, *_COLUMNS)
        .where(columns.call_id == call, columns.tenant == tenant)
        .limit(MOST_OF_A_CALL)
    )
    found = [event for _, event in await _events(connection, statement)]
    return sorted(found, key=lambda event: event.id)


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
        for name in ("principal", "server", "decision", "outcome", "code")
        if (value := getattr(query, name)) is not None
    ]
    conditions += [
        columns[name].in_(values)
        for name, values in (("server", query.servers), ("tool", query.tools))
        if values
    ]
    if query.tool is not None:
        conditions += _is_tool(query.tool)
    if query.code:
        conditions.append(columns.code != literal_column("''"))  # else no index of codes fits
    if query.role is not None:
        conditions.append(_has_role(query.role))
    if not query.changes:
        conditions.append(columns.server != ADMINISTRATION)
    return conditions


def _is_tool(spelling: str) -> Sequence[ColumnElement[bool]]:
    """Return what holds of the rows of a tool: what is called so, or is meant by `server/tool`."""
    columns, meant = audit_events.c, tool_readings(spelling)
    if not meant:
        return [columns.tool == spelling]
    return [
        columns.tool.in_([spelling, *(name for _, name in meant)]),  # the index leads to these
        or_(
            columns.tool == spelling,
            *(and_(columns.server == server, columns.tool == name) for server, name in meant),
        ),
    ]


def _within(query: AuditQuery) -> Sequence[ColumnElement[bool]]:
    """Return between which times and ids rows are."""
    time = audit_events.c.time
    return [
        *([] if query.since is None else [time >= query.since]),
        *([] if query.until is None else [time < query.until]),
        *_between_ids(query),
    ]


def _between_ids(query: AuditQuery) -> Sequence[ColumnElement[bool]]:
    """Return between which ids rows are; ids sort by time, and have an index."""
    columns = audit_events.c
    conditions: list[ColumnElement[bool]] = []
    if query.since is not None:
        conditions.append(columns.id >= first_id(query.since, -DRIFT))
    if query.until is not None:
        conditions.append(columns.id <= first_id(query.until, DRIFT))
    if query.before is not None:
        conditions.append(columns.id < _event_id(query.before))
    if query.after is not None:
        conditions.append(columns.id > _event_id(query.after))
    return conditions


def _has_role(role: str) -> ColumnElement[bool]:
    # LIKE ignores case on SQLite; names do not (R15)
    roles = literal(",", StorableText) + audit_events.c.role + literal(",", StorableText)
    exactly = func.replace(roles, literal(f",{role},", StorableText), "") != roles
    return and_(audit_events.c.role.contains(role, autoescape=True), exactly)  # the first is cheap


def _mentions(connection: AsyncConnection, words: str) -> ColumnElement[bool]:
    searched = ("call_id", "tool", "server", "principal", "member", "arguments", "error")
    columns = [audit_events.c[name] for name in searched]
    if connection.dialect.name == "sqlite":
        # its LIKE ignores the case of the same letters as its lower(), in half the time
        return or_(*(column.contains(words, autoescape=True) for column in columns))
    return or_(*(column.icontains(words, autoescape=True) for column in columns))


def _event_id(given: str) -> str:
    try:
        return str(uuid.UUID(given))
    except ValueError:
        raise BadCall(f"{given!r} is no event id") from None


def _event(values: dict[str, Any]) -> AuditEvent:
    values["kind"] = EventKind(values["kind"])
    return AuditEvent(**values)

"""The two streams that raise alerts, read on from where they were left (S2.48).

    data_executions (what ran) ──┐
                                 ├──▶ News, and the places up to which nothing can come any more
    audit_events (ended calls) ──┘

A statement's number is taken before its row is committed, so on PostgreSQL one may come late, below
a number that was read. A place therefore stays before a gap, until what follows the gap has been
there for LATE; what is read again then raises nothing twice. Ended calls come in order
(`insertion.py`).
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Row, and_, func, or_, select

from remit.model.alerts import EndedCall, News, Places, Statement
from remit.model.calls import OutcomeKind
from remit.model.events import ENDS
from remit.storage.alert_tables import alert_places
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.data_tables import data_executions
from remit.storage.dialects import insert
from remit.storage.event_ids import first_id
from remit.storage.tables import audit_events

LATE: Final = timedelta(seconds=30)
"""How long a statement's row may take to be committed."""

BEGINNING: Final = 10_000
"""How far back the first look goes, in rows of any tenant."""

STATEMENTS: Final = "statements"
CALLS: Final = "calls"

Servers = Mapping[str, Collection[str]]
"""Tenant to its `data` servers."""

_STATEMENT: Final = [
    data_executions.c.seq,
    data_executions.c.id,
    data_executions.c.tenant,
    data_executions.c.user,
    data_executions.c.tool,
    data_executions.c.started,
    data_executions.c.ms,
    data_executions.c.row_count,
    data_executions.c.flags,
    data_executions.c.source,
]
_CALL: Final = [
    audit_events.c.seq,
    audit_events.c.call_id,
    audit_events.c.tenant,
    audit_events.c.principal,
    audit_events.c.time,
    audit_events.c.outcome,
    audit_events.c.code,
]


async def read_news(
    connection: AsyncConnection,
    servers: Servers,
    *,
    after: Places | None,
    now: datetime,
    limit: int,
) -> News:
    """Return what happened after the places, at most *limit* of each stream.

    Args:
        connection: To read with.
        servers: Whose calls count.
        after: Places, or None for those that are kept.
        now: The time, aware UTC.
        limit: Most of each stream.
    """
    calls_end = (await connection.execute(select(func.max(audit_events.c.seq)))).scalar() or 0
    before = after or await _kept_places(connection, calls_end)
    statements = await _statements_after(connection, before.statements, limit)
    calls = await _calls_after(connection, servers, before.calls, calls_end, limit)
    if len(calls) == limit:
        calls_end = calls[-1].seq
    last = statements[-1].seq if statements else before.statements
    return News(
        before=before,
        read=Places(statements=last, calls=max(calls_end, before.calls)),
        settled=Places(
            statements=_settled(statements, before.statements, now),
            calls=max(calls_end, before.calls),
        ),
        statements=[_statement(row) for row in statements],
        calls=[_ended(row) for row in calls],
        has_more=limit in (len(statements), len(calls)),
    )


async def keep_places(connection: AsyncConnection, places: Places) -> None:
    """Keep how far the streams are dealt with; never less far than before."""
    for stream, seq in ((STATEMENTS, places.statements), (CALLS, places.calls)):
        statement = insert(connection, alert_places).values(stream=stream, seq=seq)
        await connection.execute(
            statement.on_conflict_do_update(
                index_elements=["stream"],
                set_={"seq": statement.excluded.seq},
                where=alert_places.c.seq < statement.excluded.seq,
            )
        )


async def first_statement(connection: AsyncConnection, tenant: str, user: str) -> datetime | None:
    """Return when a caller's first statement was begun, or None where it has had none."""
    columns = data_executions.c
    query = (
        select(columns.started)
        .where(columns.tenant == tenant, columns.user == user)
        .order_by(columns.started)
        .limit(1)
    )
    return (await connection.execute(query)).scalar()


async def statements_of(
    connection: AsyncConnection, tenant: str, user: str, *, since: datetime, limit: int
) -> Sequence[Statement]:
    """Return the newest statements of a caller that were begun since then, newest first."""
    columns = data_executions.c
    query = (
        select(*_STATEMENT)
        .where(columns.tenant == tenant, columns.user == user, columns.started >= since)
        .order_by(columns.started.desc(), columns.seq.desc())
        .limit(limit)
    )
    return [_statement(row) for row in (await connection.execute(query)).all()]


async def answers_of(
    connection: AsyncConnection, tenant: str, user: str, *, since: datetime, limit: int
) -> Sequence[tuple[datetime, int]]:
    """Return when a caller's statements with rows were begun, and how many; newest first."""
    columns = data_executions.c
    query = (
        select(columns.started, columns.row_count)
        .where(
            columns.tenant == tenant,
            columns.user == user,
            columns.started >= since,
            columns.row_count > 0,
        )
        .order_by(columns.started.desc(), columns.seq.desc())
        .limit(limit)
    )
    return [(row.started, row.row_count) for row in (await connection.execute(query)).all()]


async def failed_of(
    connection: AsyncConnection,
    tenant: str,
    servers: Collection[str],
    user: str,
    *,
    since: datetime,
    limit: int,
) -> Sequence[EndedCall]:
    """Return the newest calls of a caller that failed since then, newest first."""
    columns = audit_events.c
    query = (
        select(*_CALL)
        .where(
            columns.principal == user,
            columns.id >= first_id(since),
            columns.tenant == tenant,
            columns.server.in_(servers),
            columns.kind.in_(ENDS),
            columns.outcome != OutcomeKind.OK.value,
        )
        .order_by(columns.id.desc())
        .limit(limit)
    )
    return [_ended(row) for row in (await connection.execute(query)).all()]


async def _kept_places(connection: AsyncConnection, calls_end: int) -> Places:
    rows = (await connection.execute(select(alert_places))).all()
    kept = {row.stream: row.seq for row in rows}
    if STATEMENTS not in kept:
        newest = select(func.max(data_executions.c.seq))
        end = (await connection.execute(newest)).scalar() or 0
        kept[STATEMENTS] = max(0, end - BEGINNING)
    return Places(statements=kept[STATEMENTS], calls=kept.get(CALLS, max(0, calls_end - BEGINNING)))


async def _statements_after(
    connection: AsyncConnection, seq: int, limit: int
) -> Sequence[Row[Any]]:
    columns = data_executions.c
    query = select(*_STATEMENT).where(columns.seq > seq).order_by(columns.seq).limit(limit)
    return (await connection.execute(query)).all()


async def _calls_after(
    connection: AsyncConnection, servers: Servers, seq: int, until: int, limit: int
) -> Sequence[Row[Any]]:
    if not servers or until <= seq:
        return []
    columns = audit_events.c
    theirs = or_(
        *(
            and_(columns.tenant == tenant, columns.server.in_(names))
            for tenant, names in servers.items()
        )
    )
    query = (
        select(*_CALL)
        .where(columns.seq > seq, columns.seq <= until, columns.kind.in_(ENDS), theirs)
        .order_by(columns.seq)
        .limit(limit)
    )
    return (await connection.execute(query)).all()


def _settled(rows: Sequence[Row[Any]], place: int, now: datetime) -> int:
    for row in rows:
        ended = row.started + timedelta(milliseconds=row.ms)
        if row.seq != place + 1 and now - ended < LATE:
            return place
        place = row.seq
    return place


def _statement(row: Row[Any]) -> Statement:
    return Statement(
        seq=row.seq,
        id=row.id,
        tenant=row.tenant,
        user=row.user,
        tool=row.tool,
        at=row.started,
        rows=row.row_count,
        flags=tuple(row.flags),
        source=row.source,
    )


def _ended(row: Row[Any]) -> EndedCall:
    return EndedCall(
        seq=row.seq,
        id=row.call_id,
        tenant=row.tenant,
        user=row.principal,
        at=row.time,
        error=_error(row.outcome, row.code),
    )


def _error(outcome: str, code: str) -> str:
    """Return which error a call ended with, in a word of ours; empty where it went well."""
    return "" if outcome == OutcomeKind.OK.value else code or outcome

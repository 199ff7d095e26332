"""What calls of the last minutes come to, in two statements over the record.

A call counts when it ends, with the row of its end. Rows are found by their ids, which sort by
time, so that the length of the record does not matter; each statement reads them once, and what is
counted of them is counted by the database. Only rows' first columns are read: bodies stay where
they are.

Ranking is what costs most, so speeds are those of the newest MOST_RANKED calls that ran.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    FromClause,
    Row,
    Select,
    Text,
    and_,
    case,
    func,
    literal,
    or_,
    select,
    union_all,
)

from remit.model.calls import OutcomeKind
from remit.model.events import ADMINISTRATION, ENDS, EventKind
from remit.model.traffic import Counts, DeniedTool, SlowTool, Speed, Traffic
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.dialects import minute_of
from remit.storage.event_ids import DRIFT, first_id
from remit.storage.tables import audit_events

MOST_LISTED: Final = 10
"""Slowest tools, most denied tools, and most called callers."""

MOST_SERVERS: Final = 100
"""Servers that are told of; a caller can make up any number of them."""

MOST_RANKED: Final = 100_000
"""Calls that percentiles are of, the newest; ten times as many take SQLite many seconds."""


async def find_traffic(
    connection: AsyncConnection, tenant: str, since: datetime, until: datetime
) -> Traffic:
    """Return what the calls of *tenant* come to that ended from *since* on and before *until*."""
    counted = _parts(await connection.execute(_counting(connection, tenant, since, until)))
    ranked = _parts(await connection.execute(_ranking(tenant, since, until)))
    [whole] = ranked["whole"]
    return Traffic(
        minutes={_minute(row.a): _counts(row) for row in counted["minute"]},
        speed=_speed(whole),
        servers={row.a: _counts(row) for row in counted["server"]},
        speeds={row.a: _speed(row) for row in ranked["server"]},
        slowest=tuple(
            SlowTool(server=row.a, tool=row.b, speed=_speed(row)) for row in ranked["tool"]
        ),
        denied=tuple(
            DeniedTool(
                server=row.a, tool=row.b, denied=row.denied, layer=row.c, rule=row.d, code=row.e
            )
            for row in counted["denied"]
        ),
        callers={row.a: _counts(row) for row in counted["caller"]},
    )


def _parts(rows: Iterable[Row[Any]]) -> dict[str, list[Row[Any]]]:
    """Return the rows of each part of a statement."""
    parts: dict[str, list[Row[Any]]] = {
        name: [] for name in ("minute", "server", "caller", "denied", "whole", "tool")
    }
    for row in rows:
        parts[row.part].append(row)
    return parts


def _ended(tenant: str, since: datetime, until: datetime) -> ColumnElement[bool]:
    columns = audit_events.c
    return and_(
        columns.id >= first_id(since, -DRIFT),
        columns.time >= since,
        columns.time < until,
        columns.tenant == tenant,
        columns.server != ADMINISTRATION,
    )


def _counting(
    connection: AsyncConnection, tenant: str, since: datetime, until: datetime
) -> Select[Any]:
    """Return the statement of what is only counted."""
    columns = audit_events.c
    is_denied = columns.decision == "deny"
    is_error = and_(~is_denied, columns.outcome != OutcomeKind.OK)
    ended = (
        select(
            minute_of(connection, columns.time).label("minute"),
            *(columns[name] for name in ("server", "tool", "principal", "layer", "rule", "code")),
            case((is_denied, 1), else_=0).label("denied"),
            case((is_error, 1), else_=0).label("error"),
        )
        .where(_ended(tenant, since, until), columns.kind.in_(ENDS))
        .cte("ended")
        .prefix_with("MATERIALIZED")
    )
    parts = union_all(
        select(_most(ended, "minute", ended.c.minute, None)),
        select(_most(ended, "server", ended.c.server, MOST_SERVERS)),
        select(_most(ended, "caller", ended.c.principal, MOST_LISTED)),
        select(_most_denied(ended)),
    ).subquery()
    return select(parts).order_by(parts.c.part, parts.c.calls.desc(), parts.c.a, parts.c.b)


def _most(ended: CTE, part: str, by: ColumnElement[str], limit: int | None) -> FromClause:
    """Return the calls for each value of a column, those with most calls."""
    calls = func.count()
    return (
        select(
            *_named(part, by),
            calls.label("calls"),
            func.sum(ended.c.denied).label("denied"),
            func.sum(ended.c.error).label("errors"),
        )
        .select_from(ended)
        .group_by(by)
        .order_by(calls.desc(), by)
        .limit(limit)
        .subquery()
    )


def _most_denied(ended: CTE) -> FromClause:
    """Return the tools that were denied most, each with its commonest reason."""
    tool = (ended.c.server, ended.c.tool)
    reason = (ended.c.layer, ended.c.rule, ended.c.code)
    count = func.count()
    reasons = (
        select(
            *tool,
            *reason,
            func.sum(count).over(partition_by=tool).label("denied"),
            func.row_number().over(partition_by=tool, order_by=(count.desc(), *reason)).label("n"),
        )
        .where(ended.c.denied == 1)
        .group_by(*tool, *reason)
        .subquery()
    )
    found = reasons.c
    names = (found.server, found.tool, found.layer, found.rule, found.code)
    return (
        select(
            *_named("denied", *names),
            found.denied.label("calls"),
            found.denied.label("denied"),
            literal(0).label("errors"),
        )
        .where(found.n == 1)
        .order_by(found.denied.desc(), found.server, found.tool)
        .limit(MOST_LISTED)
        .subquery()
    )


def _ranking(tenant: str, since: datetime, until: datetime) -> Select[Any]:
    """Return the statement of percentiles: of all calls, of each server, of the slowest tools."""
    columns = audit_events.c
    ran = (
        select(columns.server, columns.tool, columns.ms)
        .where(_ended(tenant, since, until), columns.kind == EventKind.FINISHED)
        .order_by(columns.id.desc())
        .limit(MOST_RANKED)
        .cte("ran")
        .prefix_with("MATERIALIZED")
    )
    tools = _ranked(ran, "tool", (ran.c.server, ran.c.tool))
    slowest = select(tools).order_by(tools.c.p95.desc(), tools.c.a, tools.c.b).limit(MOST_LISTED)
    parts = union_all(
        select(_ranked(ran, "whole", ())),
        select(_ranked(ran, "server", (ran.c.server,))),
        select(slowest.subquery()),
    ).subquery()
    return select(parts).order_by(parts.c.part, parts.c.p95.desc(), parts.c.a, parts.c.b)


def _ranked(ran: CTE, part: str, by: Sequence[ColumnElement[str]]) -> FromClause:
    """Return number and percentiles of the calls for each value of some columns.

    Both windows have one order, so that the database sorts once.
    """
    ranks = select(
        *by,
        ran.c.ms,
        (func.row_number().over(partition_by=by or None, order_by=ran.c.ms) - 1).label("place"),
        func.count()
        .over(partition_by=by or None, order_by=ran.c.ms, rows=(None, None))
        .label("ran"),
    ).subquery()
    names = [ranks.c[column.name] for column in by]
    median, high = _distance(ranks, 0.5), _distance(ranks, 0.95)
    return (
        select(
            *_named(part, *names),
            func.max(ranks.c.ran).label("ran"),
            _between(ranks, median).label("p50"),
            _between(ranks, high).label("p95"),
        )
        .where(or_(median < 1, high < 1))
        .group_by(*names)
        .subquery()
    )


def _distance(ranks: FromClause, share: float) -> ColumnElement[float]:
    """Return how many places a call is from where *share* of the calls are below."""
    return func.abs((ranks.c.ran - 1) * literal(share, Double) - ranks.c.place)


def _between(ranks: FromClause, distance: ColumnElement[float]) -> ColumnElement[float]:
    """Return the value at a place that may be between two calls.

    Each of the two counts by how near it is; so PostgreSQL's `percentile_cont` does, which SQLite
    lacks.
    """
    return func.sum(case((distance < 1, ranks.c.ms * (1 - distance))))


def _minute(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _counts(row: Row[Any]) -> Counts:
    return Counts(calls=int(row.calls), denied=int(row.denied), errors=int(row.errors))


def _speed(row: Row[Any]) -> Speed:
    return Speed(ran=row.ran or 0, p50=row.p50, p95=row.p95)


def _named(part: str, *names: ColumnElement[str]) -> list[ColumnElement[Any]]:
    """Return the columns that say what a row is about: `part`, and `a` to `e`."""
    given = [*names, *[literal("", Text)] * (5 - len(names))]
    return [
        literal(part, Text).label("part"),
        *(column.label(name) for column, name in zip(given, "abcde", strict=True)),
    ]

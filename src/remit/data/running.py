"""The one place where a statement of a caller's is run, and kept (S2.37, S2.38).

Tools and API give what a caller wrote; what ran, and what was refused, becomes an `Execution`.
Nothing else asks an engine to run what a caller wrote.

    what a caller wrote ──parse──▶ guard ──▶ engine ──▶ rows
                            │        │          │         │
                            └────────┴──────────┴─────────┴──▶ kept, whatever became of it
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from remit.data.attempts import Asked, Attempt, keep, kept
from remit.data.desk import Desk
from remit.data.engines.allowing import declared, schemas_of
from remit.data.engines.engine import Allowed, Engine
from remit.data.guard.statements import (
    Statement,
    StatementKind,
    require_executing,
    require_modifying,
    require_reading,
)
from remit.errors import DataFailure
from remit.model.data import (
    MOST_ROWS,
    MOST_SECONDS,
    Bound,
    DataCode,
    Datasource,
    EngineKind,
    Query,
    Rows,
)
from remit.model.ontology import Schema

LONGEST: Final = MOST_SECONDS - 2.0
"""Seconds that a statement may run at most: whoever waits is told of its end as such, since a call
that says nothing else may take 30 (R24)."""

_SUSPICIOUS: Final = (DataCode.SECURITY_VIOLATION, DataCode.TABLE_NOT_SELECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSource:
    """A datasource that a call works on.

    Attributes:
        allowed: Its tables that may be used: those that are declared for it and, once its schema
            was read, selected.
        executable: Those that a developer's own statement may change or define: the same, and what
            was not there when the schema was read, since nobody can have selected it yet.
    """

    datasource: Datasource
    engine: Engine
    allowed: Allowed
    executable: Allowed


async def open_source(desk: Desk, name_or_id: str | None = None) -> OpenSource:
    """Return the datasource that is named, or the one that is meant, open.

    Raises:
        DataFailure: `no_datasource` or `service_unavailable`.
    """
    datasource = await desk.datasource(name_or_id)
    engine = await desk.sources.open(datasource)
    schema = await desk.stores.ontology.find_schema(desk.tenant, datasource.id)
    return OpenSource(
        datasource=datasource,
        engine=engine,
        allowed=allowed_in(datasource, schema),
        executable=allowed_in(datasource, schema, unseen=True),
    )


def allowed_in(datasource: Datasource, schema: Schema | None, *, unseen: bool = False) -> Allowed:
    """Return what says whether a table may be used: it is declared and, if known, selected.

    Args:
        datasource: Whose table it is.
        schema: What was there when somebody looked, or None before the first look.
        unseen: Whether one that was not there then may be used as well.
    """
    is_declared = declared(datasource)
    if schema is None:
        return is_declared
    exact = datasource.engine is EngineKind.POSTGRESQL
    usual = schemas_of(datasource)[0]
    selected = {
        each.full_name if exact else each.full_name.lower(): each.is_selected
        for each in schema.tables
    }

    def is_allowed(schema_name: str, table: str) -> bool:
        full_name = f"{schema_name or usual}.{table}"
        is_selected = selected.get(full_name if exact else full_name.lower(), unseen)
        return is_selected and is_declared(schema_name, table)

    return is_allowed


async def run_reading(
    desk: Desk,
    source: OpenSource,
    sql: str,
    *,
    limit: int,
    query: Query | None = None,
    values: Mapping[str, Bound] | None = None,
    flags: tuple[str, ...] = (),
) -> Rows:
    """Guard, run and keep a statement that reads.

    Args:
        desk: Who asks.
        source: Where it runs.
        sql: With placeholders only where *query* is given.
        limit: Most rows, never more than the datasource's own limit.
        query: The approved query that it is, or None for a caller's own statement.
        values: What is bound to its placeholders.
        flags: What is known of it already, such as `injection`.

    Raises:
        DataFailure: The guard or the database refuses, with its code; that is kept, too.
    """
    most = max(1, min(limit, source.datasource.row_limit, MOST_ROWS))
    asked = Asked(sql=sql, query=query, values=values or {}, flags=flags)
    async with kept(desk, source.datasource, asked) as attempt:
        statement = await attempt.parse()
        require_reading(statement, source.allowed)
        return await _read(source, attempt, statement, most)


async def run_modifying(
    desk: Desk,
    source: OpenSource,
    sql: str,
    *,
    query: Query | None = None,
    values: Mapping[str, Bound] | None = None,
    flags: tuple[str, ...] = (),
) -> Rows:
    """Guard, run and keep a statement that changes something: an approved query, or `execute`.

    Without *query* it is a developer's own. Such a one may read as well, and may define tables;
    what it names then has to be declared, and selected unless it was not there when the schema was
    read: what it makes cannot be selected yet, and what it changes it can have returned to it.

    Raises:
        DataFailure: As `run_reading` does; `query_not_authorized` where the datasource is not
            writable.
    """
    asked = Asked(sql=sql, query=query, values=values or {}, flags=flags)
    async with kept(desk, source.datasource, asked) as attempt:
        attempt.is_modifying = True
        statement = await attempt.parse()
        if query is None and statement.kind is StatementKind.READ:
            attempt.is_modifying = False
            require_reading(statement, source.allowed)
            return await _read(source, attempt, statement, MOST_ROWS)
        require_writable(source.datasource)
        if query is None:
            require_executing(statement, source.executable)
        else:
            _require_permission(query)
            require_modifying(statement, source.allowed)
        attempt.rows = await source.engine.write(
            attempt.prepare(statement), limit=MOST_ROWS, seconds=_seconds(source)
        )
        return attempt.rows


async def plan_of(
    desk: Desk,
    source: OpenSource,
    sql: str,
    *,
    query: Query | None = None,
    values: Mapping[str, Bound] | None = None,
    modifying: bool = False,
) -> Sequence[str]:
    """Return the plan of a statement that would run, line by line; it does not run.

    Only what the guard finds suspicious is kept of it.

    Args:
        desk: Who asks.
        source: Where it would run.
        sql: With placeholders only where *query* is given.
        query: What it would be an approved query of.
        values: What is bound to its placeholders.
        modifying: Whether it may be one that modifies, or has to read.

    Raises:
        DataFailure: The guard or the database refuses.
    """
    asked = Asked(sql=sql, query=query, values=values or {})
    async with kept(desk, source.datasource, asked, only=_SUSPICIOUS) as attempt:
        statement = await attempt.parse()
        if modifying and statement.kind is not StatementKind.READ:
            require_modifying(statement, source.allowed)
        else:
            require_reading(statement, source.allowed)
        return await source.engine.explain(attempt.prepare(statement), seconds=_seconds(source))


async def keep_refused(
    desk: Desk,
    source: OpenSource,
    query: Query,
    *,
    values: Mapping[str, object],
    failure: DataFailure,
    flags: tuple[str, ...] = (),
) -> None:
    """Keep an approved query that was refused for the sake of its parameters."""
    asked = Asked(sql=query.sql, query=query, flags=flags)
    attempt = Attempt(desk, source.datasource, asked)
    attempt.is_modifying = query.allows_modification
    attempt.failed(failure)
    await keep(desk, attempt.execution(values))


def require_writable(datasource: Datasource) -> None:
    """Let only a datasource pass that may be written.

    Raises:
        DataFailure: `query_not_authorized`.
    """
    if not datasource.is_writable:
        raise DataFailure(
            DataCode.QUERY_NOT_AUTHORIZED,
            f"datasource {datasource.name!r} is read only: only an administrator can change that",
            details={"datasource": datasource.name},
        )


async def _read(source: OpenSource, attempt: Attempt, statement: Statement, limit: int) -> Rows:
    attempt.rows = await source.engine.read(
        attempt.prepare(statement), limit=limit, seconds=_seconds(source)
    )
    return attempt.rows


def _require_permission(query: Query) -> None:
    if not query.allows_modification:
        raise DataFailure(
            DataCode.QUERY_NOT_AUTHORIZED,
            f"query {query.name!r} was not approved for changing anything",
        )


def _seconds(source: OpenSource) -> float:
    return min(source.datasource.time_limit, LONGEST)

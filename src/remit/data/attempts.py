"""A statement of a caller's on its way, of which is kept whatever becomes of it (S2.38, S2.47)."""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import anyio
import structlog

from remit.data.apart import apart
from remit.data.desk import Desk
from remit.data.engines.allowing import matches, schemas_of
from remit.data.engines.engine import Prepared
from remit.data.guard.parameters import list_names
from remit.data.guard.statements import Statement, parse_statement
from remit.data.kept import kept_error, kept_sql, kept_values
from remit.errors import DataFailure, RemitError
from remit.model.data import Bound, DataCode, Datasource, Execution, Query, Rows

log = structlog.get_logger(__name__)

SENSITIVE: Final = "sensitive"
"""The flag of what uses a table that the datasource calls sensitive."""

_PATIENCE: Final = 5.0
"""Seconds within which what ran has to be kept (S2.46)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked to be run.

    Attributes:
        query: The approved query that it is, or None for a statement of the caller's own.
        values: What is bound to its placeholders.
        flags: What is known of it already, such as `injection`.
    """

    sql: str
    query: Query | None = None
    values: Mapping[str, Bound] = field(default_factory=dict[str, Bound])
    flags: tuple[str, ...] = ()


class Attempt:
    """A statement that is being run; until it has ended, it is one that was stopped.

    Args:
        desk: Who asks.
        datasource: Where it runs.
        asked: What is asked.

    Attributes:
        code: Why it failed so far, or empty.
        is_modifying: Whether it is meant to change anything.
        rows: What it gave, once it has ended well.
    """

    def __init__(self, desk: Desk, datasource: Datasource, asked: Asked) -> None:
        self._desk = desk
        self._datasource = datasource
        self._asked = asked
        self._flags = asked.flags
        self._tables: tuple[str, ...] = ()
        self._error = ""
        self._sql = ""
        self._started: datetime = desk.clock()
        self._at = time.monotonic()
        self.code: str = DataCode.QUERY_ERROR
        self.is_modifying = False
        self.rows: Rows | None = None

    async def parse(self) -> Statement:
        """Return the statement, parsed; its tables are noted.

        Raises:
            DataFailure: `invalid_sql`.
        """
        asked, datasource = self._asked, self._datasource
        with_placeholders = asked.query is not None
        lists = list_names(asked.query.parameters) if asked.query else ()

        def look() -> Statement:
            self._sql = kept_sql(asked.sql, datasource.engine)
            return parse_statement(
                asked.sql, datasource.engine, placeholders=with_placeholders, lists=lists
            )

        statement = await apart(len(asked.sql), look)
        usual = schemas_of(datasource)[0]
        self._tables = tuple(
            dict.fromkeys(f"{schema or usual}.{table}" for schema, table in statement.tables)
        )
        if any(
            matches(datasource.sensitive, datasource, schema, table)
            for schema, table in statement.tables
        ):
            self._flags = (*self._flags, SENSITIVE)
        return statement

    def prepare(self, statement: Statement) -> Prepared:
        """Return it with its values in the order of its placeholders, about to be run."""
        self._at = time.monotonic()
        values = [self._asked.values[each] for each in statement.names]
        return statement.prepare(values)

    def failed(self, failure: DataFailure) -> None:
        """Note why it did not run, or not to its end."""
        self.code, self._error = failure.code, str(failure)

    def execution(self, shown: Mapping[str, object] | None = None) -> Execution:
        """Return what is kept of it; its values are *shown* where they could not be bound."""
        asked, rows = self._asked, self.rows
        elapsed = (time.monotonic() - self._at) * 1000
        return Execution(
            id=self._desk.new_id(),
            tenant=self._desk.tenant,
            datasource=self._datasource.id,
            query="" if asked.query is None else asked.query.id,
            tool=self._desk.tool,
            sql=self._sql or kept_sql(asked.sql, self._datasource.engine),
            parameters=kept_values(asked.values if shown is None else shown),
            user=self._desk.user,
            source=self._desk.came_by,
            started=self._started,
            ms=elapsed if rows is None else rows.ms,
            row_count=0 if rows is None else len(rows.rows),
            rows_affected=None if rows is None else rows.rows_affected,
            is_modifying=self.is_modifying,
            code=self.code if rows is None else "",
            error=kept_error(self._error or self._stopped()) if rows is None else "",
            flags=self._flags,
            tables=self._tables,
        )

    def _stopped(self) -> str:
        """Return what is said of one whose end nobody waited for."""
        if self.is_modifying:  # it may have come to its end all the same
            return "it was stopped, and whether it changed anything is not known"
        return "it was stopped before its end"


@asynccontextmanager
async def kept(
    desk: Desk, datasource: Datasource, asked: Asked, *, only: Sequence[str] | None = None
) -> AsyncGenerator[Attempt]:
    """Lend a statement to be run, and keep what becomes of it, be that its being cancelled.

    With *only*, nothing but failures with one of these codes is kept.
    """
    attempt = Attempt(desk, datasource, asked)
    try:
        yield attempt
    except DataFailure as failure:
        attempt.failed(failure)
        raise
    finally:
        if only is None or attempt.code in only:
            await keep(desk, attempt.execution())


async def keep(desk: Desk, execution: Execution) -> None:
    """Keep what ran; what cannot be kept is told to the log, and turns nothing into a failure."""
    with anyio.CancelScope(shield=True):
        try:
            await desk.stores.executions.add_execution(execution, within=_PATIENCE)
        except RemitError:
            log.exception("execution cannot be kept", tool=execution.tool, query=execution.query)

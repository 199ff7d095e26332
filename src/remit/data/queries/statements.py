"""Statements of a caller's own: queries, plans, and what a developer executes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from remit.data.desk import Desk
from remit.data.queries.execution import USUAL_ROWS
from remit.data.running import open_source, plan_of, run_modifying, run_reading
from remit.errors import DataFailure
from remit.model.data import DataCode, Rows

_AWAY: Final = frozenset({DataCode.NO_DATASOURCE, DataCode.SERVICE_UNAVAILABLE})

# How SQLite, PostgreSQL and DuckDB say that they read all of a table.
_WHOLE_TABLE: Final = re.compile(
    r"\bSCAN (?!CONSTANT)(?P<sqlite>\w+)(?! USING)|\bSeq Scan on (?P<pg>\w+)"
)
_MOST_HINTS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How the database would run a statement.

    Attributes:
        lines: In the database's own words.
        hints: What would make it cheaper, in ours.
    """

    lines: Sequence[str]
    hints: Sequence[str] = ()


async def run_query(
    desk: Desk, sql: str, *, limit: int = USUAL_ROWS, datasource: str | None = None
) -> Rows:
    """Run a statement that reads.

    Raises:
        DataFailure: The guard or the database refuses.
    """
    source = await open_source(desk, datasource)
    return await run_reading(desk, source, sql, limit=limit)


async def validate(desk: Desk, sql: str, *, datasource: str | None = None) -> str:
    """Return why a statement would not run, or nothing; it is explained, and never run.

    One that modifies is found valid as well: it can be suggested. Definitions cannot be checked.

    Raises:
        DataFailure: `no_datasource` or `service_unavailable`.
    """
    source = await open_source(desk, datasource)
    try:
        await plan_of(desk, source, sql, modifying=True)
    except DataFailure as failure:
        if failure.code in _AWAY:
            raise
        return str(failure)
    return ""


async def explain(desk: Desk, sql: str, *, datasource: str | None = None) -> Plan:
    """Return the plan of a statement that reads, which is never run.

    Raises:
        DataFailure: The guard or the database refuses.
    """
    source = await open_source(desk, datasource)
    lines = await plan_of(desk, source, sql)
    return Plan(lines=lines, hints=_hints(lines))


async def execute(desk: Desk, sql: str, *, datasource: str | None = None) -> Rows:
    """Run one statement of a developer's own, which may change rows and tables.

    Raises:
        DataFailure: `query_not_authorized` for others, and where the datasource is not writable;
            otherwise the guard or the database refuses.
    """
    if not desk.decides:
        raise DataFailure(
            DataCode.QUERY_NOT_AUTHORIZED,
            "only those with the role admin, data or developer execute statements; suggest a query"
            " that modifies instead",
        )
    source = await open_source(desk, datasource)
    return await run_modifying(desk, source, sql)


def _hints(lines: Sequence[str]) -> Sequence[str]:
    """Return what a plan gives to think about."""
    tables = dict.fromkeys(
        found["sqlite"] or found["pg"] for line in lines for found in _WHOLE_TABLE.finditer(line)
    )
    return [
        f"{table} is read as a whole: where it is large, a condition on a column with an index"
        " makes that cheaper"
        for table in list(tables)[:_MOST_HINTS]
    ]

"""What ran on datasources, as rows: added one by one, read by index, gone when old (S2.38)."""

import json
import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import RowMapping, delete, insert, select, tuple_

from remit.model.data import Execution
from remit.storage.data_tables import data_executions
from remit.storage.database import Database
from remit.storage.steps import in_steps

BATCH: Final = 500
"""Rows that are removed in one transaction."""


class Executions:
    """What ran on the datasources of every tenant, and what was refused.

    Args:
        database: Where it is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_execution(self, execution: Execution, *, within: float = math.inf) -> None:
        """Keep one, in so many seconds.

        Raises:
            StorageUnavailable: It cannot be kept, or not in that time.
        """
        async with self._database.writing(within=within) as connection:
            await connection.execute(insert(data_executions).values(_values_of(execution)))

    async def executions(
        self,
        tenant: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        user: str | None = None,
        query: str | None = None,
        datasource: str | None = None,
        before: str | None = None,
        limit: int,
    ) -> Sequence[Execution]:
        """Return what ran, newest first.

        Args:
            tenant: Whose.
            since: Only what began then or later.
            until: Only what began earlier.
            user: Only of that caller, in SUBJECT spelling.
            query: Only of the approved query of that id.
            datasource: Only of the datasource of that id.
            before: Only what comes after the one of that id in this order.
            limit: Most of them.
        """
        columns = data_executions.c
        wanted = {"user": user, "query": query, "datasource": datasource}
        conditions = [columns[name] == value for name, value in wanted.items() if value is not None]
        if since is not None:
            conditions.append(columns.started >= since)
        if until is not None:
            conditions.append(columns.started < until)
        if before is not None:
            place = select(columns.started, columns.seq).where(
                columns.tenant == tenant, columns.id == before
            )
            conditions.append(tuple_(columns.started, columns.seq) < place.scalar_subquery())
        asked = (
            select(data_executions)
            .where(columns.tenant == tenant, *conditions)
            .order_by(columns.started.desc(), columns.seq.desc())
            .limit(limit)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(asked)).mappings().all()
        return [_execution_of(row) for row in rows]

    async def forget_executions(self, tenant: str, before: datetime) -> int:
        """Remove what began before *before*, in small steps; return how many."""
        columns = data_executions.c
        old = (
            select(columns.seq)
            .where(columns.tenant == tenant, columns.started < before)
            .order_by(columns.started, columns.seq)
            .limit(BATCH)
        )
        removed = 0

        async def forget_some() -> bool:
            nonlocal removed
            async with self._database.writing() as connection:
                gone = await connection.execute(delete(data_executions).where(columns.seq.in_(old)))
            removed += gone.rowcount
            return gone.rowcount == BATCH

        await in_steps(forget_some)
        return removed


def _values_of(execution: Execution) -> dict[str, object]:
    return {
        "id": execution.id,
        "tenant": execution.tenant,
        "datasource": execution.datasource,
        "query": execution.query,
        "tool": execution.tool,
        "sql": execution.sql,
        "parameters": json.dumps(dict(execution.parameters)),
        "user": execution.user,
        "source": execution.source,
        "started": execution.started,
        "ms": execution.ms,
        "row_count": execution.row_count,
        "rows_affected": execution.rows_affected,
        "is_modifying": execution.is_modifying,
        "code": execution.code,
        "error": execution.error,
        "flags": list(execution.flags),
        "tables": list(execution.tables),
    }


def _execution_of(row: RowMapping) -> Execution:
    fields: dict[str, Any] = {
        **row,
        "parameters": json.loads(row["parameters"]),
        "flags": tuple(row["flags"]),
        "tables": tuple(row["tables"]),
    }
    del fields["seq"]
    return Execution(**fields)

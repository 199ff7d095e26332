"""Approved queries and suggestions as rows (S2.30).

Each is written whole, and only if it still is the version that its writer has seen; uses are
counted beside the version, since using a query is no change of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import RowMapping, insert, select, update
from sqlalchemy.exc import IntegrityError

from remit.errors import Outdated
from remit.model.data import (
    Column,
    EngineKind,
    Parameter,
    ParameterType,
    Query,
    QueryStatus,
)
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.data_tables import data_queries
from remit.storage.database import Database

_COUNTED: Final = ("usage_count", "last_used")


class Queries:
    """The approved queries of every tenant, and what is suggested for them.

    Args:
        database: Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_query(
        self, tenant: str, query_id: str, *, deleted: bool = False
    ) -> Query | None:
        """Return one, or None; one that is deleted only where that is asked for."""
        columns = data_queries.c
        query = select(data_queries).where(columns.tenant == tenant, columns.id == query_id)
        if not deleted:
            query = query.where(columns.deleted.is_(None))
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).mappings().one_or_none()
        return None if row is None else _query_of(row)

    async def queries(
        self,
        tenant: str,
        *,
        status: QueryStatus | None = None,
        datasource: str | None = None,
        parent: str | None = None,
    ) -> Sequence[Query]:
        """Return those that are not deleted, oldest first.

        Args:
            tenant: Whose.
            status: Only those that stand there.
            datasource: Only those of the datasource of that id.
            parent: Only updates of the query of that id.
        """
        columns = data_queries.c
        query = select(data_queries).where(columns.tenant == tenant, columns.deleted.is_(None))
        if status is not None:
            query = query.where(columns.status == status.value)
        if datasource is not None:
            query = query.where(columns.datasource == datasource)
        if parent is not None:
            query = query.where(columns.parent == parent)
        async with self._database.reading() as connection:
            found = await connection.execute(query.order_by(columns.created, columns.id))
            rows = found.mappings().all()
        return [_query_of(row) for row in rows]

    async def write_queries(self, queries: Sequence[Query]) -> None:
        """Write several at once, each with the version that was seen; a new one has version 0.

        Raises:
            Outdated: One was changed meanwhile; nothing is written.
        """
        async with self._database.writing() as connection:
            # in one order, so that no two writers wait for each other
            for query in sorted(queries, key=attrgetter("id")):
                await _write(connection, query)

    async def note_use(self, tenant: str, query_id: str, now: datetime) -> None:
        """Count a use; that is no change of the query."""
        columns = data_queries.c
        statement = (
            update(data_queries)
            .where(columns.tenant == tenant, columns.id == query_id)
            .values(usage_count=columns.usage_count + 1, last_used=now)
        )
        async with self._database.writing() as connection:
            await connection.execute(statement)


async def _write(connection: AsyncConnection, seen: Query) -> None:
    values = _values_of(replace(seen, version=seen.version + 1))
    if seen.version == 0:
        try:
            await connection.execute(insert(data_queries).values(values))
        except IntegrityError:
            raise Outdated(f"somebody else made the query {seen.id!r} meanwhile") from None
        return
    columns = data_queries.c
    statement = (
        update(data_queries)
        .where(
            columns.tenant == seen.tenant, columns.id == seen.id, columns.version == seen.version
        )
        .values({name: value for name, value in values.items() if name not in _COUNTED})
        .returning(columns.id)
    )
    if (await connection.execute(statement)).one_or_none() is None:
        raise Outdated(f"the query {seen.id!r} was changed by somebody else meanwhile")


def _values_of(query: Query) -> dict[str, object]:
    return {
        "tenant": query.tenant,
        "id": query.id,
        "datasource": query.datasource,
        "name": query.name,
        "description": query.description,
        "sql": query.sql,
        "dialect": query.dialect.value,
        "is_enabled": query.is_enabled,
        "usage_count": query.usage_count,
        "last_used": query.last_used,
        "parameters": [_parameter_values(each) for each in query.parameters],
        "output_columns": [
            {"name": each.name, "type": each.type, "description": each.description}
            for each in query.output_columns
        ],
        "constraints": query.constraints,
        "status": query.status.value,
        "suggested_by": query.suggested_by,
        "suggestion_context": query.suggestion_context,
        "changed": list(query.changed),
        "tags": list(query.tags),
        "allows_modification": query.allows_modification,
        "reviewed_by": query.reviewed_by,
        "reviewed": query.reviewed,
        "rejection_reason": query.rejection_reason,
        "parent": query.parent,
        "deleted": query.deleted,
        "created": query.created,
        "updated": query.updated,
        "version": query.version,
    }


def _parameter_values(parameter: Parameter) -> dict[str, object]:
    return {
        "name": parameter.name,
        "type": parameter.type.value,
        "description": parameter.description,
        "required": parameter.required,
        "default": parameter.default,
        "example": parameter.example,
    }


def _query_of(row: RowMapping) -> Query:
    fields: dict[str, Any] = {
        **row,
        "dialect": EngineKind(row["dialect"]),
        "status": QueryStatus(row["status"]),
        "parameters": tuple(map(_parameter_of, row["parameters"])),
        "output_columns": tuple(Column(**each) for each in row["output_columns"]),
        "changed": tuple(row["changed"]),
        "tags": tuple(row["tags"]),
    }
    return Query(**fields)


def _parameter_of(values: Mapping[str, Any]) -> Parameter:
    fields: dict[str, Any] = {**values, "type": ParameterType(values["type"])}
    return Parameter(**fields)

"""What is known of datasources, as rows: read value by value, written together or not at all.

Rows are written in one order (new items, changed items, removed ones, each by place; the schema;
changes by id), so that no two transactions wait for each other.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, delete, select, update

from remit.errors import Outdated
from remit.model.ontology import ChangeStatus, Item, ItemKind, PendingChange, Schema
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.data_tables import data_changes, data_items, data_schemas
from remit.storage.database import Database
from remit.storage.ontology_rows import (
    change_of,
    change_values,
    item_of,
    item_values,
    schema_of,
    schema_values,
)
from remit.storage.versions import add_new

_PLACE: Final = ("tenant", "datasource", "kind", "key")
_by_place = attrgetter(*_PLACE)
_by_id = attrgetter("tenant", "id")


class Ontology:
    """Items, schemas and pending changes of every tenant.

    Args:
        database: Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def items(
        self, tenant: str, datasource: str, kind: ItemKind | None = None
    ) -> Sequence[Item]:
        """Return what is there, by kind and key, in the order of code points."""
        columns = data_items.c
        query = select(data_items).where(columns.tenant == tenant, columns.datasource == datasource)
        if kind is not None:
            query = query.where(columns.kind == kind.value)
        # sorted here, as databases sort texts each in a way of their own
        return sorted((item_of(row) for row in await self._all(query)), key=_by_place)

    async def find_schema(self, tenant: str, datasource: str) -> Schema | None:
        """Return what the datasource was seen to hold, or None before the first look."""
        columns = data_schemas.c
        query = select(data_schemas).where(
            columns.tenant == tenant, columns.datasource == datasource
        )
        rows = await self._all(query)
        return schema_of(rows[0]) if rows else None

    async def find_change(self, tenant: str, change_id: str) -> PendingChange | None:
        """Return one, or None."""
        columns = data_changes.c
        query = select(data_changes).where(columns.tenant == tenant, columns.id == change_id)
        rows = await self._all(query)
        return change_of(rows[0]) if rows else None

    async def changes(
        self,
        tenant: str,
        datasource: str,
        *,
        status: ChangeStatus | None = None,
        limit: int | None = None,
    ) -> Sequence[PendingChange]:
        """Return pending and decided changes, oldest first."""
        columns = data_changes.c
        query = select(data_changes).where(
            columns.tenant == tenant, columns.datasource == datasource
        )
        if status is not None:
            query = query.where(columns.status == status.value)
        ordered = query.order_by(columns.created, columns.id).limit(limit)
        return [change_of(row) for row in await self._all(ordered)]

    async def write(
        self,
        *,
        items: Sequence[Item] = (),
        removed: Sequence[Item] = (),
        schema: Schema | None = None,
        changes: Sequence[PendingChange] = (),
    ) -> None:
        """Write all of it at once, each with the version that was seen; a new one has version 0.

        Raises:
            Outdated: One was changed meanwhile; nothing is written.
        """
        async with self._database.writing() as connection:
            await _write_items(connection, sorted(items, key=_by_place))
            for item in sorted(removed, key=_by_place):
                gone = delete(data_items).where(*_place_of(item)).returning(data_items.c.version)
                await _require_one(connection, gone)
            if schema is not None:
                await _write_schema(connection, schema)
            await _write_changes(connection, sorted(changes, key=_by_id))

    async def _all(self, query: Select[Any]) -> Sequence[Any]:
        async with self._database.reading() as connection:
            return (await connection.execute(query)).all()


def _place_of(item: Item) -> Iterable[ColumnElement[bool]]:
    columns = data_items.c
    return (
        columns.tenant == item.tenant,
        columns.datasource == item.datasource,
        columns.kind == item.kind.value,
        columns.key == item.key,
        columns.version == item.version,
    )


async def _write_items(connection: AsyncConnection, items: Sequence[Item]) -> None:
    await add_new(connection, data_items, [item_values(each) for each in items if not each.version])
    for item in items:
        if item.version:
            changed = update(data_items).where(*_place_of(item)).values(item_values(item))
            await _require_one(connection, changed.returning(data_items.c.version))


async def _write_schema(connection: AsyncConnection, schema: Schema) -> None:
    values = schema_values(schema)
    if not schema.version:
        await add_new(connection, data_schemas, [values])
        return
    columns = data_schemas.c
    changed = update(data_schemas).where(
        columns.tenant == schema.tenant,
        columns.datasource == schema.datasource,
        columns.version == schema.version,
    )
    await _require_one(connection, changed.values(values).returning(columns.version))


async def _write_changes(connection: AsyncConnection, changes: Sequence[PendingChange]) -> None:
    await add_new(
        connection, data_changes, [change_values(each) for each in changes if not each.version]
    )
    columns = data_changes.c
    for change in changes:
        if change.version:
            decided = update(data_changes).where(
                columns.tenant == change.tenant,
                columns.id == change.id,
                columns.version == change.version,
            )
            values = change_values(change)
            await _require_one(connection, decided.values(values).returning(columns.version))


async def _require_one(connection: AsyncConnection, statement: Any) -> None:
    if (await connection.execute(statement)).one_or_none() is None:
        raise Outdated("it was changed by somebody else meanwhile")

"""Datasources as rows; one that is taken away takes along all that is known of it."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from sqlalchemy import ColumnElement, case, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from remit.errors import Conflict, Outdated
from remit.model.data import Datasource, EngineKind
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.data_tables import (
    data_changes,
    data_items,
    data_queries,
    data_schemas,
    data_sources,
)
from remit.storage.database import Database
from remit.storage.dialects import take_turn

_OF_IT: Final = (data_queries, data_items, data_schemas, data_changes)
"""What goes with a datasource. What ran on it stays: that is history."""

_DEFAULTS: Final = 0x64656661  # any number that every remit agrees on: "defa"
_LISTS: Final = ("schemas", "sensitive")


class Datasources:
    """The datasources of every tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all_datasources(self, tenant: str) -> Sequence[Datasource]:
        """Return a tenant's, by name."""
        query = select(data_sources).where(data_sources.c.tenant == tenant)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return sorted(map(_datasource, rows), key=lambda each: each.name)

    async def find_datasource(self, tenant: str, name_or_id: str) -> Datasource | None:
        """Return the one of that id, or else of that name, or None."""
        c = data_sources.c
        query = (
            select(data_sources)
            .where(c.tenant == tenant, or_(c.id == name_or_id, c.name == name_or_id))
            .order_by(case((c.id == name_or_id, 0), else_=1))
            .limit(1)
        )
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).mappings().one_or_none()
        return None if row is None else _datasource(row)

    async def write_datasource(self, datasource: Datasource) -> None:
        """Write one whose version is the one that was seen; a new one has version 0.

        One that becomes the default takes that from the one which was.

        Raises:
            Outdated: It was changed meanwhile.
            Conflict: The name is taken.
        """
        written = _values(replace(datasource, version=datasource.version + 1))
        try:
            async with self._database.writing() as connection:
                if datasource.is_default:
                    await _take_default(connection, datasource)
                if datasource.version == 0:
                    await connection.execute(insert(data_sources).values(written))
                    return
                changing = update(data_sources).where(_seen(datasource)).values(written)
                if (await connection.execute(changing)).rowcount != 1:
                    raise _outdated(datasource)
        except IntegrityError:
            raise Conflict(f"a datasource {datasource.name!r} exists already") from None

    async def remove_datasource(self, datasource: Datasource) -> None:
        """Take one away with its queries and its ontology; what ran on it stays on record.

        Raises:
            Outdated: It was changed meanwhile.
        """
        async with self._database.writing() as connection:
            removing = delete(data_sources).where(_seen(datasource))
            if (await connection.execute(removing)).rowcount != 1:
                raise _outdated(datasource)
            for table in _OF_IT:
                await connection.execute(
                    delete(table).where(
                        table.c.tenant == datasource.tenant, table.c.datasource == datasource.id
                    )
                )


async def _take_default(connection: AsyncConnection, datasource: Datasource) -> None:
    """Let no other one of the tenant be the default; whoever has seen that one looks again."""
    c = data_sources.c
    await connection.run_sync(take_turn, _DEFAULTS)  # of two who do this at once, the later wins
    await connection.execute(
        update(data_sources)
        .where(c.tenant == datasource.tenant, c.id != datasource.id, c.is_default.is_(True))
        .values(is_default=False, version=c.version + 1)
    )


def _seen(datasource: Datasource) -> ColumnElement[bool]:
    c = data_sources.c
    return (
        (c.tenant == datasource.tenant)
        & (c.id == datasource.id)
        & (c.version == datasource.version)
    )


def _outdated(datasource: Datasource) -> Outdated:
    return Outdated(f"datasource {datasource.name!r} was changed by somebody else meanwhile")


def _values(datasource: Datasource) -> Mapping[str, object]:
    values = {each.name: getattr(datasource, each.name) for each in fields(datasource)}
    values["engine"] = datasource.engine.value
    values["tables"] = None if datasource.tables is None else list(datasource.tables)
    return values | {name: list(values[name]) for name in _LISTS}


def _datasource(row: Mapping[Any, Any]) -> Datasource:
    values: dict[str, Any] = dict(row)
    values["engine"] = EngineKind(values["engine"])
    for name in ("tables", *_LISTS):
        if values[name] is not None:
            values[name] = tuple(values[name])
    return Datasource(**values)

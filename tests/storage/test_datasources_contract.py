"""What the store of datasources does, on both databases."""

from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest
from sqlalchemy import JSON, Table, func, insert, select

from remit.errors import Conflict, Outdated
from remit.model.data import Datasource, EngineKind
from remit.storage.data_tables import (
    data_changes,
    data_executions,
    data_items,
    data_queries,
    data_schemas,
)
from remit.storage.database import Database
from remit.storage.datasources import Datasources

NOW = datetime(2026, 11, 29, 1, 2, 3, 456789, tzinfo=UTC)
SHOP = Datasource(
    id="d1",
    tenant="default",
    name="shop",
    engine=EngineKind.POSTGRESQL,
    location="postgresql://reader@db.test/shop",
    reader="v1:sealed",
    writer="v1:also",
    is_writable=True,
    schemas=("public", "sales"),
    tables=("orders", "sales.*"),
    sensitive=("customers",),
    row_limit=200,
    time_limit=2.5,
    concurrency=3,
    created=NOW,
    updated=NOW,
)
FILES = replace(SHOP, id="d2", name="files", engine=EngineKind.DUCKDB, tables=None)
FOREIGN = replace(SHOP, tenant="acme")


@pytest.fixture
def datasources(database: Database) -> Datasources:
    return Datasources(database)


async def test_what_is_written_is_read_as_it_was_by_id_and_by_name(
    datasources: Datasources,
) -> None:
    await datasources.write_datasource(SHOP)

    kept = replace(SHOP, version=1)
    assert await datasources.find_datasource("default", "shop") == kept
    assert await datasources.find_datasource("default", "d1") == kept
    assert await datasources.all_datasources("default") == [kept]


@pytest.mark.parametrize("tables", [None, ()])
async def test_every_table_and_no_table_are_kept_apart(
    datasources: Datasources, tables: tuple[str, ...] | None
) -> None:
    await datasources.write_datasource(replace(SHOP, tables=tables))

    found = await datasources.find_datasource("default", "shop")

    assert found is not None
    assert found.tables == tables


async def test_tenants_see_their_own_alone(datasources: Datasources) -> None:
    await datasources.write_datasource(SHOP)
    await datasources.write_datasource(replace(FOREIGN, name="theirs", is_default=True))
    await datasources.write_datasource(replace(SHOP, version=1, is_default=True))

    assert await datasources.find_datasource("default", "theirs") is None
    assert [each.name for each in await datasources.all_datasources("default")] == ["shop"]
    assert [each.is_default for each in await datasources.all_datasources("acme")] == [True]
    await datasources.remove_datasource(replace(SHOP, version=2))
    assert await datasources.find_datasource("acme", "d1") is not None


async def test_an_id_comes_before_a_name(datasources: Datasources) -> None:
    await datasources.write_datasource(SHOP)
    await datasources.write_datasource(replace(FILES, name="d1"))

    found = await datasources.find_datasource("default", "d1")

    assert found is not None
    assert found.name == "shop"


async def test_a_name_is_taken_once_in_a_tenant(datasources: Datasources) -> None:
    await datasources.write_datasource(SHOP)
    await datasources.write_datasource(FILES)
    await datasources.write_datasource(FOREIGN)

    with pytest.raises(Conflict, match="exists already"):
        await datasources.write_datasource(replace(SHOP, id="d3"))
    with pytest.raises(Conflict, match="exists already"):
        await datasources.write_datasource(replace(FILES, name="shop", version=1))


async def test_of_two_who_change_one_the_second_has_to_look_again(
    datasources: Datasources,
) -> None:
    await datasources.write_datasource(SHOP)
    seen = replace(SHOP, version=1)
    await datasources.write_datasource(replace(seen, row_limit=7))

    with pytest.raises(Outdated):
        await datasources.write_datasource(replace(seen, row_limit=8))
    with pytest.raises(Outdated):
        await datasources.remove_datasource(seen)
    found = await datasources.find_datasource("default", "shop")
    assert found == replace(seen, row_limit=7, version=2)


async def test_one_at_most_is_the_default(datasources: Datasources) -> None:
    await datasources.write_datasource(replace(SHOP, is_default=True))
    await datasources.write_datasource(replace(FILES, is_default=True))

    files, shop = await datasources.all_datasources("default")

    assert (files.is_default, shop.is_default) == (True, False)
    assert shop.version == 2


async def test_of_many_who_want_to_be_the_default_at_once_one_is(
    datasources: Datasources,
) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(6):
            made = replace(SHOP, id=f"d{number}", name=f"n{number}", is_default=True)
            tasks.start_soon(datasources.write_datasource, made)

    every = await datasources.all_datasources("default")

    assert [each.is_default for each in every].count(True) == 1


async def test_removing_one_takes_along_what_is_known_of_it_but_not_what_ran(
    database: Database, datasources: Datasources
) -> None:
    await datasources.write_datasource(SHOP)
    await datasources.write_datasource(FILES)
    async with database.writing() as connection:
        for source in ("d1", "d2"):
            for table, row in _rows_of(source).items():
                await connection.execute(insert(table).values(row))

    await datasources.remove_datasource(replace(SHOP, version=1))

    async with database.reading() as connection:
        counts = {
            table.name: (await connection.execute(select(func.count()).select_from(table))).scalar()
            for table in _rows_of("d1")
        }
        left = (await connection.execute(select(data_items.c.datasource))).scalars().all()
    assert counts == {
        "data_queries": 1,
        "data_items": 1,
        "data_schemas": 1,
        "data_changes": 1,
        "data_executions": 2,
    }
    assert left == ["d2"]
    assert [each.name for each in await datasources.all_datasources("default")] == ["files"]


def _rows_of(source: str) -> dict[Table, dict[str, object]]:
    rows = {table: _filled(table, source) for table in (data_items, data_schemas)}
    for table in (data_queries, data_changes, data_executions):
        rows[table] = _filled(table, source) | {"id": f"{table.name}-{source}"}
    return rows


def _filled(table: Table, source: str) -> dict[str, object]:
    """Return something for every column that wants something."""
    values: dict[str, object] = {"tenant": "default", "datasource": source}
    for column in table.c:
        if not column.nullable and column.name not in (*values, "seq"):
            kind = object
            if not isinstance(column.type, JSON):
                kind = getattr(column.type, "impl_instance", column.type).python_type
            values[column.name] = NOW if kind is datetime else [] if kind is object else kind()
    return values

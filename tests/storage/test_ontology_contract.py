"""What the store of the ontology does, on both databases (S2.41-S2.44)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import anyio
import pytest

from remit.errors import Outdated
from remit.model.ontology import (
    ChangeSource,
    ChangeStatus,
    ChangeType,
    ForeignKey,
    Item,
    ItemKind,
    PendingChange,
    Provenance,
    Schema,
    SchemaColumn,
    SchemaTable,
    Source,
)
from remit.storage.database import Database
from remit.storage.ontology import Ontology

NOW = datetime(2026, 11, 29, 1, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
BY = Provenance(
    created_source=Source.INFERRED,
    created_by="remit",
    created=NOW,
    edited_source=Source.MCP,
    edited_by="user:ann",
    edited=LATER,
)
CUSTOMER = Item(
    tenant="default",
    datasource="d1",
    kind=ItemKind.ENTITY,
    key="customer",
    body={"name": "Customer", "aliases": ["client", "Kundin ü"], "deep": {"n": [1, None, 2.5]}},
    provenance=BY,
)
TABLE = SchemaTable(
    schema="main",
    name="orders",
    columns=(
        SchemaColumn(name="id", type="integer", nullable=False, is_primary_key=True),
        SchemaColumn(name="customer_id", type="integer", default="0"),
    ),
    foreign_keys=(
        ForeignKey(column="customer_id", to_schema="main", to_table="customers", to_column="id"),
    ),
    rows=12,
    is_selected=False,
)
SCHEMA = Schema(tenant="default", datasource="d1", tables=(TABLE,), refreshed=NOW)
CHANGE = PendingChange(
    id="c1",
    tenant="default",
    datasource="d1",
    type=ChangeType.MODIFIED_COLUMN,
    source=ChangeSource.SCHEMA_REFRESH,
    table="main.orders",
    column="total",
    old={"type": "integer"},
    new=["text", None],
    action="review",
    payload={"why": "it is another type"},
    created=NOW,
)


@pytest.fixture
def ontology(database: Database) -> Ontology:
    return Ontology(database)


def _keys(items: Sequence[Item]) -> list[tuple[str, str]]:
    return [(item.kind.value, item.key) for item in items]


async def test_an_item_comes_back_as_it_was_written(ontology: Ontology) -> None:
    await ontology.write(items=[CUSTOMER])

    assert await ontology.items("default", "d1") == [replace(CUSTOMER, version=1)]


async def test_items_come_by_kind_and_key_in_the_order_of_code_points(ontology: Ontology) -> None:
    places = [
        (ItemKind.TERM, "zeal"),
        (ItemKind.ENTITY, "zebra"),
        (ItemKind.ENTITY, "_x"),
        (ItemKind.ENTITY, "Zoo"),
        (ItemKind.ENTITY, "ähre"),
    ]
    await ontology.write(items=[replace(CUSTOMER, kind=kind, key=key) for kind, key in places])

    assert _keys(await ontology.items("default", "d1")) == [
        ("entity", "Zoo"),
        ("entity", "_x"),
        ("entity", "zebra"),
        ("entity", "ähre"),
        ("term", "zeal"),
    ]
    assert _keys(await ontology.items("default", "d1", ItemKind.TERM)) == [("term", "zeal")]


async def test_what_postgresql_refuses_is_kept_spelled_out(ontology: Ontology) -> None:
    odd = replace(CUSTOMER, key="nul \x00", body={"name": "half \ud83d nul \x00"})
    await ontology.write(items=[odd])

    (found,) = await ontology.items("default", "d1")

    assert found.key == "nul \\u0000"
    assert found.body == {"name": "half \\ud83d nul \\u0000"}


async def test_tenants_and_datasources_are_apart(ontology: Ontology) -> None:
    elsewhere = replace(CUSTOMER, tenant="acme")
    beside = replace(CUSTOMER, datasource="d2")
    await ontology.write(
        items=[CUSTOMER, elsewhere, beside],
        schema=replace(SCHEMA, tenant="acme"),
        changes=[CHANGE, replace(CHANGE, tenant="acme"), replace(CHANGE, id="c2", datasource="d2")],
    )

    assert await ontology.items("default", "d1") == [replace(CUSTOMER, version=1)]
    assert await ontology.find_schema("default", "d1") is None
    assert await ontology.changes("default", "d1") == [replace(CHANGE, version=1)]
    assert await ontology.find_change("acme", "c2") is None


async def test_a_schema_comes_back_as_it_was_written(ontology: Ontology) -> None:
    assert await ontology.find_schema("default", "d1") is None

    await ontology.write(schema=SCHEMA)

    assert await ontology.find_schema("default", "d1") == replace(SCHEMA, version=1)


async def test_changes_come_oldest_first_by_status_and_limit(ontology: Ontology) -> None:
    first = replace(CHANGE, id="z", created=NOW - timedelta(hours=1), old=None, new=False)
    done = replace(
        CHANGE, id="b", status=ChangeStatus.APPROVED, decided=LATER, decided_by="user:ann"
    )
    await ontology.write(changes=[CHANGE, first, done])

    assert [each.id for each in await ontology.changes("default", "d1")] == ["z", "b", "c1"]
    pending = await ontology.changes("default", "d1", status=ChangeStatus.PENDING, limit=1)
    assert pending == [replace(first, version=1)]
    assert await ontology.find_change("default", "b") == replace(done, version=1)


async def test_who_saw_an_older_version_writes_nothing_at_all(ontology: Ontology) -> None:
    await ontology.write(items=[CUSTOMER], schema=SCHEMA, changes=[CHANGE])
    item = replace(CUSTOMER, version=1)
    schema = replace(SCHEMA, version=1)
    change = replace(CHANGE, version=1)
    await ontology.write(items=[item], schema=schema, changes=[change])

    fresh = replace(CUSTOMER, key="fresh")
    absent = replace(CUSTOMER, key="never there", version=1)
    for stale in (
        partial(ontology.write, items=[fresh, item]),
        partial(ontology.write, items=[fresh], removed=[item]),
        partial(ontology.write, items=[fresh], schema=schema),
        partial(ontology.write, items=[fresh], changes=[change]),
        partial(ontology.write, items=[fresh, CUSTOMER]),
        partial(ontology.write, items=[fresh], schema=SCHEMA),
        partial(ontology.write, items=[fresh], changes=[CHANGE]),
        partial(ontology.write, items=[fresh], removed=[absent]),
    ):
        with pytest.raises(Outdated):
            await stale()

    assert await ontology.items("default", "d1") == [replace(CUSTOMER, version=2)]
    assert await ontology.find_schema("default", "d1") == replace(SCHEMA, version=2)
    assert await ontology.changes("default", "d1") == [replace(CHANGE, version=2)]


async def test_what_is_removed_is_gone_and_may_be_made_anew(ontology: Ontology) -> None:
    await ontology.write(items=[CUSTOMER])
    await ontology.write(removed=[replace(CUSTOMER, version=1)])

    assert await ontology.items("default", "d1") == []
    await ontology.write(items=[CUSTOMER])
    assert _keys(await ontology.items("default", "d1")) == [("entity", "customer")]


async def test_of_many_writers_at_once_each_version_has_one(ontology: Ontology) -> None:
    await ontology.write(items=[CUSTOMER])
    refused = 0

    async def count() -> None:
        nonlocal refused
        while True:
            [found] = await ontology.items("default", "d1")
            seen = found.body.get("count", 0)
            assert isinstance(seen, int)
            try:
                await ontology.write(items=[replace(found, body={"count": seen + 1})])
            except Outdated:
                refused += 1
            else:
                return

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(count)

    [found] = await ontology.items("default", "d1")
    assert (found.body, found.version) == ({"count": 8}, 9)

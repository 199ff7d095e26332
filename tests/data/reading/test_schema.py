"""The schema as a caller may see it (S2.10, 18)."""

from typing import Any

import pytest
from tests.data.reading.shops import NOW, Shop, call

from remit.data.reading import schema as module
from remit.model.ontology import Schema as Held
from remit.model.ontology import SchemaColumn, SchemaTable
from remit.model.principals import DEFAULT_TENANT, UserRole

NAMES = ["big", "customers", "empties", "many", 'odd "name', "orders", "spenders", "visits"]


def _names(schema: dict[str, Any]) -> list[str]:
    return [table["name"].rpartition(".")[2] for table in schema["tables"]]


async def test_the_schema_has_what_may_be_used_and_nothing_else(shop: Shop) -> None:
    schema = await call(shop.desk(UserRole.ADMIN), "get_schema")

    assert _names(schema) == NAMES
    assert "vault" not in str([table["name"] for table in schema["tables"]])
    assert schema["refreshed"] is None


async def test_columns_have_types_keys_and_references_to_what_may_be_used(shop: Shop) -> None:
    schema = await call(shop.desk(), "get_schema")

    orders = next(each for each in schema["tables"] if each["name"].endswith(".orders"))
    by_name = {column["name"]: column for column in orders["columns"]}
    assert by_name["id"]["is_primary_key"]
    assert by_name["customer_id"]["references"].endswith(".customers.id")
    assert by_name["vault_id"]["references"] is None
    assert next(each for each in schema["tables"] if each["name"].endswith("spenders"))["is_view"]


async def test_meaning_is_told_unless_it_is_turned_off(told: Shop) -> None:
    whole = await call(told.desk(), "get_schema")
    bare = await call(told.desk(), "get_schema", include_entities=False)

    orders = next(each for each in whole["tables"] if each["name"] == "main.orders")
    status = next(each for each in orders["columns"] if each["name"] == "status")
    assert orders["entity"] == "Order"
    assert status["meaning"]["enum_values"][0] == {"value": "paid", "label": "Paid for"}
    assert "Order" not in str(bare)
    assert "settled" not in str(bare)


@pytest.mark.parametrize(
    ("role", "selected_only", "is_seen"),
    [
        (UserRole.USER, False, False),
        (UserRole.USER, True, False),
        (UserRole.DATA, False, True),
        (UserRole.DATA, True, False),
    ],
)
async def test_tables_that_wait_to_be_selected_are_seen_by_those_who_decide(
    shop_in_sqlite: Shop, role: UserRole, *, selected_only: bool, is_seen: bool
) -> None:
    await shop_in_sqlite.refresh(unselected=["visits", "vault"])

    schema = await call(shop_in_sqlite.desk(role), "get_schema", selected_only=selected_only)

    waiting = [table["name"] for table in schema["tables"] if not table["is_selected"]]
    assert waiting == (["main.visits"] if is_seen else [])
    assert ("main.visits" in str(schema)) is is_seen


async def test_a_large_schema_is_cut_and_says_what_to_do(told: Shop) -> None:
    columns = tuple(SchemaColumn(name=f"c{i}", type="integer") for i in range(900))
    tables = [
        SchemaTable(schema="main", name=name, columns=columns)
        for name in ("customers", "orders", "visits")
    ]
    stored = await told.stores.ontology.find_schema(DEFAULT_TENANT, "d1")
    assert stored is not None
    held = Held(
        tenant=DEFAULT_TENANT, datasource="d1", tables=tables, refreshed=NOW, version=stored.version
    )
    await told.stores.ontology.write(schema=held)

    schema = await call(told.desk(), "get_schema")

    assert [len(table.get("columns", ())) for table in schema["tables"]] == [900, 900, 0]
    assert schema["tables"][2]["column_count"] == 900
    assert schema["truncated"]
    assert "get_context" in schema["next"]
    assert 2 * 900 <= module.MOST_COLUMNS < 3 * 900

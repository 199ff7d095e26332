"""Reading a schema again, and what follows from what differs (S2.43, S2.44)."""

from typing import Any

import anyio
import pytest
from tests.data.ontology.conftest import Place

from remit.data.ontology.inference import column_role, entity_name
from remit.model.data import EngineKind
from remit.model.ontology import ColumnRole, ItemKind, SchemaColumn

CUSTOMERS_ANEW = (
    "CREATE TABLE customers"
    " (id INTEGER PRIMARY KEY, name INTEGER, city VARCHAR(80), region VARCHAR(10))"
)


async def test_the_first_look_finds_every_table_that_is_declared_and_infers_what_it_is(
    place: Place,
) -> None:
    found = await place.ann.calls("refresh_schema")

    assert (found["tables"], found["selected"], found["pending"]) == (3, 3, 0)
    assert found["counts"] == {"new_table": 3}
    assert {each["status"] for each in found["changes"]} == {"auto_applied"}
    assert found["inferred"]["entity"] == 3
    assert found["inferred"]["relationship"] == 2
    schema = await place.office.ontology.find_schema("default", "d1")
    assert schema is not None
    assert [table.name for table in schema.tables] == ["customers", "orders", "products"]
    place_of = schema.tables[0].schema

    customer = await place.body(ItemKind.ENTITY, "customer")
    assert customer is not None
    assert (customer["name"], customer["table"], customer["column"]) == (
        "Customer",
        "customers",
        "id",
    )
    related = await place.body(ItemKind.RELATIONSHIP, "order->customer")
    assert related is not None
    assert (related["cardinality"], related["detection"]) == ("N:1", "foreign_key")
    roles = {
        name: (await place.body(ItemKind.COLUMN, f"{place_of}.{name}") or {}).get("role")
        for name in ("orders.customer_id", "orders.status", "orders.placed", "products.price")
    }
    assert roles == {
        "orders.customer_id": "identifier",
        "orders.status": "dimension",
        "orders.placed": "dimension",
        "products.price": "measure",
    }
    items = await place.office.ontology.items("default", "d1", ItemKind.ENTITY)
    [order] = [item for item in items if item.key == "order"]
    assert order.provenance.created_source == "inferred"
    assert order.provenance.created_by == "remit"


async def test_a_second_look_finds_nothing_new(place: Place) -> None:
    await place.ann.calls("refresh_schema")
    before = await place.office.ontology.items("default", "d1")

    found = await place.ann.calls("refresh_schema")

    assert (found["counts"], found["changes"], sum(found["inferred"].values())) == ({}, [], 0)
    assert await place.office.ontology.items("default", "d1") == before


async def test_everything_that_differs_is_told_and_the_stored_schema_follows(place: Place) -> None:
    await place.ann.calls("refresh_schema")
    changed = {
        EngineKind.SQLITE: ("ALTER TABLE products RENAME TO gone",),
        EngineKind.DUCKDB: ("DROP TABLE orders", "DROP TABLE products"),
        EngineKind.POSTGRESQL: ("DROP TABLE products CASCADE",),
    }[place.datasource.engine]
    await place.run(
        *changed,
        "CREATE TABLE extra (id INTEGER PRIMARY KEY, amount INTEGER)",
        "CREATE TABLE extra_new (id INTEGER PRIMARY KEY)",
        *(
            ("DROP TABLE customers", CUSTOMERS_ANEW)
            if place.datasource.engine is EngineKind.SQLITE
            else (
                "ALTER TABLE customers DROP COLUMN email",
                "ALTER TABLE customers ADD COLUMN region VARCHAR(10)",
                "ALTER TABLE customers ALTER COLUMN name TYPE VARCHAR(99)"
                if place.datasource.engine is EngineKind.POSTGRESQL
                else "ALTER TABLE customers ALTER COLUMN name TYPE INTEGER USING 1",
            )
        ),
    )

    found = await place.ann.calls("refresh_schema", auto_select=False)

    assert found["counts"]["new_table"] == 2
    assert found["counts"]["dropped_table"] >= 1
    assert found["counts"]["new_column"] == 1
    assert found["counts"]["dropped_column"] == 1
    assert found["counts"]["modified_column"] >= 1
    assert found["pending"] == sum(found["counts"].values())
    (column,) = await place.named("new_column")
    assert (column["column"], column["action"]) == ("region", "update_column")
    assert column["payload"] == {"role": "dimension", "entity": ""}
    (dropped,) = await place.named("dropped_column")
    assert (dropped["column"], dropped["new"]) == ("email", None)
    schema = await place.office.ontology.find_schema("default", "d1")
    assert schema is not None
    selected = {table.name: table.is_selected for table in schema.tables}
    assert (selected["customers"], selected["extra"], selected["extra_new"]) == (True, False, False)
    assert "products" not in selected


async def test_a_table_that_waits_is_not_used_before_it_is_approved(sqlite_place: Place) -> None:
    ann = sqlite_place.ann
    found = await ann.calls("refresh_schema", auto_select=False)
    assert (found["selected"], found["pending"], found["inferred"]["entity"]) == (0, 3, 0)
    assert (await ann.fails("update_column", table="orders", column="id")).code == "table_not_found"

    changes = {each["table"]: each for each in await sqlite_place.named("new_table")}
    approved = await ann.calls("approve_change", change_id=changes["main.orders"]["change_id"])
    assert (approved["status"], approved["decided_by"]) == ("approved", "user:ann")
    await ann.calls("update_column", table="orders", column="id", description="x")
    assert await sqlite_place.body(ItemKind.ENTITY, "order") is not None
    await ann.calls("reject_change", change_id=changes["main.products"]["change_id"])
    failed = await ann.fails("update_column", table="products", column="id")
    assert failed.code == "table_not_found"

    again = await ann.calls("refresh_schema")  # what waits or was rejected is not selected by this
    assert (again["counts"], again["selected"]) == ({}, 1)
    await ann.calls("approve_change", change_id=changes["main.customers"]["change_id"])
    related = await sqlite_place.body(ItemKind.RELATIONSHIP, "order->customer")
    assert related is not None  # although nobody looked at `orders` again
    assert await sqlite_place.body(ItemKind.RELATIONSHIP, "order->product") is None


async def test_nobody_decides_twice_and_unknown_changes_are_not_there(sqlite_place: Place) -> None:
    ann = sqlite_place.ann
    await ann.calls("refresh_schema", auto_select=False)
    first, *_ = await sqlite_place.named("new_table")
    await ann.calls("reject_change", change_id=first["change_id"])

    for tool in ("approve_change", "reject_change"):
        assert (await ann.fails(tool, change_id=first["change_id"])).code == "invalid_state"
        assert (await ann.fails(tool, change_id="none")).code == "not_found"
        stranger = sqlite_place.office.hand("eve", tenant="acme")
        assert (await stranger.fails(tool, change_id=first["change_id"])).code == "not_found"
        named = {"change_id": first["change_id"], "datasource": "nosuch"}
        assert (await ann.fails(tool, **named)).code == "no_datasource"


async def test_two_who_approve_at_once_do_it_once(sqlite_place: Place) -> None:
    ann = sqlite_place.ann
    await ann.calls("refresh_schema", auto_select=False)
    first, *_ = await sqlite_place.named("new_table")
    outcomes: list[str] = []

    async def approve() -> None:
        try:
            outcomes.append(
                (await ann.calls("approve_change", change_id=first["change_id"]))["status"]
            )
        except Exception as failed:  # noqa: BLE001 - which it is, is the question
            outcomes.append(str(getattr(failed, "code", failed)))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(approve)

    assert sorted(outcomes) == ["approved", *["invalid_state"] * 3]


async def test_two_who_refresh_at_once_make_everything_once(sqlite_place: Place) -> None:
    results: list[Any] = []

    async def refresh() -> None:
        results.append(await sqlite_place.ann.calls("refresh_schema"))

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(refresh)

    assert sorted(len(each["changes"]) for each in results) == [0, 0, 3]
    assert len(await sqlite_place.named("new_table", "auto_applied")) == 3


async def test_what_was_said_of_a_dropped_table_is_forgotten_once_that_is_approved(
    sqlite_place: Place,
) -> None:
    ann = sqlite_place.ann
    await sqlite_place.run("CREATE TABLE visits (customer_id INTEGER, note VARCHAR(20))")
    await ann.calls("refresh_schema")
    await ann.calls("update_column", table="visits", column="note", description="x")
    questions = await ann.calls("list_ontology_questions", entity="Visit")
    assert questions["total"] == 2  # no primary key; a column that is named like a foreign one
    await sqlite_place.run("DROP TABLE visits")

    await ann.calls("refresh_schema")
    assert await sqlite_place.body(ItemKind.COLUMN, "main.visits.note") is not None
    (change,) = await sqlite_place.named("dropped_table")
    await ann.calls("approve_change", change_id=change["change_id"])

    assert await sqlite_place.body(ItemKind.COLUMN, "main.visits.note") is None
    entity = await sqlite_place.body(ItemKind.ENTITY, "visit")
    assert entity is not None
    assert (entity["is_deleted"], entity["deletion_reason"]) == (True, "main.visits was dropped")
    left = [
        item.body["status"]
        for item in await sqlite_place.office.ontology.items("default", "d1", ItemKind.QUESTION)
        if item.body["tables"] == ["main.visits"]
    ]
    assert left == ["deleted", "deleted"]


async def test_a_table_that_is_there_again_voids_what_was_to_be_forgotten(
    sqlite_place: Place,
) -> None:
    ann = sqlite_place.ann
    await ann.calls("refresh_schema")
    await sqlite_place.run("ALTER TABLE products RENAME TO hidden")
    await ann.calls("refresh_schema")
    await sqlite_place.run("ALTER TABLE hidden RENAME TO products")
    (change,) = await sqlite_place.named("dropped_table")

    found = await ann.calls("refresh_schema", auto_select=False)

    assert (found["void"], found["counts"]) == (1, {"new_table": 1})
    (void,) = await sqlite_place.named("dropped_table", "rejected")
    assert (void["change_id"], void["decided_by"]) == (change["change_id"], "remit")
    (fresh,) = await sqlite_place.named("new_table")
    await sqlite_place.run("ALTER TABLE products RENAME TO hidden")
    await ann.calls("refresh_schema")
    assert (await ann.fails("approve_change", change_id=fresh["change_id"])).code == "invalid_state"


async def test_a_lower_source_applies_nothing_over_a_higher_one(sqlite_place: Place) -> None:
    ann, boss = sqlite_place.ann, sqlite_place.boss
    await ann.calls("refresh_schema")
    await sqlite_place.run(
        "ALTER TABLE customers ADD COLUMN kind INTEGER",
        "ALTER TABLE customers ADD COLUMN tier VARCHAR(9)",
        "ALTER TABLE customers DROP COLUMN email",
    )
    await ann.calls("refresh_schema")
    await boss.calls("update_column", table="customers", column="kind", role="measure")

    done = await ann.calls("approve_all_changes")

    assert len(done["applied"]) == 2
    (skipped,) = done["skipped"]
    assert skipped["code"] == "precedence_blocked"
    (left,) = await sqlite_place.named("new_column")
    assert left["change_id"] == skipped["change_id"]
    tier = await sqlite_place.body(ItemKind.COLUMN, "main.customers.tier")
    assert tier is not None
    assert tier["role"] == "dimension"
    assert await sqlite_place.body(ItemKind.COLUMN, "main.customers.email") is None
    failed = await ann.fails("approve_change", change_id=left["change_id"])
    assert failed.code == "precedence_blocked"
    approved = await boss.calls("approve_change", change_id=left["change_id"])
    assert approved["status"] == "approved"
    kind = await sqlite_place.body(ItemKind.COLUMN, "main.customers.kind")
    assert kind is not None
    assert kind["role"] == "dimension"


async def test_a_new_foreign_key_waits_and_becomes_a_relationship(sqlite_place: Place) -> None:
    ann = sqlite_place.ann
    await sqlite_place.run("CREATE TABLE visits (id INTEGER PRIMARY KEY, customer INTEGER)")
    await ann.calls("refresh_schema")
    await sqlite_place.run(
        "DROP TABLE visits",
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id),"
        " salary INTEGER REFERENCES salaries (id))",
    )

    await ann.calls("refresh_schema")

    (change,) = await sqlite_place.named("new_fk_pattern")  # none to what may not be used
    assert change["new"] == {"to_table": "main.customers", "to_column": "id"}
    await ann.calls("approve_change", change_id=change["change_id"])
    related = await sqlite_place.body(ItemKind.RELATIONSHIP, "visit->customer")
    assert related is not None
    assert related["detection"] == "foreign_key"
    assert (await ann.calls("refresh_schema"))["counts"] == {}


async def test_what_people_took_away_is_not_inferred_again(sqlite_place: Place) -> None:
    ann = sqlite_place.ann
    await ann.calls("refresh_schema")
    await ann.calls("delete_relationship", from_entity="Order", to_entity="Customer")
    await ann.calls("delete_relationship", from_entity="Order", to_entity="Product")
    await ann.calls("delete_entity", name="Order")
    await ann.calls("delete_column_metadata", table="orders", column="status")

    await ann.calls("refresh_schema")

    order = await sqlite_place.body(ItemKind.ENTITY, "order")
    assert order is not None
    assert order["is_deleted"] is True
    assert await sqlite_place.body(ItemKind.COLUMN, "main.orders.status") is None


async def test_a_term_whose_sql_no_longer_fits_is_marked(place: Place) -> None:
    ann = place.ann
    await place.run("CREATE TABLE visits (id INTEGER, city VARCHAR(9), email VARCHAR(9))")
    await ann.calls("refresh_schema")
    for term, sql in (
        ("Cities", "SELECT city FROM visits;"),
        ("Mails", "SELECT email AS mail FROM visits"),
    ):
        said = await ann.calls("update_glossary_term", term=term, sql=sql)
        assert said["enrichment_status"] == "success"
    assert said["base_table"].endswith(".visits")
    assert [each["name"] for each in said["output_columns"]] == ["mail"]
    await place.run("ALTER TABLE visits DROP COLUMN email")

    found = await ann.calls("refresh_schema")

    assert found["failed_terms"] == ["Mails"]
    mails = await place.body(ItemKind.TERM, "mails")
    assert mails is not None
    assert mails["enrichment"] == "failed"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT nosuch FROM customers", {"undefined_column"}),
        ("SELECT 1 FROM salaries", {"table_not_selected"}),
        ("DELETE FROM customers", {"invalid_sql_type"}),
        ("SELECT 1; SELECT 2", {"invalid_sql"}),
        ("SELECT {{x}}", {"invalid_sql"}),
    ],
)
async def test_a_term_has_no_sql_that_does_not_work_or_may_not_run(
    place: Place, sql: str, code: set[str]
) -> None:
    await place.ann.calls("refresh_schema")

    assert (await place.ann.fails("update_glossary_term", term="Net", sql=sql)).code in code
    assert await place.body(ItemKind.TERM, "net") is None


@pytest.mark.parametrize(
    ("table", "entity"),
    [
        ("order_items", "Order Item"),
        ("OrderItems", "Order Item"),
        ("categories", "Category"),
        ("addresses", "Address"),
        ("boxes", "Box"),
        ("status", "Status"),
        ("analysis", "Analysis"),
        ("glass", "Glass"),
        ("SKU", "SKU"),
        ("a->b", "A B"),
        ("_", ""),
    ],
)
def test_an_entity_is_named_after_its_table(table: str, entity: str) -> None:
    assert entity_name(table) == entity


@pytest.mark.parametrize(
    ("name", "declared", "role"),
    [
        ("customer_id", "integer", ColumnRole.IDENTIFIER),
        ("customerId", "integer", ColumnRole.IDENTIFIER),
        ("CUSTOMER_ID", "integer", ColumnRole.IDENTIFIER),
        ("paid", "integer", ColumnRole.MEASURE),
        ("amount", "numeric(10, 2)", ColumnRole.MEASURE),
        ("year", "integer", ColumnRole.DIMENSION),
        ("house_number", "integer", ColumnRole.ATTRIBUTE),
        ("is_open", "boolean", ColumnRole.DIMENSION),
        ("created", "timestamp with time zone", ColumnRole.DIMENSION),
        ("order_status", "text", ColumnRole.DIMENSION),
        ("note", "text", ColumnRole.ATTRIBUTE),
    ],
)
def test_a_column_is_for_what_its_name_and_type_say(
    name: str, declared: str, role: ColumnRole
) -> None:
    column = SchemaColumn(name=name, type=declared)

    assert column_role(EngineKind.POSTGRESQL, column, is_foreign=False) is role
    assert column_role(EngineKind.POSTGRESQL, column, is_foreign=True) is ColumnRole.IDENTIFIER

"""Saying what the data means, and taking that back (S2.10, S2.41, S2.43)."""

from dataclasses import replace
from typing import Any

import anyio
import pytest
from tests.data.ontology.conftest import SHOP, Hand, Office

from remit.errors import DataFailure
from remit.model.ontology import ItemKind, Source
from remit.model.principals import UserRole

COLUMN = {"table": "customers", "column": "state"}


async def test_a_column_is_described_piece_by_piece(shop: Office) -> None:
    ann = shop.hand()
    await ann.calls("update_entity", name="Customer")

    first = await ann.calls("update_column", **COLUMN, description="Where it stands")
    await ann.calls("update_column", **COLUMN, role="dimension", entity="CUSTOMER")
    last = await ann.calls(
        "update_column", **COLUMN, enum_values=["A", {"value": "B", "label": "blocked"}]
    )

    assert first["created"] is True
    assert {key: last[key] for key in last if key != "provenance"} == {
        "created": False,
        "table": "public.customers",
        "column": "state",
        "description": "Where it stands",
        "entity": "customer",
        "role": "dimension",
        "enum_values": [{"value": "A", "label": ""}, {"value": "B", "label": "blocked"}],
    }
    assert last["provenance"]["created_source"] == "mcp"
    assert last["provenance"]["edited_by"] == "user:ann"


async def test_what_is_given_empty_is_cleared_and_labels_stay_with_their_values(
    shop: Office,
) -> None:
    ann = shop.hand()
    await ann.calls("update_entity", name="Customer")
    await ann.calls("update_column", **COLUMN, description="x", entity="Customer")
    await ann.calls("update_column", **COLUMN, enum_values=[{"value": "B", "label": "blocked"}])

    said = await ann.calls(
        "update_column", **COLUMN, description="", entity="", enum_values=["B", "C"]
    )

    assert (said["description"], said["entity"]) == ("", None)
    assert said["enum_values"] == [{"value": "B", "label": "blocked"}, {"value": "C", "label": ""}]


async def test_a_second_call_with_the_same_changes_nothing(shop: Office) -> None:
    ann, bob = shop.hand(), shop.hand("bob")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("update_entity", {"name": "Customer", "aliases": ["client"]}),
        ("update_entity", {"name": "Order", "table": "orders", "key_columns": ["ID"]}),
        ("update_column", {**COLUMN, "enum_values": ["A"]}),
        ("update_relationship", {"from_entity": "Order", "to_entity": "client"}),
        ("update_glossary_term", {"term": "Net", "definition": "What is left"}),
        ("update_project_knowledge", {"fact": "The year begins in April"}),
    ]
    for name, arguments in calls:
        await ann.calls(name, **arguments)
    before = await shop.ontology.items("default", "d1")

    for name, arguments in calls[2:]:
        assert (await bob.calls(name, **arguments))["created"] is False

    after = await shop.ontology.items("default", "d1")
    assert [each for each in after if each.kind is not ItemKind.ENTITY] == [
        each for each in before if each.kind is not ItemKind.ENTITY
    ]


@pytest.mark.parametrize("table", ["salaries", "ghosts", "nothing"])
async def test_a_table_that_may_not_be_used_is_as_absent_as_one_that_is_not_there(
    shop: Office, table: str
) -> None:
    ann = shop.hand()

    for name in ("update_column", "delete_column_metadata"):
        failed = await ann.fails(name, table=table, column="id")
        assert failed.code == "table_not_found"
        assert str(failed) == f"there is no table {table!r}; see get_schema"
    assert (await ann.fails("update_entity", name="Pay", table=table)).code == "table_not_found"


async def test_unknown_names_are_answered_with_the_nearest(shop: Office) -> None:
    ann = shop.hand()
    await ann.calls("update_entity", name="Customer")

    for code, near, failed in (
        (
            "column_not_found",
            "state",
            await ann.fails("update_column", **COLUMN | {"column": "stat"}),
        ),
        (
            "entity_not_found",
            "Customer",
            await ann.fails("update_column", **COLUMN, entity="Custmer"),
        ),
        ("entity_not_found", "Customer", await ann.fails("delete_entity", name="Customers")),
        (
            "entity_not_found",
            "Customer",
            await ann.fails("update_relationship", from_entity="Customer", to_entity="Costumer"),
        ),
        (
            "entity_not_found",
            "Customer",
            await ann.fails("delete_relationship", from_entity="Customer", to_entity="Costumer"),
        ),
    ):
        assert failed.code == code
        assert failed.details["nearest"] == [near]


async def test_an_entity_has_a_table_whose_columns_are_its_keys(shop: Office) -> None:
    ann = shop.hand()
    said = await ann.calls(
        "update_entity",
        name="Customer",
        table="Customers",
        domain="sales",
        key_columns=["ID", {"name": "name", "synonyms": ["full name"]}],
    )

    assert (said["table"], said["column"], said["domain"]) == ("public.customers", "id", "sales")
    assert said["key_columns"] == [
        {"name": "id", "synonyms": []},
        {"name": "Name", "synonyms": ["full name"]},
    ]
    failed = await ann.fails("update_entity", name="Customer", key_columns=["nummer"])
    assert failed.code == "column_not_found"
    assert (await ann.fails("update_entity", name="Other", table="customers")).code == (
        "resource_conflict"
    )


async def test_a_name_or_alias_means_one_thing(shop: Office) -> None:
    ann = shop.hand()
    await ann.calls("update_entity", name="Customer", aliases=["Client", "client ", "Buyer"])
    await ann.calls("update_glossary_term", term="Net", aliases=["Umsatz"])

    for name, arguments in (
        ("update_entity", {"name": "CLIENT"}),
        ("update_entity", {"name": "Guest", "aliases": ["customer"]}),
        ("update_glossary_term", {"term": "umsatz"}),
        ("update_glossary_term", {"term": "Gross", "aliases": ["NET"]}),
    ):
        assert (await ann.fails(name, **arguments)).code == "resource_conflict"
    again = await ann.calls("update_entity", name="customer", description="Who buys")
    assert again["name"] == "Customer"
    assert again["aliases"] == ["Client", "Buyer"]


@pytest.mark.parametrize("name", ["  ", "a->b"])
async def test_a_name_that_cannot_be_a_key_is_refused(shop: Office, name: str) -> None:
    assert (await shop.hand().fails("update_entity", name=name)).code == "validation_error"


async def test_a_value_that_comes_twice_is_refused(shop: Office) -> None:
    failed = await shop.hand().fails("update_column", **COLUMN, enum_values=["A", "A"])

    assert failed.code == "validation_error"


async def test_what_was_written_by_hand_is_overwritten_by_hand_alone(shop: Office) -> None:
    ann, api = shop.hand(), shop.hand("boss", UserRole.ADMIN, came_by="api")
    writes: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("update_entity", {"name": "Customer"}, {"description": "x"}),
        ("update_entity", {"name": "Order"}, {"description": "x"}),
        ("update_column", COLUMN, {"role": "measure"}),
        (
            "update_relationship",
            {"from_entity": "Order", "to_entity": "Customer"},
            {"label": "x"},
        ),
        ("update_glossary_term", {"term": "Net"}, {"definition": "x"}),
        ("update_project_knowledge", {"fact": "It is so"}, {"context": "x"}),
    ]
    fact_id = ""
    for name, arguments, _ in writes:
        assert (await ann.calls(name, **arguments))["provenance"]["edited_source"] == "mcp"
        said = await api.calls(name, **arguments)  # the same again, by hand
        assert said["provenance"]["created_source"] == "mcp"
        assert said["provenance"]["edited_source"] == "manual"
        fact_id = said.get("fact_id", "")

    for name, arguments, more in writes:
        failed = await ann.fails(name, **arguments, **more)
        assert failed.code == "precedence_blocked"
        assert failed.details["source"] == "manual"
        await ann.calls(name, **arguments)  # nothing is overwritten
    deletes: list[tuple[str, dict[str, str]]] = [
        ("delete_column_metadata", COLUMN),
        ("delete_relationship", {"from_entity": "Order", "to_entity": "Customer"}),
        ("delete_glossary_term", {"term": "Net"}),
        ("delete_project_knowledge", {"fact_id": fact_id}),
    ]
    for name, arguments in deletes:
        assert (await ann.fails(name, **arguments)).code == "precedence_blocked"
        assert (await api.calls(name, **arguments))["deleted"] is True
    assert (await ann.fails("delete_entity", name="Order")).code == "precedence_blocked"
    assert (await api.calls("delete_entity", name="Order"))["deleted"] is True


async def test_a_tool_overwrites_what_was_inferred(shop: Office) -> None:
    ann = shop.hand()
    await ann.calls("update_entity", name="Customer")
    (item,) = await shop.ontology.items("default", "d1")
    by = replace(item.provenance, created_source=Source.INFERRED, edited_source=Source.INFERRED)
    await shop.ontology.write(items=[replace(item, provenance=by)])

    said = await ann.calls("update_entity", name="Customer", description="Who buys")

    assert said["provenance"]["created_source"] == "inferred"
    assert said["provenance"]["edited_source"] == "mcp"


async def test_an_entity_stays_while_it_has_relationships_and_comes_back(shop: Office) -> None:
    ann = shop.hand()
    await ann.calls("update_entity", name="Customer", table="customers", aliases=["client"])
    await ann.calls("update_entity", name="Order")
    ends = {"from_entity": "Order", "to_entity": "client"}
    await ann.calls("update_relationship", **ends, cardinality="N:1")
    await ann.calls("update_column", **COLUMN, entity="Customer", role="dimension")

    for name in ("Customer", "Order"):
        failed = await ann.fails("delete_entity", name=name)
        assert failed.code == "resource_conflict"
        assert failed.details["relationships"] == ["order->customer"]

    assert (await ann.calls("delete_relationship", **ends))["deleted"] is True
    assert (await ann.calls("delete_relationship", **ends))["deleted"] is False
    await ann.calls("delete_entity", name="customer")
    assert (await ann.fails("delete_entity", name="customer")).code == "entity_not_found"
    gone = {"from_entity": "Order", "to_entity": "Customer"}
    assert (await ann.calls("delete_relationship", **gone))["deleted"] is False
    assert (await ann.fails("update_relationship", **gone)).code == "entity_not_found"
    column = await ann.calls("update_column", **COLUMN, description="x")
    assert (column["entity"], column["role"]) == (None, "dimension")

    back = await ann.calls("update_entity", name="CUSTOMER")
    assert back["created"] is True
    assert (back["table"], back["aliases"]) == ("public.customers", ["client"])


async def test_deletes_say_whether_there_was_anything(shop: Office) -> None:
    ann = shop.hand()
    await ann.calls("update_column", **COLUMN, description="x")
    await ann.calls("update_glossary_term", term="Net Revenue")

    for name, arguments in (
        ("delete_column_metadata", COLUMN),
        ("delete_glossary_term", {"term": "net  revenue"}),
    ):
        assert (await ann.calls(name, **arguments))["deleted"] is True
        assert (await ann.calls(name, **arguments))["deleted"] is False


async def test_a_fact_is_changed_by_its_id_or_by_what_it_says(shop: Office) -> None:
    ann = shop.hand()
    first = await ann.calls(
        "update_project_knowledge", fact="Prices are net", category="convention"
    )
    same = await ann.calls("update_project_knowledge", fact="prices are NET ", context="since 2020")
    other = await ann.calls(
        "update_project_knowledge", fact="Prices are gross", fact_id=first["fact_id"]
    )

    assert same["fact_id"] == other["fact_id"] == first["fact_id"]
    assert other["context"] == "since 2020"
    assert other["category"] == "convention"
    for name, arguments in (
        ("update_project_knowledge", {"fact": "x", "fact_id": "none"}),
        ("delete_project_knowledge", {"fact_id": "none"}),
    ):
        assert (await ann.fails(name, **arguments)).code == "fact_not_found"
    await ann.calls("delete_project_knowledge", fact_id=first["fact_id"])
    assert await shop.ontology.items("default", "d1") == []


async def test_of_writers_at_once_none_loses_what_another_said(shop: Office) -> None:
    said = {"description": "d", "domain": "sales", "aliases": ["client"], "table": "customers"}

    async def say(hand: Hand, field: str) -> None:
        await hand.calls("update_entity", name="Customer", **{field: said[field]})

    async with anyio.create_task_group() as tasks:
        for field in said:
            tasks.start_soon(say, shop.hand(field), field)

    entity = await shop.hand().calls("update_entity", name="Customer")
    assert {field: entity[field] for field in said} == {**said, "table": "public.customers"}


async def test_an_entity_that_is_related_meanwhile_is_not_taken_away(shop: Office) -> None:
    ann, bob = shop.hand(), shop.hand("bob")
    refused: list[str] = []

    async def try_it(hand: Hand, tool: str, arguments: dict[str, str]) -> None:
        try:
            await hand.calls(tool, **arguments)
        except DataFailure as failed:
            refused.append(failed.code)

    for count in range(1, 6):
        ends = {"from_entity": f"A{count}", "to_entity": f"B{count}"}
        for name in ends.values():
            await ann.calls("update_entity", name=name)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(try_it, ann, "update_relationship", ends)
            tasks.start_soon(try_it, bob, "delete_entity", {"name": f"A{count}"})

        assert len(refused) == count  # one of the two, each time
        assert refused[-1] in {"resource_conflict", "entity_not_found"}


async def test_tenants_never_see_one_anothers(shop: Office) -> None:
    await shop.datasources.write_datasource(replace(SHOP, tenant="acme"))
    await shop.hand().calls("update_entity", name="Customer")
    other = shop.hand("eve", tenant="acme")

    assert (await other.fails("delete_entity", name="Customer")).code == "entity_not_found"
    assert (await other.fails("update_column", **COLUMN)).code == "table_not_found"
    assert (await other.calls("update_entity", name="Customer"))["created"] is True

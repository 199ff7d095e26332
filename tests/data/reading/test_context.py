"""Context, ontology, entities and glossary (S2.10, 19 to 22, 24)."""

from typing import Any

import pytest
from tests.data.reading.shops import Shop, call, refused
from tests.data.reading.tables import CUSTOMERS

from remit.model.data import DataCode


@pytest.mark.parametrize("tool", ["get_context", "get_ontology"])
@pytest.mark.parametrize(
    ("depth", "has"),
    [
        ("domain", []),
        ("entities", ["entities", "relationships"]),
        ("tables", ["entities", "relationships", "tables"]),
        ("columns", ["entities", "relationships", "tables"]),
    ],
)
async def test_each_depth_adds_to_the_one_before(
    told: Shop, tool: str, depth: str, has: list[str]
) -> None:
    context = await call(told.desk(), tool, depth=depth)

    assert [key for key in ("entities", "relationships", "tables") if key in context] == has
    assert context["domains"] == [{"name": "sales", "entities": ["Customer", "Order"]}]
    assert any("columns" in table for table in context.get("tables", ())) == (depth == "columns")


@pytest.mark.parametrize("tool", ["get_context", "get_ontology"])
async def test_nothing_is_told_of_tables_that_may_not_be_used(told: Shop, tool: str) -> None:
    context = await call(told.desk(), tool, depth="columns")

    without_own_column = str(context).replace("vault_id", "")
    assert "vault" not in without_own_column.lower()
    assert "the code" not in without_own_column


async def test_the_context_has_facts_and_words(told: Shop) -> None:
    context = await call(told.desk(), "get_context", depth="domain")

    assert [fact["fact"] for fact in context["facts"]] == ["the year begins in April"]
    assert [term["term"] for term in context["glossary"]] == ["Churn", "Net revenue"]


async def test_only_the_tables_that_are_named_are_told(told: Shop) -> None:
    context = await call(told.desk(), "get_context", depth="columns", tables=["orders"])

    assert [table["name"] for table in context["tables"]] == ["main.orders"]
    assert [entity["name"] for entity in context["entities"]] == ["Order"]
    assert [each["label"] for each in context["relationships"]] == ["placed by"]


async def test_relationships_can_be_left_out(told: Shop) -> None:
    context = await call(told.desk(), "get_ontology", depth="entities", include_relationships=False)

    assert "relationships" not in context


async def test_a_table_that_is_named_and_not_there_is_refused(told: Shop) -> None:
    failure = await refused(told.desk(), "get_context", depth="tables", tables=["vault"])

    assert failure.code == DataCode.TABLE_NOT_FOUND


async def test_the_ontology_has_only_what_is_described(told: Shop) -> None:
    ontology = await call(told.desk(), "get_ontology", depth="columns")

    columns = {
        table["name"]: [column["name"] for column in table["columns"]]
        for table in ontology["tables"]
    }
    assert columns == {
        "main.customers": [],
        "main.orders": ["status"],
        "main.visits": ["customer_id"],
    }


def _columns(context: dict[str, Any], table: str) -> dict[str, dict[str, Any]]:
    found = next(each for each in context["tables"] if each["name"].endswith(f".{table}"))
    return {column["name"]: column for column in found["columns"]}


async def test_statistics_and_values_are_told_on_request(shop: Shop) -> None:
    context = await call(
        shop.desk(),
        "get_context",
        depth="columns",
        tables=["customers"],
        include=["statistics", "sample_values"],
    )

    columns = _columns(context, "customers")
    assert columns["region"]["sample_values"] == ["north", "south", "west"]
    assert columns["email"]["statistics"]["null_rate"] == 0.25
    assert not context["truncated"]


async def test_values_are_told_of_few_different_ones_and_never_of_secrets(shop: Shop) -> None:
    context = await call(shop.desk(), "get_context", depth="columns", include=["sample_values"])

    customers = _columns(context, "customers")
    assert "sample_values" not in customers["id"]  # as many different ones as customers
    assert "sample_values" not in customers["password_hash"]
    assert "hash1" not in str(context)
    assert CUSTOMERS > 50


async def test_an_entity_is_told_by_its_alias_with_where_it_occurs(told: Shop) -> None:
    found = await call(told.desk(), "get_entity", name="BUYER")

    assert found["entity"]["name"] == "Customer"
    occurrences = {(each["table"], each["column"]): each["how"] for each in found["occurrences"]}
    assert occurrences == {
        ("main.customers", "id"): "primary",
        ("main.orders", "customer_id"): "foreign_key",
        ("main.visits", "customer_id"): "stated",
    }
    assert [each["from_entity"] for each in found["relationships"]] == ["Order"]
    assert found["provenance"]["edited_source"] == "manual"


async def test_an_entity_out_of_reach_is_as_one_that_is_not_there(told: Shop) -> None:
    other = await refused(told.desk(), "get_entity", name="zzzzz")

    failure = await refused(told.desk(), "get_entity", name="Vault")

    assert failure.code == DataCode.ENTITY_NOT_FOUND
    assert str(failure) == str(other).replace("zzzzz", "Vault")
    assert "'Customer'" in str(await refused(told.desk(), "get_entity", name="Custmer"))


@pytest.mark.parametrize("name", ["Net revenue", "net  REVENUE", "turnover"])
async def test_a_term_has_its_sql_by_name_and_alias(told: Shop, name: str) -> None:
    found = await call(told.desk(), "get_glossary_sql", term=name)

    assert found["sql"].startswith("SELECT sum(total)")
    assert found["output_columns"] == [{"name": "revenue", "type": "numeric", "description": ""}]


async def test_a_term_without_sql_says_so(told: Shop) -> None:
    found = await call(told.desk(), "get_glossary_sql", term="churn")

    assert (found["sql"], found["enrichment_status"]) == (None, "pending")


async def test_a_term_about_tables_out_of_reach_is_as_one_that_is_not_there(told: Shop) -> None:
    other = await refused(told.desk(), "get_glossary_sql", term="zzzzz zzzz")

    failure = await refused(told.desk(), "get_glossary_sql", term="Vault code")

    assert failure.code == DataCode.TERM_NOT_FOUND
    assert str(failure) == str(other).replace("zzzzz zzzz", "Vault code")


async def test_the_glossary_lists_terms_in_order(told: Shop) -> None:
    found = await call(told.desk(), "list_glossary")

    assert [(term["term"], term["has_sql"]) for term in found["terms"]] == [
        ("Churn", False),
        ("Net revenue", True),
    ]
    assert found["term_count"] == 2

"""Suggesting queries: matched, run dry, and never in force by themselves (S2.29-S2.35, R13)."""

from typing import Any

import pytest
from tests.data.queries.office import (
    ANN,
    BOB,
    BY_CUSTOMER,
    DAN,
    DEA,
    EVERY_ENGINE,
    KEY,
    REPRICE,
    Office,
)

from remit.data.queries.suggestions import MOST_PENDING
from remit.errors import DataFailure
from remit.model.data import DataCode


async def refused(office: Office, tool: str, **arguments: object) -> DataFailure:
    with pytest.raises(DataFailure) as failure:
        await office.call(ANN, tool, **arguments)
    return failure.value


@EVERY_ENGINE
async def test_a_suggestion_is_run_dry_and_says_what_columns_it_found(office: Office) -> None:
    result: Any = await office.call(ANN, "suggest_approved_query", **BY_CUSTOMER)

    validation = result["validation"]
    assert (result["status"], validation["sql_valid"], validation["dry_run_rows"]) == (
        "pending",
        True,
        1,
    )
    columns = [
        (each["name"], each["description"]) for each in validation["detected_output_columns"]
    ]
    assert columns == [("id", ""), ("total", "in euro")]


@EVERY_ENGINE
async def test_a_suggestion_that_modifies_is_only_explained(office: Office) -> None:
    result: Any = await office.call(ANN, "suggest_approved_query", **REPRICE)

    assert result["validation"] == {
        "sql_valid": True,
        "dry_run_rows": None,
        "detected_output_columns": [],
    }
    listing: Any = await office.call(DEA, "list_query_suggestions")
    (listed,) = listing["suggestions"]
    assert listed["allows_modification"] is True
    rows: Any = await office.call(ANN, "query", sql="SELECT total FROM orders WHERE id = 1")
    assert [float(row[0]) for row in rows["rows"]] == [10.5]


async def test_one_that_modifies_is_refused_where_nothing_may_be_written(office: Office) -> None:
    await office.change_shop(is_writable=False)

    failure = await refused(office, "suggest_approved_query", **REPRICE)

    assert failure.code == DataCode.QUERY_NOT_AUTHORIZED


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"parameters": []}, DataCode.PARAMETER_VALIDATION),
        (
            {
                "parameters": [
                    {"name": "customer", "type": "string", "example": "ann"},
                    {"name": "other", "type": "string", "example": "x"},
                ]
            },
            DataCode.PARAMETER_VALIDATION,
        ),
        (
            {"parameters": [{"name": "customer", "type": "string"}]},
            DataCode.PARAMETER_VALIDATION,
        ),
        (
            {"parameters": [{"name": "customer", "type": "integer", "example": "ann"}]},
            DataCode.TYPE_VALIDATION,
        ),
        ({"sql": "SELECT id FROM orders WHERE customer = '{{customer}}'"}, DataCode.INVALID_SQL),
        ({"sql": "SELEC id FROM orders WHERE customer = {{customer}}"}, DataCode.INVALID_SQL),
        (
            {"sql": "SELECT {{customer}} FROM secret", "output_column_descriptions": {}},
            DataCode.TABLE_NOT_SELECTED,
        ),
        (
            {"sql": "SELECT never_was FROM orders WHERE customer = {{customer}}"},
            DataCode.UNDEFINED_COLUMN,
        ),
        ({"sql": "DROP TABLE orders", "parameters": []}, DataCode.INVALID_SQL_TYPE),
        ({"output_column_descriptions": {"price": "?"}}, DataCode.VALIDATION_ERROR),
        ({"name": "   "}, DataCode.VALIDATION_ERROR),
        ({"name": "of one \u202ereddro"}, DataCode.VALIDATION_ERROR),
        ({"name": "one\nline"}, DataCode.VALIDATION_ERROR),
        ({"datasource": "elsewhere"}, DataCode.NO_DATASOURCE),
    ],
)
async def test_what_would_not_work_is_not_suggested(
    office: Office, changes: dict[str, object], code: DataCode
) -> None:
    failure = await refused(office, "suggest_approved_query", **{**BY_CUSTOMER, **changes})

    assert failure.code == code
    assert (await office.call(DEA, "list_query_suggestions"))["count"] == 0


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\u200f", "\u2028", "\x85", "\r"])
async def test_what_reviewers_would_see_as_another_statement_is_refused(
    office: Office, sign: str
) -> None:
    sql = f"SELECT id FROM orders /* {sign} */"  # noqa: S608 - a constant
    query: Any = await office.call(DEA, "create_approved_query", **BY_CUSTOMER)
    new: dict[str, object] = {**BY_CUSTOMER, "sql": sql}
    change = {"query_id": query["query_id"], "context": "why", "sql": sql}
    rename = {"query_id": query["query_id"], "context": "why", "name": f"a {sign} b"}

    for tool, arguments in (
        ("suggest_approved_query", new),
        ("suggest_query_update", change),
        ("suggest_query_update", rename),
    ):
        failure = await refused(office, tool, **arguments)
        assert failure.code == DataCode.VALIDATION_ERROR
        assert f"U+{ord(sign):04X}" in str(failure)
    assert (await office.call(DEA, "list_query_suggestions"))["count"] == 0


async def test_lines_and_tabs_of_a_statement_and_letters_of_any_script_do(office: Office) -> None:
    sql = "SELECT id,\r\n\tcustomer -- \u05e9\u05dc\u05d5\u05dd\nFROM orders"
    draft = {"name": "Umsätze \u0645\u0631", "description": "All of them.", "sql": sql}

    assert (await office.call(ANN, "suggest_approved_query", **draft))["status"] == "pending"


async def test_an_update_has_to_change_something(office: Office) -> None:
    query: Any = await office.call(DEA, "create_approved_query", **BY_CUSTOMER)
    same = {"name": BY_CUSTOMER["name"], "tags": BY_CUSTOMER["tags"]}

    for fields in ({}, same):
        failure = await refused(
            office, "suggest_query_update", query_id=query["query_id"], context="why", **fields
        )
        assert failure.code == DataCode.INVALID_PARAMETERS


async def test_reviewers_see_what_an_update_changes(office: Office) -> None:
    query: Any = await office.call(DEA, "create_approved_query", **BY_CUSTOMER)
    sql = "SELECT id, customer FROM orders WHERE customer = {{customer}}"

    await office.call(
        ANN, "suggest_query_update", query_id=query["query_id"], context="names", sql=sql
    )
    result: Any = await office.call(DAN, "list_query_suggestions")

    (listed,) = result["suggestions"]
    assert (listed["type"], listed["query_id"]) == ("update", query["query_id"])
    assert listed["changed_fields"] == ["sql", "output_columns"]
    assert (listed["context"], listed["suggested_by"]) == ("names", "user:ann")
    assert (listed["suggested"]["sql"], listed["original"]["sql"]) == (sql, BY_CUSTOMER["sql"])


async def test_business_users_see_only_their_own_suggestions(office: Office) -> None:
    await office.call(ANN, "suggest_approved_query", **BY_CUSTOMER)

    counts = [
        (await office.call(each, "list_query_suggestions"))["count"] for each in (ANN, BOB, DEA)
    ]

    assert counts == [1, 0, 1]


async def test_creating_and_updating_are_suggestions_where_a_business_user_does_it(
    office: Office,
) -> None:
    created: Any = await office.call(ANN, "create_approved_query", **BY_CUSTOMER)
    query: Any = await office.call(DEA, "create_approved_query", **BY_CUSTOMER)
    updated: Any = await office.call(
        ANN, "update_approved_query", query_id=query["query_id"], is_enabled=False
    )

    assert (created["status"], created["query_id"]) == ("pending", None)
    assert "suggested" in created["message"]
    assert (updated["status"], updated["query_id"]) == ("pending", query["query_id"])
    listed: Any = await office.call(ANN, "list_approved_queries")
    assert [each["query_id"] for each in listed["queries"]] == [query["query_id"]]

    await office.call(DAN, "approve_query_suggestion", suggestion_id=updated["suggestion_id"])

    assert (await office.call(ANN, "list_approved_queries"))["count"] == 0


async def test_what_a_developer_creates_and_updates_counts_at_once(office: Office) -> None:
    created: Any = await office.call(DEA, "create_approved_query", **BY_CUSTOMER)
    updated: Any = await office.call(
        DEA, "update_approved_query", query_id=created["query_id"], name="Another"
    )
    listed: Any = await office.call(ANN, "list_approved_queries")

    assert (created["status"], created["suggestion_id"]) == ("approved", None)
    assert (updated["status"], updated["query_id"]) == ("approved", created["query_id"])
    assert [each["name"] for each in listed["queries"]] == ["Another"]


async def test_the_flag_to_modify_follows_the_sql(office: Office) -> None:
    query: Any = await office.call(DEA, "create_approved_query", **REPRICE)

    async def flag() -> object:
        listed: Any = await office.call(DEA, "list_approved_queries")
        return listed["queries"][0]["allows_modification"]

    first = await flag()
    await office.call(
        DEA,
        "update_approved_query",
        query_id=query["query_id"],
        sql="SELECT {{total}} AS total, {{id}} AS id",
    )

    assert (first, await flag()) == (True, False)


async def test_descriptions_of_columns_stay_with_the_columns_that_stay(office: Office) -> None:
    query: Any = await office.call(DEA, "create_approved_query", **BY_CUSTOMER)

    updated: Any = await office.call(
        DEA,
        "update_approved_query",
        query_id=query["query_id"],
        sql="SELECT total, customer FROM orders WHERE customer = {{customer}}",
        output_column_descriptions={"customer": "who"},
    )

    columns = updated["validation"]["detected_output_columns"]
    assert [(each["name"], each["description"]) for each in columns] == [
        ("total", "in euro"),
        ("customer", "who"),
    ]


async def test_nobody_fills_the_queue(office: Office) -> None:
    for _ in range(MOST_PENDING):
        await office.call(ANN, "suggest_approved_query", **BY_CUSTOMER)

    failure = await refused(office, "suggest_approved_query", **BY_CUSTOMER)

    assert failure.code == DataCode.RESOURCE_CONFLICT
    assert (await office.call(BOB, "suggest_approved_query", **BY_CUSTOMER))["status"] == "pending"


async def test_a_service_key_suggests_nothing(office: Office) -> None:
    with pytest.raises(DataFailure) as failure:
        await office.call(KEY, "suggest_approved_query", **BY_CUSTOMER)

    assert failure.value.code == DataCode.QUERY_NOT_AUTHORIZED


async def test_what_is_said_of_the_columns_of_a_query_that_modifies_outlives_its_approval(
    office: Office,
) -> None:
    returning = {
        **REPRICE,
        "sql": "UPDATE orders SET total = {{total}} WHERE id = {{id}} RETURNING id",
        "output_column_descriptions": {"id": "of the order"},
    }
    suggested: Any = await office.call(ANN, "suggest_approved_query", **returning)

    await office.call(DEA, "approve_query_suggestion", suggestion_id=suggested["suggestion_id"])

    listed: Any = await office.call(ANN, "list_approved_queries")
    (column,) = listed["queries"][0]["output_columns"]
    assert (column["name"], column["description"]) == ("id", "of the order")

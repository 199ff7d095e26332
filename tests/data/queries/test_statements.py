"""A caller's own SQL: queried, explained, validated, executed (S2.10, S2.34, S2.40)."""

from typing import Any

import pytest
from tests.data.queries.office import ANN, DEA, EVERY_ENGINE, KEY, Office

from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind
from remit.model.ontology import Schema, SchemaTable

COUNT = "SELECT count(*) FROM orders"

REFUSALS = {
    DataCode.INVALID_SQL,
    DataCode.INVALID_SQL_TYPE,
    DataCode.TABLE_NOT_SELECTED,
    DataCode.SECURITY_VIOLATION,
}


async def refused(office: Office, tool: str, sql: str, by: Any = DEA) -> DataFailure:
    with pytest.raises(DataFailure) as failure:
        await office.call(by, tool, sql=sql)
    return failure.value


async def counted(office: Office) -> object:
    result: Any = await office.call(ANN, "query", sql=COUNT)
    return result["rows"][0][0]


@EVERY_ENGINE
async def test_a_query_gives_rows_in_the_order_of_its_columns(office: Office) -> None:
    result: Any = await office.call(
        ANN,
        "query",
        sql="WITH big AS (SELECT * FROM orders WHERE total > 15)"
        " SELECT customer, id, id FROM big ORDER BY id;",
        limit=1,
    )

    assert [each["name"] for each in result["columns"]][:2] == ["customer", "id"]
    assert (result["rows"], result["row_count"], result["truncated"]) == ([["bob", 2, 2]], 1, True)


NOT_READING = (
    "DELETE FROM orders",
    "INSERT INTO orders VALUES (9, 'x', 1)",
    "UPDATE orders SET total = 0",
    "DROP TABLE orders",
    "CREATE TABLE made_up (a INTEGER)",
    "SELECT count(*) FROM orders; DELETE FROM orders",
    "SELECT * FROM secret",
    "SELECT * FROM orders WHERE id = {{id}}",
)


@EVERY_ENGINE
async def test_only_what_reads_what_is_allowed_is_queried_or_explained(office: Office) -> None:
    for tool in ("query", "explain_query"):
        for sql in NOT_READING:
            failure = await refused(office, tool, sql, ANN)
            assert failure.code in REFUSALS, (tool, sql)
    assert await counted(office) == 3


@EVERY_ENGINE
async def test_explaining_runs_nothing_and_keeps_nothing(office: Office) -> None:
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT count(*) FROM n, orders"
    )

    result: Any = await office.call(ANN, "explain_query", sql=endless)  # it would never end

    assert result["plan"]
    assert await office.ran() == []


async def test_a_plan_that_reads_a_whole_table_comes_with_a_hint(office: Office) -> None:
    whole: Any = await office.call(ANN, "explain_query", sql="SELECT * FROM orders")
    one: Any = await office.call(ANN, "explain_query", sql="SELECT * FROM orders WHERE id = 1")

    assert [hint.partition(" ")[0] for hint in whole["hints"]] == ["orders"]
    assert one["hints"] == []


VALID = (COUNT, "DELETE FROM orders")
NOT_VALID = (
    "SELECT never_was FROM orders",
    "SELEC 1",
    "DELETE FROM secret",
    "DROP TABLE orders",
    f"{COUNT}; {COUNT}",
)


@EVERY_ENGINE
async def test_a_statement_is_validated_without_being_run(office: Office) -> None:
    for sql in VALID:
        assert await office.call(ANN, "validate", sql=sql) == {"valid": True, "error": None}
    for sql in NOT_VALID:
        result: Any = await office.call(ANN, "validate", sql=sql)
        assert result["valid"] is False, sql
        assert result["error"], sql

    assert await counted(office) == 3


@EVERY_ENGINE
async def test_a_developer_executes_what_changes_rows_and_tables(office: Office) -> None:
    made: Any = await office.call(
        DEA, "execute", sql="CREATE TABLE made_now (id INTEGER PRIMARY KEY, what TEXT)"
    )
    inserted: Any = await office.call(
        DEA, "execute", sql="INSERT INTO made_now VALUES (1, 'a'), (2, 'b') RETURNING id"
    )
    deleted: Any = await office.call(DEA, "execute", sql="DELETE FROM made_now WHERE id = 1")
    read: Any = await office.call(DEA, "execute", sql="SELECT what FROM made_now")

    assert made["rows"] == []
    assert inserted["rows"] == [[1], [2]]
    assert (deleted["rows_affected"], read["rows"]) == (1, [["b"]])
    assert [each.is_modifying for each in await office.ran()] == [True, True, True, False]


FEW = "WITH few AS (SELECT * FROM orders WHERE id < 3)"
CHANGES = (
    ("INSERT INTO orders SELECT id + 10, customer, total FROM orders WHERE customer = 'ann'", 2, 0),
    ("FEW INSERT INTO orders SELECT id + 20, customer, total FROM few", 2, 0),
    ("INSERT INTO orders SELECT id + 30, customer, 1 FROM orders WHERE id = 3 RETURNING id", 1, 1),
    ("FEW UPDATE orders SET total = 0 WHERE id IN (SELECT id FROM few) RETURNING id", 2, 2),
    ("FEW DELETE FROM orders WHERE id IN (SELECT id + 90 FROM few)", 0, 0),
    ("CREATE TABLE made_empty (id INTEGER)", 0, 0),
)
"""Statements with how many rows they change, and how many they return."""


@EVERY_ENGINE
async def test_execute_tells_what_it_changed_and_returned_however_it_is_written(
    office: Office,
) -> None:
    # S2.10: execute
    for text, changed, returned in CHANGES:
        sql = text.replace("FEW", FEW)
        result: Any = await office.call(DEA, "execute", sql=sql)
        assert (result["rows_affected"], result["row_count"]) == (changed, returned), sql

    assert [each.rows_affected for each in await office.ran()] == [each[1] for each in CHANGES]
    assert await counted(office) == 3 + 2 + 2 + 1


UNSELECTED = (
    "INSERT INTO orders (id, customer) SELECT id + 50, number FROM cards",
    "UPDATE cards SET number = '' RETURNING number",
    "UPDATE orders SET customer = (SELECT max(number) FROM cards)",
    "DELETE FROM orders WHERE id IN (SELECT id FROM cards) RETURNING *",
    "CREATE TABLE made_copy AS SELECT * FROM cards",
    "CREATE VIEW made_view AS SELECT * FROM cards",
    "DROP TABLE cards",
)


@EVERY_ENGINE
async def test_execute_reaches_no_table_that_is_there_and_not_selected(office: Office) -> None:
    # S2.45: table_not_selected
    schema = "public" if office.shop.engine is EngineKind.POSTGRESQL else "main"
    tables = [
        SchemaTable(schema=schema, name="orders", columns=()),
        SchemaTable(schema=schema, name="cards", columns=(), is_selected=False),
    ]
    await office.stores.ontology.write(
        schema=Schema(tenant="default", datasource="d1", tables=tables, refreshed=office.now)
    )

    for sql in UNSELECTED:
        failure = await refused(office, "execute", sql)
        assert failure.code == DataCode.TABLE_NOT_SELECTED, sql
    await office.call(DEA, "execute", sql="CREATE TABLE made_now AS SELECT id FROM orders")
    made: Any = await office.call(
        DEA, "execute", sql="INSERT INTO made_now SELECT id + 10 FROM made_now RETURNING id"
    )

    assert made["rows_affected"] == 3


@EVERY_ENGINE
async def test_a_developer_takes_a_column_away(office: Office) -> None:
    await office.call(DEA, "execute", sql="CREATE TABLE made_now AS SELECT id, total FROM orders")

    await office.call(DEA, "execute", sql="ALTER TABLE made_now DROP COLUMN total")

    left: Any = await office.call(DEA, "execute", sql="SELECT * FROM made_now")
    assert [each["name"] for each in left["columns"]] == ["id"]


NOT_EXECUTED = (
    "DELETE FROM orders; DELETE FROM cards",
    "BEGIN",
    "COMMIT",
    "DROP TABLE secret",
    "DELETE FROM secret",
    "CREATE TABLE elsewhere (a INTEGER)",
)


@EVERY_ENGINE
async def test_execute_takes_one_statement_on_what_is_allowed(office: Office) -> None:
    for sql in NOT_EXECUTED:
        failure = await refused(office, "execute", sql)
        assert failure.code in REFUSALS, sql

    assert await counted(office) == 3


async def test_only_developers_execute_and_only_where_it_may_be_written(office: Office) -> None:
    sql = "DELETE FROM orders"

    for principal in (ANN, KEY):
        failure = await refused(office, "execute", sql, principal)
        assert failure.code == DataCode.QUERY_NOT_AUTHORIZED
    await office.change_shop(is_writable=False)
    failure = await refused(office, "execute", sql)

    assert failure.code == DataCode.QUERY_NOT_AUTHORIZED
    assert await counted(office) == 3
    assert (await office.call(DEA, "execute", sql=COUNT))["rows"] == [[3]]


async def test_what_is_not_selected_is_refused_in_the_words_of_what_is_not_there(
    office: Office,
) -> None:
    tables = [
        SchemaTable(schema="main", name="orders", columns=()),
        SchemaTable(schema="main", name="cards", columns=(), is_selected=False),
    ]
    await office.stores.ontology.write(
        schema=Schema(tenant="default", datasource="d1", tables=tables, refreshed=office.now)
    )

    told = [
        str(await refused(office, "query", "SELECT * FROM it".replace("it", table), ANN)).replace(
            table, "?"
        )
        for table in ("cards", "secret", "never_was")
    ]

    assert len(set(told)) == 1
    assert await counted(office) == 3


async def test_what_the_database_says_comes_with_its_code(office: Office) -> None:
    failure = await refused(office, "execute", "INSERT INTO orders VALUES (1, 'x', 1)")

    assert failure.code == DataCode.UNIQUE_VIOLATION
    assert (await office.ran())[-1].code == DataCode.UNIQUE_VIOLATION

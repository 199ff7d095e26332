"""What the tools may rely on, whichever engine a datasource is (issue 9: must show 2, 3, 5)."""

from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import anyio
import pytest
from tests.data.engines.shops import ENDLESS, MANY_ROWS, Shop

from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind, Rows

pytestmark = pytest.mark.anyio


async def refused(act: Callable[[], Awaitable[object]]) -> DataFailure:
    with pytest.raises(DataFailure) as caught:
        await act()
    return caught.value


async def test_a_reading_statement_gives_its_rows_and_columns(shop: Shop) -> None:
    rows = await shop.read("SELECT id, name FROM customers WHERE id < $1 ORDER BY id", 3)

    assert [column.name for column in rows.columns] == ["id", "name"]
    assert all(column.type for column in rows.columns)
    assert rows.rows == [[1, "Ada"], [2, "Grace"]]
    assert not rows.truncated
    assert rows.rows_affected is None
    assert rows.ms >= 0


@pytest.mark.parametrize(("limit", "truncated"), [(2, True), (3, False), (4, False)])
async def test_no_more_rows_come_than_are_asked_for(
    shop: Shop, limit: int, *, truncated: bool
) -> None:
    rows = await shop.read("SELECT id FROM customers ORDER BY id", limit=limit)

    assert rows.rows == [[1], [2], [3]][:limit]
    assert rows.truncated is truncated


async def test_rows_are_read_no_further_than_they_are_wanted(shop: Shop) -> None:
    rows = await shop.read(MANY_ROWS[shop.kind], limit=300)

    assert [row[0] for row in rows.rows] == list(range(1, 301))
    assert rows.truncated


WIDE = 430
"""Columns of 10,000 characters of which a row is too large for an answer."""

LONG_TEXT = {
    EngineKind.SQLITE: "printf('%010000d', 1)",
    EngineKind.POSTGRESQL: "repeat('x', 10000)",
    EngineKind.DUCKDB: "repeat('x', 10000)",
}


async def test_a_row_that_no_answer_has_room_for_is_refused(shop: Shop) -> None:
    long, source = ", ".join(["s"] * WIDE), LONG_TEXT[shop.kind]

    failure = await refused(lambda: shop.read(f"SELECT {long} FROM (SELECT {source} AS s) AS t"))  # noqa: S608 - ours

    assert failure.code in {DataCode.DATA_EXCEPTION, DataCode.VALUE_TOO_LONG}
    assert "ask for fewer columns" in str(failure)
    assert (await shop.read(f"SELECT length({source})")).rows == [[10_000]]


async def test_an_answer_ends_before_a_row_that_it_has_no_room_for(shop: Shop) -> None:
    long = ", ".join(["CASE WHEN id > 1 THEN s ELSE '' END"] * WIDE)
    source = f"customers, (SELECT {LONG_TEXT[shop.kind]} AS s) AS t"

    rows = await shop.read(f"SELECT {long} FROM {source} ORDER BY id")  # noqa: S608 - ours

    assert (len(rows.rows), rows.truncated) == (1, True)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO customers VALUES (9, 'Eve', NULL, NULL)",
        "UPDATE customers SET name = 'Eve'",
        "DELETE FROM orders",
        "DROP TABLE orders",
        "CREATE TABLE made (id integer)",
        "CREATE TEMP TABLE made (id integer)",
        "ALTER TABLE orders ADD COLUMN more text",
        "WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone",
        "SELECT 1; DELETE FROM orders",
        "BEGIN",
        "COMMIT",
        "VACUUM",
        "EXPLAIN ANALYZE DELETE FROM orders",
        "ATTACH 'other.db' AS other",
    ],
)
@pytest.mark.parametrize("way", ["read", "describe"])
async def test_the_engine_itself_lets_nothing_be_changed(
    shop: Shop, statement: str, way: str
) -> None:
    before = shop.look("SELECT count(*), min(name) FROM customers")
    acts: dict[str, Callable[[], Awaitable[object]]] = {
        "read": lambda: shop.read(statement),
        "describe": lambda: shop.engine.describe(shop.prepared(statement), seconds=30),
    }

    failure = await refused(acts[way])
    await shop.engine.aclose()

    assert failure.code != DataCode.SERVICE_UNAVAILABLE
    assert shop.look("SELECT count(*), min(name) FROM customers") == before
    assert shop.look("SELECT count(*) FROM orders") == [(3,)]


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM orders", "INSERT INTO customers VALUES (9, 'Eve', NULL, NULL)"],
)
async def test_the_plan_of_a_change_is_shown_and_changes_nothing(
    shop: Shop, statement: str
) -> None:
    await shop.engine.explain(shop.prepared(statement), seconds=30)
    await shop.engine.aclose()

    assert shop.look("SELECT count(*) FROM orders") == [(3,)]
    assert shop.look("SELECT count(*) FROM customers") == [(3,)]


@pytest.mark.parametrize(
    "statement",
    ["ANALYZE DELETE FROM orders", "ANALYZE SELECT 1", "DROP TABLE orders", "SELECT 1; SELECT 2"],
)
async def test_explaining_takes_nothing_that_would_run(shop: Shop, statement: str) -> None:
    await refused(lambda: shop.engine.explain(shop.prepared(statement), seconds=30))
    await shop.engine.aclose()

    assert shop.look("SELECT count(*) FROM orders") == [(3,)]


async def test_a_plan_names_the_table(shop: Shop) -> None:
    plan = await shop.engine.explain(
        shop.prepared("SELECT * FROM orders WHERE customer = $1", 1), seconds=30
    )

    assert any("orders" in line for line in plan)


async def test_columns_are_described_without_running(shop: Shop) -> None:
    columns = await shop.engine.describe(
        shop.prepared("SELECT name, id + 1 AS next FROM customers"), seconds=30
    )

    assert [column.name for column in columns] == ["name", "next"]
    assert columns[0].type


@pytest.mark.parametrize("sql", ["SELECT * FROM secret", "SELECT count(*) FROM secret"])
async def test_a_table_that_is_not_allowed_is_not_read(shop: Shop, sql: str) -> None:
    failure = await refused(lambda: shop.read(sql))

    assert failure.code in (DataCode.UNDEFINED_TABLE, DataCode.SECURITY_VIOLATION)
    assert "swordfish" not in str(failure)


async def test_a_view_that_is_allowed_shows_what_its_owner_wants(shop: Shop) -> None:
    assert (await shop.read("SELECT word FROM words")).rows == [["swordfish"]]
    assert (await shop.read("SELECT count(*) FROM words")).rows == [[1]]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH words AS (SELECT word FROM secret) SELECT * FROM words",
        """WITH secret AS (SELECT 1 AS word), two AS (SELECT * FROM secret)
        SELECT * FROM two, (SELECT * FROM secret) AS three""",
        "SELECT 1 AS word WHERE 1 = 0 UNION ALL SELECT word FROM secret",
        "SELECT * FROM (SELECT word FROM secret) AS words",
        "SELECT (SELECT max(word) FROM secret)",
        "SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM secret WHERE word LIKE 's%')",
    ],
)
async def test_no_name_of_its_own_opens_what_is_not_allowed(shop: Shop, sql: str) -> None:
    try:
        rows = await shop.read(sql)
    except DataFailure:
        return
    assert "swordfish" not in str(rows.rows)


@pytest.mark.parametrize(
    ("value", "comes_back"),
    [
        ("plain", "plain"),
        ("'; DROP TABLE orders; --", "'; DROP TABLE orders; --"),
        ("ünïcödé 🦆", "ünïcödé 🦆"),
        ("x" * 60_000, "x" * 60_000),
        (7, 7),
        (2**53 + 1, 2**53 + 1),
        (None, None),
    ],
)
async def test_what_is_bound_comes_back_as_it_was(
    shop: Shop, value: str | int | None, comes_back: object
) -> None:
    cast = "bigint" if isinstance(value, int) else "text"

    rows = await shop.read(f"SELECT CAST($1 AS {cast})", value)

    assert rows.rows == [[comes_back]]


async def test_a_text_of_a_million_characters_is_bound_whole_and_given_back_cut(
    shop: Shop,
) -> None:
    rows = await shop.read("SELECT length(CAST($1 AS text)), CAST($1 AS text)", "x" * 1_000_000)

    [[length, text]] = rows.rows
    assert length == 1_000_000
    assert isinstance(text, str)
    assert text.startswith("x" * 65_536)
    assert text.endswith("… (cut)")
    assert len(text) < 70_000


async def test_a_nul_is_bound_or_refused_in_words_that_say_so(shop: Shop) -> None:
    if shop.kind is EngineKind.POSTGRESQL:
        failure = await refused(lambda: shop.read("SELECT CAST($1 AS text)", "a\0b"))
        assert failure.code == DataCode.INVALID_INPUT
        assert "NUL" in str(failure)
    else:
        assert (await shop.read("SELECT CAST($1 AS text)", "a\0b")).rows == [["a\0b"]]


async def test_dates_decimals_and_ids_are_bound(shop: Shop) -> None:
    rows = await shop.read(
        "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer "
        "WHERE c.born < $1 AND o.amount >= $2 ORDER BY o.id",
        date(1900, 1, 1),
        Decimal("12.50"),
    )
    key = UUID("00000000-0000-0000-0000-000000000001")
    kept = await shop.read("SELECT CAST($1 AS text)", key)

    assert rows.rows == [[10]]
    assert kept.rows == [[str(key)]]


async def test_a_time_with_an_offset_is_compared_as_the_moment_that_it_is(shop: Shop) -> None:
    kept = "2026-01-02 03:04:05"  # as CURRENT_TIMESTAMP of SQLite writes one, in UTC
    column = f"'{kept}'" if shop.kind is EngineKind.SQLITE else f"timestamp '{kept}'"
    moment = datetime(2026, 1, 2, 8, 34, 5, tzinfo=timezone(timedelta(hours=5, minutes=30)))

    rows = await shop.read(f"SELECT {column} = $1, {column} >= $1, {column} < $1", moment)

    assert rows.rows == [[True, True, False]]


@pytest.mark.parametrize(
    ("names", "found"), [(["Ada", "Grace"], [1, 2]), (["x'); --"], []), ([], [])]
)
async def test_a_list_is_bound_as_one_value(
    shop: Shop, names: list[str | int], found: list[int]
) -> None:
    test = {
        EngineKind.SQLITE: "name IN (SELECT value FROM json_each($1))",
        EngineKind.POSTGRESQL: "name = ANY($1)",
        EngineKind.DUCKDB: "name IN (SELECT unnest(CAST($1 AS text[])))",
    }[shop.kind]

    rows = await shop.read(f"SELECT id FROM customers WHERE {test}", names)  # noqa: S608 - a constant

    assert sorted(str(row[0]) for row in rows.rows) == [str(each) for each in found]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELEC 1", DataCode.SYNTAX_ERROR),
        ("SELECT wrong FROM customers", DataCode.UNDEFINED_COLUMN),
        ("SELECT * FROM nowhere", DataCode.UNDEFINED_TABLE),
    ],
)
async def test_what_is_wrong_with_a_statement_is_said(shop: Shop, sql: str, code: DataCode) -> None:
    failure = await refused(lambda: shop.read(sql))

    assert failure.code == code
    assert "\n" not in str(failure)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("INSERT INTO customers VALUES (1, 'Eve', NULL, NULL)", DataCode.UNIQUE_VIOLATION),
        ("INSERT INTO customers VALUES (9, NULL, NULL, NULL)", DataCode.NOT_NULL_VIOLATION),
        ("INSERT INTO orders VALUES (20, 99, 1, NULL)", DataCode.FOREIGN_KEY_VIOLATION),
        ("INSERT INTO orders VALUES (20, 1, -1, NULL)", DataCode.CHECK_VIOLATION),
    ],
)
async def test_what_a_constraint_refuses_is_said_and_not_done(
    shop: Shop, sql: str, code: DataCode
) -> None:
    failure = await refused(lambda: shop.write(sql))
    await shop.engine.aclose()

    assert failure.code == code
    assert shop.look("SELECT count(*) FROM customers") == [(3,)]
    assert shop.look("SELECT count(*) FROM orders") == [(3,)]


async def test_a_change_counts_its_rows_and_gives_what_it_returns(shop: Shop) -> None:
    changed = await shop.write("UPDATE orders SET note = $1 WHERE customer = 1", "paid")
    added = await shop.write(
        "INSERT INTO customers VALUES (4, 'Joan', NULL, NULL), (5, 'Mary', NULL, NULL) "
        "RETURNING id, name",
        limit=1,
    )
    await shop.engine.aclose()

    assert changed == Rows(rows_affected=2, rows=[], ms=changed.ms)
    assert added.rows == [[4, "Joan"]]
    assert added.truncated
    assert added.rows_affected == 2
    assert shop.look("SELECT count(*) FROM orders WHERE note = 'paid'") == [(2,)]
    assert shop.look("SELECT count(*) FROM customers") == [(5,)]


async def test_a_table_may_be_made_by_whoever_may_write(shop: Shop) -> None:
    await shop.write("CREATE TABLE made (id integer)")
    await shop.write("INSERT INTO made VALUES (1)")

    assert (await shop.read("SELECT id FROM made")).rows == [[1]]


async def test_what_runs_too_long_is_stopped_and_says_the_limit(shop: Shop) -> None:
    failure = await refused(lambda: shop.read(ENDLESS[shop.kind], seconds=0.2))

    assert failure.code == DataCode.QUERY_ERROR
    assert "0.2 s" in str(failure)
    assert (await shop.read("SELECT 1")).rows == [[1]]


async def test_a_statement_ends_with_its_caller(shop: Shop) -> None:
    with anyio.move_on_after(0.2) as scope:
        await shop.read(ENDLESS[shop.kind], seconds=600)

    # It is only here that the statement has ended: whoever cancels waits for that.
    assert scope.cancelled_caught
    assert (await shop.read("SELECT 1")).rows == [[1]]


async def test_closing_stops_what_runs(shop: Shop) -> None:
    failures: list[DataFailure] = []

    async def run() -> None:
        failures.append(await refused(lambda: shop.read(ENDLESS[shop.kind], seconds=600)))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        with anyio.move_on_after(0.3):
            await anyio.sleep_forever()
        await shop.engine.aclose()

    assert failures


async def test_the_schema_is_told_with_keys_and_without_what_is_not_allowed(shop: Shop) -> None:
    tables = {table.name: table for table in await shop.engine.schema()}

    assert sorted(tables) == ["customers", "orders", "words"]
    customers, orders = tables["customers"], tables["orders"]
    assert [column.name for column in customers.columns] == ["id", "name", "email", "born"]
    assert [column.nullable for column in customers.columns] == [False, False, True, True]
    assert [column.is_primary_key for column in customers.columns] == [True, False, False, False]
    assert customers.columns[3].type == "date"
    [key] = orders.foreign_keys
    assert (key.column, key.to_table, key.to_column) == ("customer", "customers", "id")
    assert key.to_schema == orders.schema
    assert tables["words"].is_view
    assert not customers.is_view


async def test_a_datasource_answers_and_warns_of_nothing(shop: Shop) -> None:
    await shop.engine.ping()

    assert list(await shop.engine.warnings()) == []


async def test_an_answer_ends_before_it_is_too_large(shop: Shop) -> None:
    rows = await shop.read(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
        "SELECT i, CAST($1 AS text) AS filler FROM n ORDER BY i",
        "y" * 60_000,
        limit=1000,
    )

    assert rows.truncated
    assert 60 <= len(rows.rows) <= 70
    assert [row[0] for row in rows.rows] == list(range(1, len(rows.rows) + 1))

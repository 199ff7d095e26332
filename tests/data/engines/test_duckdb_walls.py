"""What DuckDB itself holds back from whoever reads, in files and in folders."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import anyio
import duckdb as library
import pytest
from tests.data.engines.shops import ALLOWED, ENDLESS, Shop, datasource_of

from remit.data.engines.engine import Engine, Prepared, Relied
from remit.data.engines.opening import open_engine
from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind

pytestmark = pytest.mark.anyio

STATEMENTS = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM query('SELECT * FROM secret')",
    "SELECT * FROM query_table('secret')",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM information_schema.tables",
    "SELECT current_setting('memory_limit')",
    "SELECT getenv('HOME')",
    "CREATE TEMP TABLE made (id integer)",
    "CALL pragma_version()",
    "COPY (SELECT 1) TO 'out.csv'",
    "EXPORT DATABASE 'out'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '4GB'",
    "SHOW TABLES",
    "SUMMARIZE customers",
    "SELECT repeat('x', 1000000000)",
    "SELECT repeat(repeat(repeat('x', 10000), 10000), 10000)",
    "SELECT repeat(name, 10000) FROM customers",
    "SELECT len(range(1000000000))",
    "SELECT lpad('x', 1000000000, 'y')",
    "SELECT printf('%1000000000d', 1)",
    "SELECT bitstring('1', 1000000000)",
    "SELECT format('" + "{0}" * 17 + "', name) FROM customers",
    "SELECT printf('" + "%1$s" * 17 + "', name) FROM customers",
    "SELECT replace(name, 'a', 'a much longer text') FROM customers",
    "SELECT replace(name, 'a', email) FROM customers",
    "SELECT regexp_replace(name, '.', 'a much longer text', 'g') FROM customers",
    "SELECT damerau_levenshtein(name, 'Ada') FROM customers",
    "SELECT levenshtein(name, email) FROM customers",
    "SELECT levenshtein(left(name, 1001), email) FROM customers",
    "SELECT json_merge_patch(name, email) FROM customers",
    "SELECT 1; SELECT 2",
)


@pytest.mark.parametrize("statement", STATEMENTS)
async def test_nothing_but_reading_what_is_allowed_gets_through(
    duckdb: Shop, statement: str
) -> None:
    with pytest.raises(DataFailure) as caught:
        await duckdb.read(statement)

    assert caught.value.code != DataCode.SERVICE_UNAVAILABLE


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT count(*) FROM range(1000000)", 1_000_000),
        ("SELECT repeat('x', 3)", "xxx"),
        ("SELECT replace('a & b', '&', '&amp;')", "a &amp; b"),
        ("SELECT replace('the active one', 'active', 'running now!')", "the running now! one"),
        ("SELECT regexp_replace('555-1234', '(\\d+)-(\\d+)', '\\2/\\1')", "1234/555"),
        ("SELECT levenshtein(name, 'Aida') FROM customers WHERE id = 1", 1),
        ("SELECT levenshtein(left(name, 100), name) FROM customers WHERE id = 1", 0),
        ("SELECT format('{}: {}', 'a', 1)", "a: 1"),
        ("WITH n(i) AS (SELECT 4 UNION ALL SELECT 5) SELECT sum(i)::integer FROM n", 9),
        ("FROM customers SELECT count(*)", 3),
        ("SELECT count(*) FROM main.customers", 3),
        ("SELECT 1.50::decimal(5, 2)", "1.50"),
        ("SELECT {'a': [1, NULL], 'b': date '2026-11-29'}", {"a": [1, None], "b": "2026-11-29"}),
        ("SELECT 'nan'::double", "NaN"),
        ("SELECT '{\"a\": [1]}'::json", {"a": [1]}),
        ("SELECT timestamp '2026-11-29 10:30:00'", "2026-11-29T10:30:00"),
        ("SELECT 170141183460469231731687303715884105727::hugeint", 2**127 - 1),
        ("SELECT '\\x00\\xFF'::blob", "\\x00ff"),
        ("SELECT interval 90 minute", "PT1H30M"),
    ],
)
async def test_what_reads_is_read(duckdb: Shop, sql: str, first: object) -> None:
    assert (await duckdb.read(sql)).rows == [[first]]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT list(i) FROM range(2000000) AS n(i)",
        "SELECT {'a': list(i)} FROM range(2000000) AS n(i)",
        "SELECT map(list(i), list(i)) FROM range(1000000) AS n(i)",
        "WITH t AS (SELECT list(i) AS l FROM range(200000) AS n(i)) SELECT l, l, l, l FROM t",
    ],
)
async def test_what_python_would_make_ten_times_as_large_is_refused_before(
    duckdb: Shop, statement: str
) -> None:
    with pytest.raises(DataFailure, match="ask for fewer columns, or for parts") as caught:
        await duckdb.read(statement)

    assert caught.value.code == DataCode.DATA_EXCEPTION


async def test_a_database_is_let_go_of_for_who_writes_it(duckdb: Shop) -> None:
    await duckdb.read("SELECT 1")
    async with anyio.create_task_group() as group:
        for number in range(20, 26):
            group.start_soon(
                duckdb.write, "INSERT INTO customers VALUES ($1, 'Eve', NULL, NULL)", number
            )
            group.start_soon(duckdb.read, "SELECT count(*) FROM customers")

    assert (await duckdb.read("SELECT count(*) FROM customers")).rows == [[9]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "customers.csv").write_text("id,name\n1,Ada\n2,Grace\n")
    orders = tmp_path / "orders.parquet"
    with library.connect() as connection:
        connection.execute("COPY (SELECT range AS id FROM range(10)) TO $1", [str(orders)])
    (tmp_path / "secret.csv").write_text("word\nswordfish\n")
    (tmp_path / "notes.txt").write_text("swordfish")
    return tmp_path


@pytest.fixture
async def files(folder: Path) -> AsyncGenerator[Engine]:
    engine = open_engine(datasource_of(EngineKind.DUCKDB, str(folder)))
    yield engine
    await engine.aclose()


async def rows_of(engine: Engine, sql: str) -> object:
    return (await engine.read(Prepared(sql=sql), limit=100, seconds=30)).rows


async def test_each_file_of_a_folder_is_a_table(files: Engine) -> None:
    assert await rows_of(files, "SELECT name FROM customers ORDER BY id") == [["Ada"], ["Grace"]]
    assert await rows_of(files, "SELECT count(*) FROM orders") == [[10]]
    assert [table.name for table in await files.schema()] == ["customers", "orders"]


async def test_an_ending_in_capitals_is_the_same_ending(files: Engine, folder: Path) -> None:
    (folder / "orders.parquet").rename(folder / "ORDERS.Parquet")
    (folder / "orders.csv").write_text("id\n1\n")  # Parquet comes first
    (folder / "Made.CSV").write_text("id\n1\n")

    assert await rows_of(files, "SELECT count(*) FROM orders") == [[10]]
    assert await rows_of(files, "SELECT id FROM made") == [[1]]


@pytest.mark.parametrize(
    "statement",
    [
        *STATEMENTS,
        "SELECT * FROM secret",
        "SELECT * FROM '{folder}/secret.csv'",
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "SELECT * FROM read_text('{folder}/notes.txt')",
        "SELECT * FROM passwd",
        "COPY customers TO '{folder}/customers.csv'",
        "INSERT INTO customers VALUES (3, 'Eve')",
    ],
)
async def test_no_other_file_is_read_through_a_folder(
    files: Engine, folder: Path, statement: str
) -> None:
    (folder / "passwd.csv").symlink_to("/etc/passwd")

    with pytest.raises(DataFailure):
        await rows_of(files, statement.replace("{folder}", str(folder)))

    assert (folder / "customers.csv").read_text() == "id,name\n1,Ada\n2,Grace\n"


async def test_a_folder_is_never_written(files: Engine) -> None:
    with pytest.raises(DataFailure) as caught:
        await files.write(Prepared(sql="CREATE TABLE made (id integer)"), limit=1, seconds=30)

    assert caught.value.code == DataCode.QUERY_NOT_AUTHORIZED


async def test_a_file_that_changes_or_comes_is_seen(files: Engine, folder: Path) -> None:
    await rows_of(files, "SELECT * FROM customers")
    (folder / "customers.csv").write_text("id,name,born\n7,Joan,1917\n")
    (folder / "made.csv").write_text("id\n1\n")

    assert await rows_of(files, "SELECT * FROM customers") == [[7, "Joan", 1917]]
    assert await rows_of(files, "SELECT * FROM made") == [[1]]


async def test_a_file_that_cannot_be_read_hides_no_other(files: Engine, folder: Path) -> None:
    (folder / "made.csv").write_bytes(b'\xff\xfe\x00"')

    assert await rows_of(files, "SELECT count(*) FROM customers") == [[2]]


async def test_a_folder_is_stopped_like_any_other(files: Engine) -> None:
    with pytest.raises(DataFailure, match=r"0\.2 s"):
        await files.read(Prepared(sql=ENDLESS[EngineKind.DUCKDB]), limit=1, seconds=0.2)


def test_the_names_above_are_what_is_allowed() -> None:
    assert "secret" not in ALLOWED
    assert {"customers", "orders", "made"} <= set(ALLOWED)


SALES = """
CREATE SCHEMA sales;
CREATE TABLE sales.deals (id integer);
INSERT INTO sales.deals VALUES (7);
CREATE SCHEMA hidden;
CREATE TABLE hidden.deals (id integer);
"""


@pytest.fixture(params=["", "CREATE MACRO sales.upper(x) AS 'mine';"])
async def sales(duckdb: Shop, request: pytest.FixtureRequest) -> AsyncGenerator[Shop]:
    """Give a shop of two schemas, in which a macro may have the name of a function."""
    duckdb.look(SALES + request.param)
    declared = replace(duckdb.datasource, schemas=("main", "sales"), tables=("orders", "sales.*"))
    engine = open_engine(declared)
    yield replace(duckdb, engine=engine, datasource=declared)
    await engine.aclose()


async def test_a_table_of_another_schema_is_named_with_it(sales: Shop) -> None:
    joined = "SELECT d.id FROM SALES.deals d, orders o WHERE o.id = 10"
    tables = Relied(tables=(("sales", "deals"), ("", "orders")))

    assert (await sales.read(joined)).rows == [[7]]
    for sql, code in [
        ("SELECT id FROM deals", DataCode.UNDEFINED_TABLE),
        ("SELECT id FROM hidden.deals", DataCode.UNDEFINED_TABLE),
        ("SELECT sales.upper('a')", None),
    ]:
        with pytest.raises(DataFailure) as caught:
            await sales.read(sql)
        assert code in (None, caught.value.code)

    for sql in ("INSERT INTO sales.deals SELECT id FROM orders", "DELETE FROM sales.deals"):
        prepared = replace(sales.prepared(sql), relied=tables)
        await sales.engine.write(prepared, limit=1, seconds=30)
    assert (await sales.read("SELECT count(*) FROM sales.deals")).rows == [[0]]


async def test_a_change_finds_no_table_of_another_schema_without_it(sales: Shop) -> None:
    tables = Relied(tables=(("", "deals"), ("sales", "deals")))
    prepared = sales.prepared("INSERT INTO deals SELECT id FROM sales.deals")

    with pytest.raises(DataFailure) as caught:
        await sales.engine.write(replace(prepared, relied=tables), limit=1, seconds=30)
    assert caught.value.code == DataCode.UNDEFINED_TABLE


async def test_what_a_change_returns_under_the_name_of_a_count_is_returned(duckdb: Shop) -> None:
    sql = "UPDATE orders SET note = 'seen' WHERE id < 12 RETURNING id AS \"Count\""

    rows = await duckdb.write(sql)

    assert ([each.name for each in rows.columns], rows.rows) == (["Count"], [[10], [11]])
    assert rows.rows_affected == 2

"""What SQLite itself holds back from whoever reads."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial

import pytest
from tests.data.engines.shops import Shop, look_sqlite

from remit.data.engines import sqlite as engine
from remit.data.engines.sqlite_functions import bounded_functions
from remit.data.engines.sqlite_walls import LARGEST, names_itself
from remit.errors import DataFailure
from remit.model.data import DataCode

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA table_info(customers)",
        "PRAGMA writable_schema = ON",
        "SELECT * FROM pragma_table_info('customers')",
        "SELECT * FROM pragma_database_list",
        "SELECT sql FROM sqlite_master",
        "SELECT sql FROM sqlite_schema",
        "SELECT count(*) FROM sqlite_temp_master",
        "SELECT * FROM dbstat",
        "SELECT load_extension('other')",
        "SELECT readfile('/etc/passwd')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT hex(zeroblob(1000000000))",
        "SELECT randomblob(1000000000)",
        "ATTACH ':memory:' AS other",
        "VACUUM INTO 'copy.db'",
        "REPLACE INTO customers VALUES (1, 'Eve', NULL, NULL)",
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
        "SELECT " + " + ".join(["1"] * 3000),
    ],
)
async def test_nothing_but_reading_what_is_allowed_gets_through(
    sqlite: Shop, statement: str
) -> None:
    with pytest.raises(DataFailure) as caught:
        await sqlite.read(statement)

    assert caught.value.code != DataCode.SERVICE_UNAVAILABLE


@pytest.mark.parametrize(
    "sql",
    [
        "WITH words AS (SELECT word FROM secret) SELECT * FROM words",
        "WITH words(word) AS (SELECT word FROM secret) SELECT * FROM words",
        "WITH WORDS/**/AS/* */MATERIALIZED (SELECT word FROM secret) SELECT * FROM words",
        'WITH "words" AS NOT MATERIALIZED (SELECT word FROM secret) SELECT * FROM words',
        "WITH [words] -- hm\n AS (SELECT word FROM secret) SELECT * FROM words",
        "WITH `words` AS (SELECT word FROM secret) SELECT * FROM words",
        "WITH 'words' AS (SELECT word FROM secret) SELECT * FROM words",
        "SELECT * FROM words, (WITH words AS (SELECT word FROM secret) SELECT * FROM words)",
    ],
)
async def test_a_cte_is_not_taken_for_a_view_of_its_name(sqlite: Shop, sql: str) -> None:
    with pytest.raises(DataFailure, match="no such table: secret"):
        await sqlite.read(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM words AS w",
        "SELECT word FROM words WHERE word IN ('words (', 'as (')",
        "WITH w AS (SELECT * FROM words) SELECT * FROM w -- words AS (",
    ],
)
def test_using_a_view_is_not_naming_something_after_it(sql: str) -> None:
    assert not names_itself(sql, "words")


async def test_what_is_not_allowed_and_what_is_not_there_are_told_alike(sqlite: Shop) -> None:
    said = [
        (await failure(sqlite, sql)).replace(sql.split()[-1], "…")
        for sql in ("SELECT * FROM secret", "SELECT * FROM nowhere")
    ]

    assert said[0] == said[1]


async def failure(shop: Shop, sql: str) -> str:
    with pytest.raises(DataFailure) as caught:
        await shop.read(sql)
    return f"{caught.value.code}: {caught.value}"


async def test_a_virtual_table_can_be_searched(sqlite: Shop) -> None:
    look_sqlite(sqlite.url, "CREATE VIRTUAL TABLE made USING fts5(body)")
    look_sqlite(sqlite.url, "INSERT INTO made VALUES ('a red fox'), ('a grey wolf')")

    rows = await sqlite.read("SELECT body FROM made WHERE made MATCH 'fox'")

    assert rows.rows == [["a red fox"]]


async def test_a_trigger_does_what_its_owner_wants(sqlite: Shop) -> None:
    look_sqlite(
        sqlite.url,
        "CREATE TRIGGER note AFTER INSERT ON customers BEGIN "
        "INSERT INTO secret SELECT 'new ' || word FROM secret; END",
    )

    await sqlite.write("INSERT INTO customers VALUES (9, 'Eve', NULL, NULL)")

    assert sqlite.look("SELECT count(*) FROM secret") == [(2,)]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO secret VALUES ('more')",
        "DROP TABLE secret",
        "ALTER TABLE secret ADD COLUMN more text",
        "INSERT INTO customers SELECT 9, word, NULL, NULL FROM secret",
        "PRAGMA user_version = 3",
        "ATTACH ':memory:' AS other",
        "DELETE FROM sqlite_schema",
    ],
)
async def test_writing_stays_within_what_is_allowed(sqlite: Shop, statement: str) -> None:
    with pytest.raises(DataFailure):
        await sqlite.write(statement)

    assert sqlite.look("SELECT * FROM secret") == [("swordfish",)]


async def test_a_file_that_is_no_database_is_told_without_its_path(sqlite: Shop) -> None:
    look_sqlite(sqlite.url, "SELECT 1")
    with open(sqlite.url, "wb") as file:  # noqa: PTH123, ASYNC230 - the url is a path
        file.write(b"no database" * 100)

    said = await failure(sqlite, "SELECT 1")

    assert said.startswith("service_unavailable")
    assert sqlite.url not in said


async def test_what_asks_seldom_whether_it_has_to_end_is_interrupted(
    sqlite: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "STEPS", 10**9)  # as few as with values of some megabytes

    with pytest.raises(DataFailure, match="time limit"):
        await sqlite.read(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000000) "
            "SELECT max(i) FROM n",
            seconds=0.1,
        )


LARGE = "replace(printf('%.2000000c', 'a'), 'a', 'a')"


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        (f"instr({LARGE}, printf('%.1000000c', 'a') || 'b')", 0),
        (f"length(replace({LARGE}, printf('%.1000000c', 'a') || 'b', ''))", 2_000_000),
    ],
)
async def test_large_texts_are_looked_through_in_the_sum_of_their_lengths(
    sqlite: Shop, sql: str, first: int
) -> None:
    assert (await sqlite.read(f"SELECT {sql}")).rows == [[first]]


@pytest.mark.parametrize(
    "sql",
    [
        f"{LARGE} || {LARGE} || {LARGE}",
        f"replace({LARGE}, 'a', 'abc')",
        f"trim({LARGE}, {LARGE})",
        f"{LARGE} LIKE printf('%.501c', 'a')",
        "json_patch('{}', '{}')",
        # of each, SQLite 3.40 repeats the character without being stopped
        "printf('%.*c', 100000000, 'x')",
        "format('%-5.100000000lc', 'x')",
        "printf('%s %.*c', 'a', -100000000, 'x')",
        "printf('%.*c', '100000000', 'x')",
        "printf('%.*c', 4394967296, 'x')",
        "printf(" + "'%.1000000c%%%.1000000c' || " * 50 + "'', 'x')",
        f"printf('%.{'9' * 5000}c', 'x')",
        f"printf('%.{'0' * 200_000}100000000c', 'x')",
    ],
)
async def test_nothing_grows_or_takes_time_without_bounds(sqlite: Shop, sql: str) -> None:
    with pytest.raises(DataFailure) as caught:
        await sqlite.read(f"SELECT {sql}")

    assert caught.value.code != DataCode.SERVICE_UNAVAILABLE


VALUES = ("NULL", "''", "'a'", "'aXbXa'", "'äöä'", "7", "-1.5", "1e20", "0.1", "1.0", "x'6158'")


@pytest.mark.parametrize("function", ["instr", "trim", "ltrim", "rtrim", "replace"])
def test_functions_done_anew_give_what_those_of_sqlite_give(function: str) -> None:
    third = ", 'X'" if function == "replace" else ""
    calls = [f"{function}({one}, {other}{third})" for one in VALUES for other in VALUES]

    assert_alike(calls)


@pytest.mark.parametrize("function", ["printf", "format"])
def test_a_format_done_anew_gives_what_that_of_sqlite_gives(function: str) -> None:
    formats = ("NULL", "''", "'%%'", "'%s|%5d|%-8.3f'", "'%c%.3c'", "'%q %Q %w'", "'%z'", "7")
    calls = [
        f"{function}({form}, {one}, {other}, 3, 'b')"
        for form in (*formats, "'%.1s'", "'%!.1s'", "'%,d'", "'%*.*d'", "x'2564'")
        for one in VALUES
        for other in VALUES
    ]

    calls += [
        f"{function}('%c%.*c', {one}, {count}, 'b')" for one in VALUES[:7] for count in (3, -3)
    ]

    assert_alike([*calls, f"{function}()", *(f"{function}({form})" for form in formats)])


def assert_alike(calls: Sequence[str]) -> None:
    """Compare what calls give with and without our own functions."""
    with (
        closing(sqlite3.connect(":memory:")) as own,
        closing(sqlite3.connect(":memory:")) as anew,
        bounded_functions(anew, LARGEST),
    ):
        own.text_factory = anew.text_factory = partial(str, encoding="utf-8", errors="replace")
        for called in calls:
            sql = f"SELECT {called}, typeof({called})"
            assert anew.execute(sql).fetchall() == own.execute(sql).fetchall(), sql

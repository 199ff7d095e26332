"""What the record of calls says of the data server's: no literals, and no data (S2.46, S2.47)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.calls.redact import recorded
from remit.data.kept import MOST_SQL, kept_sql_anywhere
from remit.data.wording import MOST_RESULT, DataWording
from remit.servers.toolbox import ERROR, failed
from remit.testing.data_gateway import Callers, DataGateway

SECRET = "hunter2"

WORDING = DataWording()

STATEMENTS = [
    "SELECT 'hunter2'",
    "SELECT 'it''s hunter2', 1",
    "SELECT \"it's\" FROM t WHERE a = 'hunter2'",
    "SELECT 1 -- it's hunter2\n, 'hunter2'",
    "SELECT 1 -- it's\r, 'hunter2' -- '",
    "SELECT /* ' hunter2 */ 'hunter2'",
    "SELECT /* /* */ ' */ 'hunter2'",
    "SELECT /* /* */ hunter2",
    r"SELECT E'\'hunter2', 1",
    r"SELECT e'a\\', 'hunter2'",
    r"SELECT 'a\', 'hunter2'",
    r"SELECT name'\', 'hunter2'",
    "SELECT $$hunter2$$, 1",
    "SELECT $a$ ' $$ hunter2 $a$, 1",
    "SELECT $a$ hunter2",
    "SELECT 'hunter2",
    "SELECT `it's`, 'hunter2' FROM [it's]",
    "SELECT [a'b], 'hunter2' FROM t WHERE c = ']'",
    "SELECT a[1], 'hunter2', b[2]",
]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_no_literal_of_any_engine_is_kept_where_the_engine_is_not_known(sql: str) -> None:
    kept = kept_sql_anywhere(sql)

    assert SECRET not in kept
    assert kept.startswith("SELECT ")


def test_what_is_code_to_every_engine_is_kept() -> None:
    sql = "SELECT o.id, $1, \"Name\" FROM orders AS o WHERE city = 'Bern' AND total > 3 -- why\n"

    assert kept_sql_anywhere(sql) == (
        "SELECT o.id, $1, \"Name\" FROM orders AS o WHERE city = '' AND total > 3  \n"
    )


@given(st.text(), st.sampled_from(["'", "E'", "$$", "$tag$"]))
def test_whatever_is_quoted_is_not_kept(value: str, quote: str) -> None:
    closing = quote.removeprefix("E")
    value = value.replace("$", "").replace("'", "''").replace("\\", "\\\\")

    kept = kept_sql_anywhere(f"SELECT {quote}{SECRET}{value}{SECRET}{closing}, 1")

    assert SECRET not in kept


@given(st.text(min_size=1, max_size=40))
def test_a_long_statement_is_cut(part: str) -> None:
    sql = part * (MOST_SQL // len(part) + 1)

    assert len(kept_sql_anywhere(sql).encode()) <= MOST_SQL


@pytest.mark.parametrize("name", ["sql", "\\u0073ql"])
def test_the_statement_of_a_call_is_written_without_its_literals(name: str) -> None:
    body = f'{{"limit": 3, "{name}": "SELECT \'{SECRET}\'", "n": 9007199254740993}}'.encode()

    written = json.loads(WORDING.arguments(body))

    assert written == {"limit": 3, "sql": "SELECT ''", "n": 9007199254740993}


@pytest.mark.parametrize(
    "body", [b'{"query": "\\u0041nna"}', b'{"sql": 7}', b'["sql"]', b'{"message": "it\'s"}']
)
def test_other_arguments_are_written_as_they_are(body: bytes) -> None:
    assert WORDING.arguments(body) == body


def test_nothing_is_written_of_what_cannot_be_read() -> None:
    assert WORDING.arguments(f'{{"sql": \'{SECRET}'.encode()) == b"{}"


def test_of_a_result_the_beginning_is_written() -> None:
    rows = [[number, SECRET] for number in range(1000)]
    result = {"content": [{"type": "text", "text": "…"}], "structuredContent": {"rows": rows}}

    written = recorded(WORDING.result(json.dumps(result).encode()), WORDING.most)

    head = json.loads(written)["head"]
    assert head.startswith('{"rows": [[0, ')
    assert len(head) <= MOST_RESULT


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (failed("{}", "invalid_sql"), "invalid_sql"),
        (failed("{}", "my_secret"), ""),
        (failed("{}"), ""),
        ({"_meta": {ERROR: "invalid_sql"}}, ""),
        ({"_meta": None}, ""),
    ],
)
def test_a_failure_is_known_by_its_own_code_if_it_is_one_of_ours(result: Any, code: str) -> None:
    assert WORDING.code(json.dumps(result).encode()) == code
    assert WORDING.code(b"{") == ""


def searched(gateway: DataGateway, *options: str) -> list[dict[str, Any]]:
    return json.loads(gateway.running.remit("audit", "search", "--json", *options))


async def test_the_record_of_a_gateway_has_codes_and_neither_literals_nor_data(
    callers: Callers, data_gateway: DataGateway
) -> None:
    who = callers.user("worded")
    sql = "SELECT name FROM customers WHERE name <> 'hunter2' ORDER BY id"
    told = await who.does("query", sql=sql, limit=1000)
    wrong = await who.fails("query", sql="SELECT 'hunter2' FROM never_was")

    done = searched(data_gateway, "--principal", who.subject, "--outcome", "ok")
    wrongly = searched(data_gateway, "--principal", who.subject, "--code", wrong)

    assert wrong == "undefined_table"
    assert [each["outcome"] for each in wrongly] == ["tool_error"]
    assert SECRET not in json.dumps([done, wrongly])
    assert "name <> ''" in json.dumps(done)
    assert told["row_count"] > 0

"""A list is taken for one, or refused: never for the text that an engine could make of it."""

import pytest

from remit.data.guard.statements import parse_statement, require_modifying, require_reading
from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind

EVERY = pytest.mark.parametrize("engine", list(EngineKind))
SQLITE, POSTGRESQL, DUCKDB = EngineKind.SQLITE, EngineKind.POSTGRESQL, EngineKind.DUCKDB
ARRAYS = (POSTGRESQL, DUCKDB)


def rendered(sql: str, engine: EngineKind) -> str:
    """Return what the engine is given of a statement that may run; `ids` is a list in it."""
    statement = parse_statement(sql, engine, placeholders=True, lists=["ids"])
    require = require_reading if statement.kind == "read" else require_modifying
    require(statement, lambda _, table: table == "orders")
    assert {table for _, table in statement.tables} - {"json_each"} <= {"orders"}
    return statement.rendered


@pytest.mark.parametrize(
    ("engine", "within", "without"),
    [
        (
            SQLITE,
            "id IN (SELECT value FROM json_each(coalesce( ?1 , '[null]')))",
            "id NOT IN (SELECT value FROM json_each(coalesce( ?1 , '[null]')))",
        ),
        (POSTGRESQL, "id = ANY ( $1 )", "id <> ALL ( $1 )"),
        (
            DUCKDB,
            "id IN (SELECT unnest(coalesce( $1 , [NULL])))",
            "id NOT IN (SELECT unnest(coalesce( $1 , [NULL])))",
        ),
    ],
)
def test_the_parentheses_of_an_in_are_the_engines_own_way(
    engine: EngineKind, within: str, without: str
) -> None:
    read = rendered("SELECT total FROM orders WHERE id IN ({{ids}})", engine)
    changed = rendered("DELETE FROM orders WHERE id NOT IN ({{ids}})", engine)

    assert read.partition(" WHERE ")[2] == within
    assert changed.partition(" WHERE ")[2] == without


@EVERY
def test_lines_stay_what_they_are(engine: EngineKind) -> None:
    sql = "SELECT total\nFROM orders\nWHERE id NOT\nIN\n(\n{{ids}}\n)\nAND id > 0"

    assert rendered(sql, engine).count("\n") == sql.count("\n")


@EVERY
def test_one_value_in_those_parentheses_is_one_value(engine: EngineKind) -> None:
    sign = "?1" if engine is SQLITE else "$1"

    assert rendered("SELECT 1 FROM orders WHERE id IN ({{id}})", engine).endswith(f"IN ( {sign} )")


@pytest.mark.parametrize(
    ("where", "engines"),
    [
        ("id IN ({{ids}})", tuple(EngineKind)),
        ("NOT id NOT IN( {{ids}} ) AND 1=1", tuple(EngineKind)),
        ("{{ids}} IS NULL OR id IN ({{ids}})", tuple(EngineKind)),
        ("({{ids}}) IS NOT NULL", tuple(EngineKind)),
        ("id IN (SELECT value FROM json_each({{ids}}))", (SQLITE,)),
        ("id IN (SELECT value FROM json_each(coalesce({{ids}}, '[]')))", (SQLITE,)),
        ("json_array_length({{ids}}) > 1", (SQLITE,)),
        ("id = ANY ({{ids}})", ARRAYS),
        ("id = ANY (coalesce({{ids}}, NULL))", ARRAYS),
        ("id IN (SELECT unnest(CAST({{ids}} AS bigint[])))", ARRAYS),
        ("id IN (SELECT unnest({{ids}}::bigint[]))", ARRAYS),
        ("lines && {{ids}} AND id > 1", ARRAYS),
        ("{{ids}} <@ lines", ARRAYS),
        ("lines = CAST({{ids}} AS bigint[])", ARRAYS),
        ("array_position({{ids}}, id) > 0", ARRAYS),
        ("list_contains({{ids}}, id)", (DUCKDB,)),
        ("list_has_any(lines, {{ids}})", (DUCKDB,)),
    ],
)
def test_it_may_stand_where_it_is_a_list(where: str, engines: tuple[EngineKind, ...]) -> None:
    for engine in EngineKind:
        sql = f"SELECT total FROM orders WHERE {where}"  # noqa: S608 - of the test's own
        if engine in engines:
            rendered(sql, engine)
        else:
            with pytest.raises(DataFailure):
                rendered(sql, engine)


@EVERY
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT total FROM orders WHERE status = {{ids}}",
        "SELECT total FROM orders WHERE status IN ({{ids}}, 'x')",
        "SELECT total FROM orders WHERE status IN (({{ids}}))",
        "SELECT total FROM orders WHERE status IN (/* all */ {{ids}})",
        "SELECT total FROM orders WHERE status IN (coalesce({{ids}}, 'x'))",
        "SELECT total FROM orders WHERE status LIKE {{ids}}",
        "SELECT total FROM orders WHERE (status = {{ids}}) IS NULL",
        "SELECT total FROM orders WHERE status = {{ids}} IS NULL",
        "SELECT total FROM orders WHERE lower({{ids}}) = status",
        "SELECT total FROM orders WHERE concat(status, {{ids}}) = 'x'",
        "SELECT total FROM orders WHERE status = CAST({{ids}} AS text)",
        "SELECT {{ids}} FROM orders",
        "INSERT INTO orders (status) VALUES ({{ids}})",
        "UPDATE orders SET status = {{ids}} WHERE id = 1",
        "UPDATE orders SET status = CASE WHEN id = 1 THEN {{ids}} END",
    ],
)
def test_it_may_not_stand_where_a_text_would_be_made_of_it(sql: str, engine: EngineKind) -> None:
    with pytest.raises(DataFailure, match=r"IN \(\{\{ids\}\}\)") as refused:
        rendered(sql, engine)

    assert refused.value.code == DataCode.INVALID_SQL
    assert ("json({{ids}})" if engine is SQLITE else "CAST({{ids}} AS text[])") in str(
        refused.value
    )

"""What a statement is, and whether it may run (S2.31, S2.34, S2.40)."""

import pytest

from remit.data.guard.statements import (
    Statement,
    StatementKind,
    parse_statement,
    require_executing,
    require_modifying,
    require_reading,
)
from remit.data.guard.vocabulary import allowed_functions
from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind

SQLITE, POSTGRESQL, DUCKDB = EngineKind.SQLITE, EngineKind.POSTGRESQL, EngineKind.DUCKDB
EVERY = pytest.mark.parametrize("engine", list(EngineKind))


def shop(schema: str, table: str) -> bool:
    """All but the salaries may be used."""
    return schema in {"", "main", "public"} and table != "salaries"


def read(sql: str, engine: EngineKind) -> Statement:
    statement = parse_statement(sql, engine)
    require_reading(statement, shop)
    return statement


def code_of(sql: str, engine: EngineKind) -> str:
    with pytest.raises(DataFailure) as refused:
        read(sql, engine)
    return refused.value.code


@EVERY
def test_a_statement_tells_its_kind_tables_and_functions(engine: EngineKind) -> None:
    statement = parse_statement(
        "WITH big AS (SELECT * FROM orders WHERE total > 9) "
        "SELECT Count(*), lower(name) FROM big JOIN public.customers c ON c.id = big.id "
        "GROUP BY 2; -- done",
        engine,
    )

    assert statement.kind is StatementKind.READ
    assert statement.tables == (("", "orders"), ("public", "customers"))
    assert statement.functions == ("count", "lower")
    require_reading(statement, shop)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT 1", "read"),
        ("VALUES (1), (2)", "read"),
        ("SELECT 1 UNION SELECT 2", "read"),
        ("(SELECT 1)", "read"),
        ("INSERT INTO t VALUES (1)", "modify"),
        ("UPDATE t SET a = 1", "modify"),
        ("DELETE FROM t", "modify"),
        ("WITH x AS (SELECT 1 AS a) DELETE FROM t WHERE a IN (SELECT a FROM x)", "modify"),
        ("CREATE TABLE t (a int primary key, b varchar(10))", "define"),
        ("ALTER TABLE t ADD COLUMN c int", "define"),
        ("DROP TABLE t", "define"),
        ("CREATE INDEX i ON t (a)", "define"),
        ("BEGIN", "other"),
        ("COMMIT", "other"),
        ("EXPLAIN SELECT 1", "other"),
        ("VACUUM", "other"),
    ],
)
@EVERY
def test_kinds(engine: EngineKind, sql: str, kind: str) -> None:
    assert parse_statement(sql, engine).kind == kind


def test_a_call_modifies_and_its_arguments_are_judged() -> None:
    statement = parse_statement("CALL refill(1, lower('X'))", POSTGRESQL)

    assert (statement.kind, statement.functions) == (StatementKind.MODIFY, ("lower",))
    require_modifying(statement, shop)
    with pytest.raises(DataFailure):
        require_modifying(parse_statement("CALL refill(pg_sleep(1))", POSTGRESQL), shop)


def test_only_what_modifies_modifies_and_only_what_is_understood_is_executed() -> None:
    insert = parse_statement("INSERT INTO orders (id) VALUES (1)", SQLITE)
    create = parse_statement("CREATE TABLE notes (id int)", SQLITE)
    pragma = parse_statement("PRAGMA writable_schema = 1", SQLITE)

    require_modifying(insert, shop)
    require_executing(insert, shop)
    require_executing(create, shop)
    for statement in (create, pragma, parse_statement("SELECT 1", SQLITE)):
        with pytest.raises(DataFailure) as refused:
            require_modifying(statement, shop)
        assert refused.value.code == DataCode.INVALID_SQL_TYPE
    with pytest.raises(DataFailure) as refused:
        require_executing(pragma, shop)
    assert refused.value.code == DataCode.INVALID_SQL_TYPE


@EVERY
@pytest.mark.parametrize(
    "sql",
    [
        "TRUNCATE orders CASCADE",
        "TRUNCATE TABLE orders RESTART IDENTITY CASCADE",
        "DROP TABLE orders CASCADE",
        "DROP VIEW orders cascade",
        "ALTER TABLE orders DROP COLUMN id CASCADE",
    ],
)
def test_a_definition_reaches_no_table_that_it_does_not_name(engine: EngineKind, sql: str) -> None:
    # S2.34: what refers to a table may be one that is not allowed
    with pytest.raises(DataFailure, match="CASCADE") as refused:
        require_executing(parse_statement(sql, engine), shop)
    assert refused.value.code == DataCode.SECURITY_VIOLATION

    alone = sql[: sql.upper().index(" CASCADE")]
    require_executing(parse_statement(alone, engine), shop)


@EVERY
def test_a_table_may_say_what_becomes_of_its_own_rows(engine: EngineKind) -> None:
    sql = "CREATE TABLE lines (id integer REFERENCES orders (id) ON DELETE CASCADE)"

    require_executing(parse_statement(sql, engine), shop)


@pytest.mark.parametrize("what", ["TABLE", "VIEW"])
def test_what_a_table_or_a_view_is_made_of_is_judged_as_what_is_read(what: str) -> None:
    sql = f"CREATE {what} made AS SELECT 'salaries'::regclass AS found"

    with pytest.raises(DataFailure, match="regclass") as refused:
        require_executing(parse_statement(sql, POSTGRESQL), shop)

    assert refused.value.code == DataCode.SECURITY_VIOLATION


@EVERY
def test_a_table_that_is_not_selected_is_refused_in_the_same_words(engine: EngineKind) -> None:
    said: list[str] = []
    for name in ("salaries", "nowhere"):
        sql = "SELECT * FROM NAME".replace("NAME", name)
        with pytest.raises(DataFailure) as refused:
            require_reading(parse_statement(sql, engine), lambda _, table: table == "orders")
        assert refused.value.code == DataCode.TABLE_NOT_SELECTED
        said.append(str(refused.value).replace(name, "…"))

    assert said[0] == said[1]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH salaries AS (SELECT * FROM salaries) SELECT * FROM salaries",
        "WITH salaries AS (SELECT 1) SELECT * FROM public.salaries",
        "SELECT (SELECT 1 FROM salaries) FROM (WITH salaries AS (SELECT 1) SELECT 1) x",
        "WITH a AS (SELECT * FROM salaries), salaries AS (SELECT 1) SELECT * FROM a",
        "WITH RECURSIVE salaries AS (SELECT * FROM salaries) SELECT * FROM salaries",
        "WITH RECURSIVE salaries AS (SELECT * FROM salaries UNION SELECT 1) SELECT 1",
        "SELECT 1 FROM orders WHERE EXISTS (SELECT 1 FROM salaries)",
        "SELECT * FROM orders UNION ALL TABLE salaries",
    ],
)
@EVERY
def test_no_common_table_expression_hides_a_table(engine: EngineKind, sql: str) -> None:
    if engine is not POSTGRESQL:
        sql = sql.replace("TABLE salaries", "SELECT * FROM salaries")
    assert code_of(sql, engine) == DataCode.TABLE_NOT_SELECTED


def test_what_is_changed_is_never_a_common_table_expression() -> None:
    statement = parse_statement("WITH salaries AS (SELECT 1) DELETE FROM salaries", SQLITE)

    assert statement.tables == (("", "salaries"),)


@EVERY
def test_a_recursive_part_is_no_table(engine: EngineKind) -> None:
    sql = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) "
        "SELECT count(*) FROM n"
    )

    assert read(sql, engine).tables == ()


def test_names_are_folded_as_the_engine_folds_them() -> None:
    assert parse_statement('SELECT 1 FROM Orders, "Orders"', POSTGRESQL).tables == (
        ("", "orders"),
        ("", "Orders"),
    )
    assert code_of('WITH "Salaries" AS (SELECT 1) SELECT * FROM salaries', POSTGRESQL) == (
        DataCode.TABLE_NOT_SELECTED
    )


@EVERY
def test_a_function_that_nobody_listed_is_refused(engine: EngineKind) -> None:
    assert code_of("SELECT launch_missiles(1)", engine) == DataCode.SECURITY_VIOLATION
    assert code_of("SELECT * FROM launch_missiles(1)", engine) == DataCode.SECURITY_VIOLATION


def test_the_list_holds_nothing_of_files_waiting_locks_or_settings() -> None:
    words = ("sleep", "read_", "write", "file", "lock", "setting", "config", "env", "load_ext")
    words += ("dblink", "query_to", "nextval", "setval", "lo_", "txid", "pg_", "sqlite_", "sniff")
    harmless = {"parse_filename", "clock_timestamp"}

    for engine in EngineKind:
        found = {
            name for name in allowed_functions(engine) for word in words if word in name
        } - harmless
        assert found == set()


def test_a_name_that_is_both_alias_and_function_hides_no_call() -> None:
    sql = "SELECT pg_sleep(9) FROM (VALUES (1)) AS pg_sleep(x)"

    assert parse_statement(sql, POSTGRESQL).functions == ("pg_sleep",)


@EVERY
def test_placeholders_are_numbered_once_a_name(engine: EngineKind) -> None:
    statement = parse_statement(
        "SELECT * FROM t WHERE a = {{who}} AND b > {{since}} AND c <> {{who}}",
        engine,
        placeholders=True,
    )

    sign = "?" if engine is SQLITE else "$"
    assert statement.names == ("who", "since")
    assert statement.rendered.split() == (
        "SELECT * FROM t WHERE a = $1 AND b > $2 AND c <> $1".replace("$", sign).split()
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT '{{x}}'",
        'SELECT 1 AS "{{x}}"',
        "SELECT 1 -- {{x}}",
        "SELECT 1 /* {{x}} */",
        "SELECT * FROM {{x}}",
        "SELECT a.{{x}} FROM a",
        "SELECT {{x}}.a FROM a",
        "SELECT 1 AS {{x}}",
        "SELECT {{x}}(1)",
        "SELECT a FROM t ORDER BY {{x}}",
        "SELECT a FROM t GROUP BY {{x}}",
        "SELECT a FROM t {{x}} b",
        "{{x}}",
        "SELECT {{ x }}",
        "SELECT {{1x}}",
        "SELECT {{x",
        "SELECT {{{{x}}}}",
        "SELECT CAST(a AS {{x}}) FROM t",
        "SELECT a FROM t WHERE a {{x}} 1",
        "SELECT a FROM t LIMIT 1 {{x}} 2",
        "INSERT INTO t ({{x}}) VALUES (1)",
        "UPDATE t SET {{x}} = 1",
        "UPDATE {{x}} SET a = 1",
        "WITH {{x}} AS (SELECT 1) SELECT 1",
        "SELECT a FROM t AS {{x}}",
        "SELECT a FROM t JOIN u USING ({{x}})",
    ],
)
@EVERY
def test_a_placeholder_stands_for_a_value_only(engine: EngineKind, sql: str) -> None:
    with pytest.raises(DataFailure) as refused:
        parse_statement(sql, engine, placeholders=True)

    assert refused.value.code == DataCode.INVALID_SQL


@pytest.mark.parametrize("sql", ["SELECT {{x}}", "SELECT $1", "SELECT a = $x FROM t"])
@EVERY
def test_who_has_no_parameters_has_no_placeholders(engine: EngineKind, sql: str) -> None:
    with pytest.raises(DataFailure) as refused:
        parse_statement(sql, engine)

    assert refused.value.code == DataCode.INVALID_SQL


@EVERY
def test_a_mistake_is_shown_with_its_place(engine: EngineKind) -> None:
    with pytest.raises(DataFailure) as refused:
        parse_statement("SELECT 1\nFROM t WHERE )", engine)

    assert refused.value.code == DataCode.INVALID_SQL
    assert refused.value.details["line"] == 2


@EVERY
def test_what_stands_between_two_placeholders_is_read(engine: EngineKind) -> None:
    sql = "SELECT * FROM orders WHERE a = {{x}} OR b IN (SELECT name FROM salaries) OR c = {{x}}"

    statement = parse_statement(sql, engine, placeholders=True)

    assert statement.tables == (("", "orders"), ("", "salaries"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5000,
        "SELECT " + "ARRAY[" * 25 + "1" + "]" * 25,
        "SELECT " + "CASE WHEN 1 THEN " * 2000,
        "SELECT " + "NOT " * 15_000 + "1",
        "SELECT 1" + "+1" * 45_000,
        "SELECT 1" + " UNION SELECT 1" * 6000,
        "SELECT " + "'" * 99_000,
        "SELECT " + "/*" * 45_000,
        "SELECT " + "$$" * 45_000,
        "SELECT " + "-" * 99_000,
        "x" * 100_001,
        "(" * 99_000,
        "SELECT * FROM " + "(SELECT * FROM " * 25 + "t" + ") x" * 25,
    ],
    ids=range(13),
)
@EVERY
def test_no_text_is_read_without_end_or_breaks_the_reader(engine: EngineKind, sql: str) -> None:
    try:
        statement = parse_statement(sql, engine)
    except DataFailure as failure:
        assert failure.code == DataCode.INVALID_SQL  # noqa: PT017  either is right
    else:
        assert statement.kind is StatementKind.READ


@pytest.mark.parametrize("engine", [SQLITE, DUCKDB])
def test_letters_are_told_apart_as_the_engine_does(engine: EngineKind) -> None:
    kelvin = 'WITH "\u212ait" AS (SELECT 1) SELECT * FROM kit'
    shouted = "WITH KIT AS (SELECT 1) SELECT * FROM kit"

    assert parse_statement(kelvin, engine).tables == (("", "kit"),)
    assert parse_statement(shouted, engine).tables == ()


def test_a_name_that_postgresql_would_cut_is_refused() -> None:
    assert code_of("SELECT * FROM " + "x" * 64, POSTGRESQL) == DataCode.SECURITY_VIOLATION


def test_a_schema_whose_name_begins_like_the_engines_own_is_a_schema() -> None:
    statement = parse_statement("SELECT * FROM temperature.days", DUCKDB)

    require_reading(statement, lambda schema, _: schema == "temperature")
    with pytest.raises(DataFailure):
        require_reading(
            parse_statement("SELECT * FROM temp.days", DUCKDB), lambda _schema, _table: True
        )


def test_no_word_stands_for_a_statement_where_every_table_may_be_used() -> None:
    for sql in ("SELECT * FROM (SHOW TABLES)", "FROM show", "SELECT * FROM (DESCRIBE orders)"):
        with pytest.raises(DataFailure):
            require_reading(parse_statement(sql, DUCKDB), lambda _schema, _table: True)


@pytest.mark.parametrize("ending", ["", ";", " ; ", "; -- done", ";\n/* done */ -- yes"])
@EVERY
def test_a_statement_is_kept_without_its_end(engine: EngineKind, ending: str) -> None:
    plain = "SELECT ';' FROM t"

    statement = parse_statement(f"{plain}{ending}", engine, placeholders=True)

    assert (statement.sql, statement.rendered) == (plain, plain)


@EVERY
@pytest.mark.parametrize(("own", "named"), [("ä", "Ä"), ("kunden", "\u212aunden")])
def test_letters_beyond_ascii_have_no_case(engine: EngineKind, own: str, named: str) -> None:
    sql = f"WITH {own} AS (SELECT 1) SELECT * FROM {named}"  # noqa: S608 - ours

    assert parse_statement(sql, engine).tables == (("", named),)


@pytest.mark.parametrize(
    ("sql", "run"),
    [
        (
            "SELECT Lower(name), \"upper\"('x')",
            "SELECT pg_catalog.Lower(name), pg_catalog.\"upper\"('x')",
        ),
        ("SELECT pg_catalog.lower('X')", "SELECT pg_catalog.lower('X')"),
        ("SELECT count(*) -- lower(x)", "SELECT pg_catalog.count(*) -- lower(x)"),
        ("SELECT extract(year FROM now())", "SELECT extract(year FROM pg_catalog.now())"),
        ("SELECT substring('x' FROM 1)", "SELECT substring('x' FROM 1)"),
        ("SELECT {{a}}, lower({{a}})", "SELECT  $1 , pg_catalog.lower( $1 )"),
        ("CALL lower(upper('x'))", "CALL lower(pg_catalog.upper('x'))"),
        ("SELECT g.lower FROM t AS g(lower)", "SELECT g.lower FROM t AS g(lower)"),
    ],
)
def test_functions_of_postgresql_are_called_in_its_schema(sql: str, run: str) -> None:
    statement = parse_statement(sql, POSTGRESQL, placeholders="{{" in sql)

    assert statement.rendered == run


def test_a_name_is_a_column_of_what_is_sure_to_be_meant() -> None:
    def claimed(sql: str) -> list[tuple[str, tuple[tuple[str, str], ...], bool]]:
        claims = parse_statement(sql, POSTGRESQL).relied.claims
        return [(each.name, each.tables, each.is_row) for each in claims]

    orders, customers = ("", "orders"), ("public", "customers")
    assert claimed("SELECT o.a FROM orders o") == [("a", (orders,), False)]
    assert claimed("SELECT o.a FROM public.customers o") == [("a", (customers,), False)]
    assert claimed("SELECT x.a FROM (SELECT a FROM orders) x") == []
    assert claimed("SELECT x.b FROM (SELECT a FROM orders) x") == [("b", (), False)]
    assert claimed("SELECT x.a FROM (SELECT * FROM orders, public.customers) x") == [
        ("a", (orders, customers), False)
    ]
    assert claimed("WITH o AS (SELECT 1 AS a) SELECT o.a FROM o") == []
    assert claimed("SELECT (x).a FROM orders") == [("a", (), False)]
    assert claimed("SELECT orders FROM orders") == [("orders", (orders,), True)]
    assert claimed("SELECT o FROM (SELECT 1) o, orders") == []


def test_a_long_chain_of_ctes_is_no_deep_nesting() -> None:
    chain = ", ".join(f"a{n} AS (TABLE a{n - 1})" for n in range(1, 400))
    sql = f"WITH a0 AS (TABLE orders), {chain} SELECT x.id FROM a399 x"  # noqa: S608

    statement = read(sql, POSTGRESQL)

    assert [each.tables for each in statement.relied.claims] == [(("", "orders"),)]

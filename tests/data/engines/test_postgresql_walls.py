"""What PostgreSQL itself holds back from whoever reads, and what a session leaves behind."""

from collections.abc import Sequence

import pytest
from tests.data.engines.shops import Shop, datasource_of, look_postgresql

from remit.data.engines.opening import open_engine
from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_export(1, '/tmp/out')",
        "COPY customers TO '/tmp/out'",
        "COPY customers FROM PROGRAM 'id'",
        "SELECT * FROM customers FOR UPDATE",
        "SELECT * INTO made FROM customers",
        "SELECT set_config('transaction_read_only', 'off', true)",
        "DO $$ BEGIN DELETE FROM orders; END $$",
        "SELECT query_to_xml('DELETE FROM orders', true, true, '')",
        "SET ROLE postgres",
        "LOCK TABLE orders",
        "SELECT 1) AS r, (SELECT 2",
        "LISTEN somebody",
        "PREPARE p AS DELETE FROM orders",
        "GRANT ALL ON orders TO PUBLIC",
    ],
)
async def test_nothing_but_reading_gets_through(postgresql: Shop, statement: str) -> None:
    with pytest.raises(DataFailure) as caught:
        await postgresql.read(statement)

    assert caught.value.code != DataCode.SERVICE_UNAVAILABLE
    assert postgresql.look("SELECT count(*) FROM orders") == [(3,)]


async def test_a_caller_leaves_nothing_to_the_next(postgresql: Shop) -> None:
    await postgresql.read("SELECT set_config('remit.left', 'behind', false)")
    await postgresql.read("SELECT pg_advisory_lock(7)")
    await postgresql.read("SELECT set_config('search_path', 'pg_catalog', false)")
    backend = await postgresql.read("SELECT pg_backend_pid()")

    left = await postgresql.read(
        "SELECT current_setting('remit.left', true), current_setting('search_path'), "
        "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), "
        "(SELECT count(*) FROM pg_prepared_statements), pg_backend_pid()"
    )

    [[setting, path, locks, statements, same]] = left.rows
    assert same == backend.rows[0][0]
    assert setting in (None, "")
    assert (path, locks, statements) == ("public", 0, 0)


async def test_a_connection_that_was_lost_is_replaced(postgresql: Shop) -> None:
    first = await postgresql.read("SELECT pg_backend_pid()")
    look_postgresql(postgresql.url, f"SELECT pg_terminate_backend({first.rows[0][0]}, 30000)")

    second = await postgresql.read("SELECT pg_backend_pid()")

    assert second.rows != first.rows


async def test_why_there_is_no_connection_is_said_without_secrets() -> None:
    url = "postgresql://somebody:hunter2@127.0.0.1:1/books"
    engine = open_engine(datasource_of(EngineKind.POSTGRESQL, "postgresql://…"), reader=url)

    with pytest.raises(DataFailure) as caught:
        await engine.ping()

    assert caught.value.code == DataCode.SERVICE_UNAVAILABLE
    for secret in ("hunter2", "somebody", "127.0.0.1", "books"):
        assert secret not in str(caught.value)


async def test_a_role_that_could_do_more_is_warned_of(postgresql: Shop) -> None:
    url = postgresql.url
    engine = open_engine(datasource_of(EngineKind.POSTGRESQL, url))

    warnings = await engine.warnings()
    await engine.aclose()

    assert any("superuser" in warning for warning in warnings)
    assert any("may change public.customers, public.orders" in warning for warning in warnings)


async def test_a_right_on_one_column_is_warned_of(postgresql: Shop) -> None:
    look_postgresql(postgresql.url, "GRANT UPDATE (note) ON orders TO PUBLIC")

    assert list(await postgresql.engine.warnings()) == ["the reading role may change public.orders"]


async def test_nothing_is_written_without_a_url_for_it(postgresql: Shop) -> None:
    engine = open_engine(datasource_of(EngineKind.POSTGRESQL, postgresql.datasource.location))

    with pytest.raises(DataFailure) as caught:
        await engine.write(postgresql.prepared("DELETE FROM orders"), limit=1, seconds=30)

    assert caught.value.code == DataCode.QUERY_NOT_AUTHORIZED


VALUES: Sequence[tuple[str, object]] = [
    ("12345678901234567890.10::numeric", "12345678901234567890.10"),
    ("'NaN'::numeric", "NaN"),
    ("'Infinity'::float8", "Infinity"),
    ("1.5::float8", 1.5),
    ("9007199254740993::bigint", 9007199254740993),
    ("timestamptz '2026-11-29 10:30:00.5+02'", "2026-11-29T08:30:00.5+00:00"),
    ("timestamp '2026-11-29 10:30'", "2026-11-29T10:30:00"),
    ("'infinity'::timestamptz", "infinity"),
    ("date '0044-03-15 BC'", "0044-03-15 BC"),
    ("interval '1 day 2 hours'", "P1DT2H"),
    ("time '10:30'", "10:30:00"),
    ("'\\x00ff'::bytea", "\\x00ff"),
    ("'{\"a\": [1, null, 2.5]}'::jsonb", {"a": [1, None, 2.5]}),
    ("'[12345678901234567890.5, 1.10]'::json", ["12345678901234567890.5", 1.1]),
    ("'[1e400, 12345678901234567890]'::json", ["1e400", 12345678901234567890]),
    ("'0044-03-15 12:00:00+00 BC'::timestamptz", "0044-03-15T12:00:00+00:00 BC"),
    ("ARRAY[1.50, 2]", ["1.50", "2"]),
    ("ARRAY[date '2026-11-29', NULL]", ["2026-11-29", None]),
    ("int4range(1, 3)", "[1,3)"),
    ("'::1'::inet", "::1"),
    ("true", True),
    ("ROW(1, 'a')", "(1,a)"),
    ("NULL", None),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
async def test_values_are_as_json_has_them(
    postgresql: Shop, expression: str, expected: object
) -> None:
    rows = await postgresql.read(f"SELECT {expression}")

    assert rows.rows == [[expected]]


async def test_a_giant_value_is_cut_by_the_database(postgresql: Shop) -> None:
    rows = await postgresql.read("SELECT repeat('x', 50000000), 7 AS lucky")

    [[text, lucky]] = rows.rows
    assert isinstance(text, str)
    assert len(text) < 70_000
    assert lucky == 7
    assert [column.name for column in rows.columns] == ["repeat", "lucky"]

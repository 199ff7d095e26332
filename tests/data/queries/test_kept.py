"""What is kept of what ran: no secrets, and not without end (S2.47)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.queries.office import ANN, Office

from remit.data.desk import ExecutionStore
from remit.data.kept import MOST_SQL, MOST_VALUE, as_json, kept_sql, kept_values
from remit.data.running import open_source, run_reading
from remit.errors import StorageUnavailable
from remit.model.data import DataCode, EngineKind, Execution

SECRET = "hunter2"


@pytest.mark.parametrize("engine", EngineKind)
@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("SELECT 'hunter2'", "SELECT ''"),
        ("SELECT 'it''s hunter2', 1", "SELECT '', 1"),
        ("SELECT \"it's\" FROM t WHERE a = 'hunter2'", "SELECT \"it's\" FROM t WHERE a = ''"),
        ("SELECT 1 -- it's hunter2\n, 'hunter2'", "SELECT 1  \n, ''"),
        ("SELECT /* ' hunter2 */ 'hunter2'", "SELECT   ''"),
        ("SELECT 'hunter2", "SELECT ''"),
    ],
)
def test_texts_in_a_statement_are_blanked(engine: EngineKind, sql: str, kept: str) -> None:
    assert kept_sql(sql, engine) == kept


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        (r"SELECT E'\'hunter2', 1", "SELECT E'', 1"),
        ("SELECT $$hunter2$$, 1", "SELECT '', 1"),
        ("SELECT $a$ ' hunter2 $$ $a$, 1", "SELECT '', 1"),
        ("SELECT /* /* */ ' */ 'hunter2'", "SELECT   ''"),
    ],
)
def test_texts_of_postgresql_are_blanked_however_they_are_quoted(sql: str, kept: str) -> None:
    assert kept_sql(sql, EngineKind.POSTGRESQL) == kept


@given(st.text(), st.sampled_from(EngineKind))
def test_no_text_that_is_quoted_is_kept(value: str, engine: EngineKind) -> None:
    quoted = "'" + value.replace("'", "''") + "'"

    assert kept_sql(f"SELECT {quoted}, 1", engine) == "SELECT '', 1"


@given(st.text(min_size=1, max_size=40))
def test_a_long_statement_is_cut(part: str) -> None:
    sql = part * (MOST_SQL // len(part) + 1)

    assert len(kept_sql(sql, EngineKind.SQLITE).encode()) <= MOST_SQL


def test_values_of_names_that_mean_secrets_are_hashed_so_that_equal_ones_look_equal() -> None:
    kept = kept_values({"api_key": SECRET, "password": SECRET, "client_secret": "x", "day": "1"})

    assert kept["day"] == "1"
    assert SECRET not in str(kept)
    assert str(kept["api_key"]).startswith("sha256:")
    assert kept["api_key"] == kept["password"] != kept["client_secret"]


def test_values_are_kept_as_json_has_them_and_cut() -> None:
    values: dict[str, object] = {
        "when": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "price": Decimal("1.50"),
        "id": UUID(int=1),
        "names": ["a", "b"],
        "none": None,
        "long": "x" * 2 * MOST_VALUE,
    }

    kept = kept_values(values)

    assert kept["when"] == "2026-01-02T03:04:00+00:00"
    assert (kept["day"], kept["price"], kept["none"]) == ("2026-01-02", "1.50", None)
    assert (kept["id"], kept["names"]) == (str(UUID(int=1)), ["a", "b"])
    assert len(str(kept["long"])) == MOST_VALUE + 1
    assert as_json(("a", Decimal(1))) == ["a", "1"]


class _Full:
    """A store that can take nothing more."""

    async def add_execution(self, execution: Execution, *, within: float) -> None:
        raise StorageUnavailable(f"no room for {execution.id} in {within} seconds")

    async def executions(self, *_: object, **__: object) -> Sequence[Execution]:
        return ()

    async def forget_executions(self, tenant: str, before: datetime) -> int:
        raise StorageUnavailable(f"nothing of {tenant} before {before} can go")


async def test_what_cannot_be_kept_turns_no_success_into_a_failure(office: Office) -> None:
    full: ExecutionStore = _Full()
    office.stores = replace(office.stores, executions=full)

    result: Any = await office.call(ANN, "query", sql="SELECT count(*) FROM orders")

    assert result["rows"] == [[3]]


async def test_a_statement_that_is_cancelled_is_kept_as_stopped(office: Office) -> None:
    desk = office.desk(ANN)
    source = await open_source(desk)
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT count(*) FROM n, orders"
    )

    with anyio.move_on_after(0.2) as scope:
        await run_reading(desk, source, endless, limit=1)

    assert scope.cancelled_caught
    (kept,) = await office.ran()
    assert (kept.code, kept.error) == (DataCode.QUERY_ERROR, "it was stopped before its end")
    assert kept.tables == ("main.orders",)


async def test_what_uses_a_sensitive_table_is_flagged_whatever_becomes_of_it(
    office: Office,
) -> None:
    await office.call(ANN, "query", sql="SELECT * FROM cards")
    await office.call(ANN, "query", sql="SELECT * FROM orders")

    assert [each.flags for each in await office.ran()] == [("sensitive",), ()]


async def test_an_attempt_at_what_is_not_allowed_is_kept_with_its_code(office: Office) -> None:
    result: Any = await office.call(ANN, "validate", sql="SELECT * FROM secret")

    assert result["valid"] is False
    (kept,) = await office.ran()
    assert (kept.tool, kept.code, kept.tables) == (
        "validate",
        DataCode.TABLE_NOT_SELECTED,
        ("main.secret",),
    )

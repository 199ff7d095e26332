"""What is kept of statements that ran, on both databases (S2.38)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from remit.model.data import Execution
from remit.storage.database import Database
from remit.storage.executions import BATCH, Executions

NOW = datetime(2026, 11, 28, 12, 0, 0, 123456, tzinfo=UTC)

EXECUTION = Execution(
    id="x1",
    tenant="default",
    datasource="d1",
    query="q1",
    tool="execute_approved_query",
    sql="SELECT '' \x00 \ud800",
    parameters={"day": "2026-11-28", "shops": ["a", "\x00"], "price": 1.5, "none": None},
    user="user:ann",
    source="api",
    started=NOW,
    ms=12.5,
    row_count=3,
    rows_affected=2**40,
    is_modifying=True,
    code="query_error",
    error="it broke",
    flags=("injection",),
    tables=("main.orders",),
)


@pytest.fixture
def executions(database: Database) -> Executions:
    return Executions(database)


async def test_what_is_kept_is_read_again(executions: Executions) -> None:
    await executions.add_execution(EXECUTION)

    (found,) = await executions.executions("default", limit=10)

    kept = replace(EXECUTION, sql="SELECT '' \\u0000 \\ud800")
    assert found == replace(kept, parameters={**EXECUTION.parameters, "shops": ["a", "\\u0000"]})


async def test_what_ran_comes_newest_first_by_time_caller_and_query(
    executions: Executions,
) -> None:
    for number in range(5):
        user, query = ("user:ann", "q1") if number % 2 else ("user:bea", "")
        started = NOW + timedelta(minutes=number)
        await executions.add_execution(
            replace(EXECUTION, id=f"x{number}", user=user, query=query, started=started)
        )

    async def ids(**asked: object) -> list[str]:
        found = await executions.executions("default", **{"limit": 10, **asked})  # pyright: ignore[reportArgumentType] - each case gives one of them
        return [each.id for each in found]

    assert await ids() == ["x4", "x3", "x2", "x1", "x0"]
    assert await ids(limit=2) == ["x4", "x3"]
    assert await ids(since=NOW + timedelta(minutes=3)) == ["x4", "x3"]
    assert await ids(user="user:ann") == ["x3", "x1"]
    assert await ids(query="q1", user="user:bea") == []
    assert await ids(until=NOW + timedelta(minutes=1)) == ["x0"]
    assert await ids(datasource="d1", limit=1) == ["x4"]
    assert await ids(datasource="d2") == []


async def test_pages_cover_everything_once_also_where_several_ran_at_one_moment(
    executions: Executions,
) -> None:
    for number in range(7):
        started = NOW + timedelta(minutes=number // 3)
        await executions.add_execution(replace(EXECUTION, id=f"x{number}", started=started))
    await executions.add_execution(replace(EXECUTION, id="theirs", tenant="acme"))

    found: list[str] = []
    while page := await executions.executions(
        "default", before=found[-1] if found else None, limit=2
    ):
        found += [each.id for each in page]

    assert found == ["x6", "x5", "x4", "x3", "x2", "x1", "x0"]
    assert await executions.executions("default", before="theirs", limit=2) == []
    assert await executions.executions("default", before="gone", limit=2) == []


async def test_of_one_moment_the_later_comes_first(executions: Executions) -> None:
    for name in ("b", "a", "c"):
        await executions.add_execution(replace(EXECUTION, id=name))

    found = await executions.executions("default", limit=3)

    assert [each.id for each in found] == ["c", "a", "b"]


async def test_old_ones_are_forgotten_however_many_and_only_of_their_tenant(
    executions: Executions,
) -> None:
    old = NOW - timedelta(days=91)
    for number in range(BATCH + 1):
        await executions.add_execution(replace(EXECUTION, id=f"x{number}", started=old))
    await executions.add_execution(replace(EXECUTION, id="new"))
    await executions.add_execution(replace(EXECUTION, id="theirs", tenant="acme", started=old))

    gone = await executions.forget_executions("default", NOW - timedelta(days=90))

    assert gone == BATCH + 1
    assert [each.id for each in await executions.executions("default", limit=10)] == ["new"]
    assert [each.id for each in await executions.executions("acme", limit=10)] == ["theirs"]

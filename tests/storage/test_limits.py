"""What only a place that workers share has to do: be bounded, and fail in plain words."""

import time

import anyio
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from remit.errors import StartupError, StorageUnavailable
from remit.model.limits import Allowance
from remit.storage.database import Database, open_database
from remit.storage.limits import SlotsInDatabase
from remit.storage.limits_redis import open_windows

_FILL = """
WITH RECURSIVE counted(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM counted WHERE i < :n - 1)
INSERT INTO limit_slots (key, slot, free_at) SELECT :key, i, :free_at FROM counted
"""


def _allowance(key: str, calls: int = 2, seconds: int = 60) -> Allowance:
    return Allowance(key=key, calls=calls, seconds=seconds, rule="limits[0]", rate="")


async def _keys(database: Database) -> list[str]:
    async with database.reading() as connection:
        return list(await connection.scalars(text("SELECT DISTINCT key FROM limit_slots")))


async def _let_pass(connection: AsyncConnection, key: str) -> None:
    passed = text("UPDATE limit_slots SET free_at = free_at - 61 WHERE key = :key")
    await connection.execute(passed, {"key": key})


async def test_callers_whose_calls_count_no_more_leave_no_rows(database: Database) -> None:
    slots = SlotsInDatabase(database)
    for key in ("gone", "gone", "here"):
        await slots.take([_allowance(key)])
    async with database.writing() as connection:
        await _let_pass(connection, "gone")

    await slots.prune()

    assert await _keys(database) == ["here"]
    assert [await slots.take([_allowance("gone")]) is None for _ in range(3)] == [True, True, False]


async def test_counts_outlive_whoever_counted(database_url: str) -> None:
    # T23: a restart does not reset
    for taken in (True, True, False):
        async with open_database(database_url) as database:
            assert (await SlotsInDatabase(database).take([_allowance("a")]) is None) is taken


@pytest.mark.parametrize("taken", [True, False], ids=["all are taken", "all are free"])
async def test_a_call_costs_the_same_whatever_the_number(database: Database, taken: bool) -> None:
    # A caller that a large limit refuses must not be able to hold the database's one writer.
    many, free_at = 100_000, time.time() + 40_000 if taken else 0.0
    async with database.writing() as connection:
        await connection.execute(text(_FILL), {"key": "many", "n": many, "free_at": free_at})
        await connection.execute(text(_FILL), {"key": "few", "n": 10, "free_at": free_at})
        if database.engine.dialect.name == "postgresql":
            await connection.execute(text("ANALYZE limit_slots"))  # as it does itself, later
    slots = SlotsInDatabase(database)

    async def quickest(key: str, calls: int) -> float:
        took: list[float] = []
        for _ in range(20):
            began = time.perf_counter()
            shortage = await slots.take([_allowance(key, calls, seconds=86_400)])
            took.append(time.perf_counter() - began)
            assert (shortage is None) is (not taken and len(took) <= calls)
        return min(took)

    await quickest("many", many)  # warm
    assert await quickest("many", many) < 8 * await quickest("few", 10)


async def test_a_store_that_nobody_serves_is_said_to_be_away() -> None:
    async with open_windows("redis://127.0.0.1:1/0") as windows:
        with anyio.fail_after(20), pytest.raises(StorageUnavailable, match=r"'127\.0\.0\.1:1'"):
            await windows.take([_allowance("a")])


async def test_a_password_of_the_store_is_in_no_message() -> None:
    async with open_windows("redis://:hunter2@127.0.0.1:1/0") as windows:
        with pytest.raises(StorageUnavailable) as raised:
            await windows.take([_allowance("a")])
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://host/0", "'ftp' is not supported"),
        ("host:6379", "is not supported"),
        ("redis://:hunter2@host:port", "cannot be used"),
    ],
)
async def test_what_is_no_address_of_a_store_is_refused_at_the_start(url: str, words: str) -> None:
    with pytest.raises(StartupError, match=words) as raised:
        async with open_windows(url):
            raise AssertionError
    assert "hunter2" not in str(raised.value)


async def test_a_valkey_address_means_the_same(redis_url: str) -> None:
    async with open_windows(redis_url.replace("redis://", "valkey://")) as windows:
        assert await windows.take([_allowance("valkey-address")]) is None

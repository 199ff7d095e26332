"""Slow statements stand in nobody's way, and none runs on when nobody waits (must show 5)."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from tests.data.engines.shops import (
    ENDLESS,
    Shop,
    look_postgresql,
    make_file_shop,
    make_postgresql_shop,
    open_shop,
)

from remit.data.engines.places import Places
from remit.data.engines.stopping import run_in_thread
from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind
from remit.testing.services import open_postgres, postgres_programs

pytestmark = pytest.mark.anyio

CALLERS = 50


@asynccontextmanager
async def roomy_shop(kind: EngineKind, folder: Path) -> AsyncGenerator[Shop]:
    """Open a shop in a database that takes as many connections as a datasource makes."""
    async with AsyncExitStack() as stack:
        if kind is EngineKind.POSTGRESQL:
            programs = postgres_programs()
            if programs is None:
                pytest.skip("PostgreSQL is not installed under /usr/lib/postgresql")
            server = stack.enter_context(open_postgres(programs, connections=80))
            url = stack.enter_context(server.database())
            shop = open_shop(kind, make_postgresql_shop(url, "reader"), writer=url)
        else:
            shop = open_shop(kind, make_file_shop(kind, folder))
        stack.push_async_callback(shop.engine.aclose)
        yield shop


@pytest.mark.parametrize("kind", list(EngineKind))
async def test_fifty_slow_statements_do_not_keep_a_fast_one_waiting(
    kind: EngineKind, tmp_path: Path
) -> None:
    slow = "SELECT pg_sleep(600)" if kind is EngineKind.POSTGRESQL else ENDLESS[kind]
    ended: list[object] = []
    fast: list[object] = []
    threads = -1

    async with roomy_shop(kind, tmp_path) as shop, anyio.create_task_group() as group:

        async def run_slowly() -> None:
            ended.append(await shop.read(slow, seconds=600))

        for _ in range(CALLERS):
            group.start_soon(run_slowly)
        await anyio.wait_all_tasks_blocked()
        threads = to_thread.current_default_thread_limiter().borrowed_tokens
        fast += (await shop.read("SELECT count(*) FROM customers")).rows
        group.cancel_scope.cancel()

    assert fast == [[3]]
    assert ended == []
    assert threads == 0


async def test_whoever_finds_no_place_in_time_is_told_to_come_again() -> None:
    places = Places(2, wait=0.01)

    async with places.one(), places.one():
        with pytest.raises(DataFailure, match=r"busy.*try again") as caught:
            async with places.one():
                pytest.fail("there was a third place")

    assert caught.value.code == DataCode.SERVICE_UNAVAILABLE
    async with places.one(), places.one():
        pass


async def test_whoever_waits_gets_the_place_that_becomes_free() -> None:
    places = Places(1, wait=60)
    order: list[str] = []

    async def work(name: str) -> None:
        async with places.one():
            order.append(name)
            await anyio.wait_all_tasks_blocked()

    async with anyio.create_task_group() as group:
        for name in ("first", "second", "third"):
            group.start_soon(work, name)

    assert order == ["first", "second", "third"]


async def test_what_is_cancelled_is_gone_from_the_server(postgresql: Shop) -> None:
    running = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' "
        "AND datname = current_database() AND usename LIKE 'reader%'"
    )

    def count() -> object:
        return look_postgresql(postgresql.url, running)[0][0]

    async with anyio.create_task_group() as group:

        async def run_slowly() -> None:
            await postgresql.read("SELECT pg_sleep(600)", seconds=600)

        group.start_soon(run_slowly)
        with anyio.fail_after(60):
            while not count():  # until it has come to the server
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()

    assert count() == 0


async def test_a_thread_has_ended_when_the_task_that_waits_for_it_is_cancelled_from_outside() -> (
    None
):
    # As the task of a request is whose client has left: no scope of anyio's, and so no shield.
    begun, told, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert told.wait(60)
        ended.set()

    tasks: list[asyncio.Task[object] | None] = []

    async def wait() -> None:
        tasks.append(asyncio.current_task())
        limiter = anyio.CapacityLimiter(1)
        try:
            await run_in_thread(work, told.set, seconds=60, limiter=limiter)
        finally:
            tasks.append(None)
            assert ended.is_set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        assert await to_thread.run_sync(begun.wait, 60)
        assert tasks[0] is not None
        tasks[0].cancel()

    assert tasks[1:] == [None]


async def test_a_change_whose_connection_is_lost_at_the_very_end_is_not_said_to_be_undone(
    postgresql: Shop,
) -> None:
    look_postgresql(
        postgresql.url,
        """CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER leaves AFTER UPDATE ON orders DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION leave()""",
    )

    with pytest.raises(DataFailure, match=r"whether .* is not known; look before") as caught:
        await postgresql.write("UPDATE orders SET note = 'lost'")

    assert caught.value.code == DataCode.SERVICE_UNAVAILABLE
    assert (await postgresql.read("SELECT 1")).rows == [[1]]

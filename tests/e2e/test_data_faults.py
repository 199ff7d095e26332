"""What goes wrong around the `data` server: slow statements, callers that leave, a database that
stops, a worker that dies (issue 9, must show 5; S2.10, S2.38).

Real gateways over a real PostgreSQL. Statements are slow in one of two ways: they compute without
end, or they wait for a lock that the test holds. Both end on being cancelled only.
"""

import os
import signal
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import psycopg
import pytest
from tests.e2e.processes import Process, descendants

from remit.client.transport import TRUSTS_NOBODY
from remit.data.datasources import Edit
from remit.model.data import EngineKind, Execution
from remit.model.principals import DEFAULT_TENANT
from remit.testing.data_gateway import (
    Callers,
    DataCaller,
    DataGateway,
    open_callers,
    open_data_gateway,
)
from remit.testing.services import Postgres, open_postgres, postgres_programs

pytestmark = pytest.mark.timeout(240)

CALLERS = 50
COMPUTING = 4
"""Callers with a slow statement each, and how many of these compute; the others wait."""

CONNECTIONS = 100
"""That the database has room for."""

ASKING = 8
"""Callers that go on asking while the database stops and comes back."""

ENDLESS = f"SELECT count(*) FROM {', '.join(f'orders t{n}' for n in range(16))}"  # noqa: S608
"""6 to the power of 16 rows."""

COUNT = "SELECT count(*) FROM customers"

NOTES = "SELECT count(*) FROM notes"
"""It waits where a test has locked them."""

OURS = "application_name = 'remit' AND datname = current_database()"

RUNNING = f"SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND {OURS}"  # noqa: S608
WAITING = f"{RUNNING} AND wait_event_type = 'Lock'"
"""How many statements of the gateway the database works on, and of those how many wait there."""

RUN = "execute_approved_query"

LOCK_LAST = "SELECT id FROM orders WHERE id = 6 FOR UPDATE"

BY_WORKERS = 12
"""Calls that two workers share as it happens; that one has none of them happens never."""

LIMIT = 8.0
"""Seconds that a statement may run where a test waits for the end of that time."""

SHIP = {
    "description": "Every order goes out",
    "sql": "UPDATE orders SET status = {{status}}",
    "parameters": [{"name": "status", "type": "string", "example": "sent"}],
}


@pytest.fixture(scope="module")
def server() -> Generator[Postgres]:
    """Run a PostgreSQL that this module stops, and with room for its callers."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed under /usr/lib/postgresql")
    with open_postgres(programs, connections=CONNECTIONS) as server:
        yield server


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, server: Postgres) -> Generator[DataGateway]:
    """Start one that outlives whatever happens to its database."""
    folder: Path = tmp_path_factory.mktemp("faults")
    with server.database() as url, gateway_over(folder, url) as gateway:
        yield gateway


@pytest.fixture
def two_workers(tmp_path: Path, server: Postgres) -> Generator[DataGateway]:
    """Start one of two processes, where statements end soon."""
    with (
        server.database() as url,
        gateway_over(tmp_path, url, "--workers", "2", time_limit=LIMIT) as gateway,
    ):
        yield gateway


@pytest.fixture
async def callers(gateway: DataGateway) -> AsyncGenerator[Callers]:
    async with open_callers(gateway) as callers:
        yield callers


@contextmanager
def gateway_over(folder: Path, url: str, *options: str, **edit: Any) -> Generator[DataGateway]:
    """Start a gateway over a writable shop; nothing that happens to it is worth a traceback."""
    wanted = Edit(is_writable=True, write_url=url, **edit)
    kind = EngineKind.POSTGRESQL
    with open_data_gateway(folder, kind, *options, postgres_url=url, edit=wanted) as gateway:
        yield gateway
    written = gateway.running.log.read_text()
    assert "Traceback" not in written, written


def look(gateway: DataGateway, statement: str) -> Any:
    """Return the first value of what a statement gives past the gateway."""
    with psycopg.connect(gateway.location) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return row[0]


def statuses(gateway: DataGateway) -> Sequence[str]:
    """Return the status of every order."""
    with psycopg.connect(gateway.location) as connection:
        rows = connection.execute("SELECT status FROM orders ORDER BY id").fetchall()
    return [status for (status,) in rows]


@asynccontextmanager
async def locked(gateway: DataGateway, statement: str) -> AsyncGenerator[None]:
    """Hold what a statement locks; the database may be stopped meanwhile."""
    connection = await psycopg.AsyncConnection.connect(gateway.location)
    try:
        await connection.execute(statement.encode())
        yield
    finally:
        connection.pgconn.finish()


async def until(condition: Callable[[], Any], within: float = 60) -> None:
    with anyio.fail_after(within):
        while not await anyio.to_thread.run_sync(condition):  # noqa: ASYNC110 - others change
            await anyio.sleep(0.02)


async def until_seen(gateway: DataGateway, count: int, question: str = RUNNING) -> None:
    """Wait until so many statements of the gateway are in the database."""
    await until(lambda: look(gateway, question) == count)


async def kept_of(callers: Callers, caller: DataCaller) -> Sequence[Execution]:
    """Return what is kept of what a caller ran, newest first."""
    return await callers.stores.executions.executions(
        DEFAULT_TENANT, user=caller.subject, limit=100
    )


async def recorded_of(callers: Callers, caller: DataCaller) -> list[dict[str, Any]]:
    """Return the calls of a caller that are on record, newest first."""
    running = callers.gateway.running
    return await anyio.to_thread.run_sync(lambda: running.audit("--principal", caller.subject))


async def test_while_fifty_callers_wait_for_slow_statements_a_fast_one_is_answered(
    callers: Callers, gateway: DataGateway
) -> None:
    ended: list[object] = []
    unlimited = httpx2.Limits(max_connections=None)
    async with (
        httpx2.AsyncClient(timeout=60, limits=unlimited, verify=TRUSTS_NOBODY) as http,
        locked(gateway, "LOCK TABLE notes"),
        anyio.create_task_group() as tasks,
    ):

        async def run_slowly(number: int) -> None:
            slow = apart(callers.user(f"slow{number}"), http)
            sql = ENDLESS if number < COMPUTING else NOTES
            ended.append(await slow.caller.call("query", {"sql": sql}))

        for number in range(CALLERS):
            tasks.start_soon(run_slowly, number)
        await until_seen(gateway, CALLERS)
        fast = await callers.user("fast").does("query", sql=COUNT)
        at_work = look(gateway, RUNNING)
        assert fast["rows"] == [[3]]
        assert at_work == CALLERS
        assert ended == []
        tasks.cancel_scope.cancel()

    await until_seen(gateway, 0)  # each of them has left


def apart(caller: DataCaller, http: httpx2.AsyncClient) -> DataCaller:
    """Return the same caller with a client, and so connections, of its own."""
    whole = caller.caller
    return DataCaller(caller.subject, type(whole)(http, whole.url, whole.key, whole.session))


async def test_what_a_session_cancels_ends_in_the_database_and_is_kept(
    callers: Callers, gateway: DataGateway
) -> None:
    lea = callers.user("lea")
    session = await lea.caller.begin()
    answers: list[dict[str, Any]] = []
    async with anyio.create_task_group() as tasks:

        async def run_slowly() -> None:
            params = {"name": "query", "arguments": {"sql": ENDLESS}}
            answers.append((await session.send("tools/call", params, 77)).json())

        tasks.start_soon(run_slowly)
        await until_seen(gateway, 1)
        noted = await session.http.post(
            session.url,
            json={
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 77},
            },
            headers={
                "Authorization": f"Bearer {session.key}",
                "Accept": "application/json, text/event-stream",
                **session.era_headers,
            },
        )
        assert noted.status_code == 202

    assert answers[0]["error"]["code"] == -32800
    await until_seen(gateway, 0)
    await is_on_record_as_stopped(callers, lea)


async def test_what_a_connection_asked_for_ends_in_the_database_with_the_connection(
    callers: Callers, gateway: DataGateway
) -> None:
    max_ = callers.user("max")
    await leaves(max_, "query", {"sql": ENDLESS}, lambda: until_seen(gateway, 1))

    await until_seen(gateway, 0)
    await is_on_record_as_stopped(callers, max_)


async def leaves(
    caller: DataCaller, tool: str, arguments: Mapping[str, object], after: Callable[[], Any]
) -> None:
    """Call a tool on a connection of its own, which is broken off *after* something."""
    async with (
        httpx2.AsyncClient(timeout=60, verify=TRUSTS_NOBODY) as http,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(apart(caller, http).caller.call, tool, arguments)
        await after()
        tasks.cancel_scope.cancel()


async def is_on_record_as_stopped(callers: Callers, caller: DataCaller) -> None:
    """Hold the one call of a caller: its outcome is unknown, and what ran is kept."""
    (call,) = await until_ended(callers, caller)
    (ran,) = await kept_of(callers, caller)
    assert call["outcome"] == "unknown"
    assert (call["tool"], call["error"]) == ("query", "the caller went away before the answer")
    assert (ran.tool, ran.sql, ran.code) == ("query", ENDLESS, "query_error")
    assert ran.error == "it was stopped before its end"
    assert ran.tables == ("public.orders",)


async def test_a_database_that_stops_is_told_of_stops_nothing_else_and_is_used_again_when_back(
    callers: Callers, gateway: DataGateway, server: Postgres
) -> None:
    heard: list[str] = []
    over = anyio.Event()

    async def keep_asking(name: str) -> None:
        async with httpx2.AsyncClient(timeout=60, verify=TRUSTS_NOBODY) as http:
            caller = apart(callers.user(name), http)
            while not over.is_set():
                heard.append(code_of(await caller.caller.call("query", {"sql": COUNT})))

    async def until_all_hear(code: str) -> None:
        """Wait until nobody hears anything else any more: what was under way is answered."""
        heard.clear()
        await until(lambda: heard[-4 * ASKING :] == [code] * (4 * ASKING))

    uma = callers.user("uma")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(is_told, uma)
        await until_seen(gateway, 1)
        for number in range(ASKING):
            tasks.start_soon(keep_asking, f"asks{number}")
        await until_all_hear("")
        await anyio.to_thread.run_sync(server.stop)
        await until_all_hear("service_unavailable")

        health = await uma.does("health")
        echoed = await callers.developer().does("echo", message="here")
        listed = await uma.does("list_approved_queries")
        refused = await uma.fails("query", sql="DROP TABLE customers")
        ready = await anyio.to_thread.run_sync(gateway.running.servers)

        assert (health["status"], health["datasources_reachable"]) == ("degraded", 0)
        assert echoed == {"message": "here"}
        assert "queries" in listed
        assert refused == "invalid_sql_type"
        assert ready["data"]["state"] == "ready"

        await anyio.to_thread.run_sync(lambda: server.start(connections=CONNECTIONS))
        await until_all_hear("")
        over.set()

    assert (await uma.does("health"))["status"] == "healthy"


async def is_unavailable(caller: DataCaller, arguments: Mapping[str, Any]) -> None:
    """Run a change that the end of the database interrupts."""
    assert await caller.fails(RUN, **arguments) == "service_unavailable"


async def is_told(caller: DataCaller) -> None:
    """Run what does not end before the database does."""
    assert await caller.fails("query", sql=ENDLESS) == "service_unavailable"


def code_of(answer: Mapping[str, Any]) -> str:
    """Return the code of a failure, empty for success, and all of it for anything else."""
    result = answer.get("result")
    if result is None:
        return str(answer)
    if not result.get("isError"):
        return ""
    return str(result.get("_meta", {}).get("remit/error", {}).get("code", result))


async def ship(callers: Callers) -> str:
    """Approve what changes every order, and return its id."""
    name = f"Ship everything {uuid4().hex}"
    made = await callers.developer().does("create_approved_query", name=name, **SHIP)
    return str(made["query_id"])


@pytest.mark.parametrize("how", ["the-caller-leaves", "the-database-stops"])
async def test_a_change_that_is_interrupted_has_not_happened_and_holds_nothing(
    callers: Callers, gateway: DataGateway, server: Postgres, how: str
) -> None:
    query_id = await ship(callers)
    before = statuses(gateway)
    arguments = {"query_id": query_id, "parameters": {"status": "gone"}}
    sam = callers.user("sam-" + how)

    # It has changed five orders when it comes to the sixth, which somebody else is changing.
    async with locked(gateway, LOCK_LAST):
        if how == "the-caller-leaves":
            await leaves(sam, RUN, arguments, lambda: until_seen(gateway, 1, WAITING))
            await until_seen(gateway, 0)
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(is_unavailable, sam, arguments)
                await until_seen(gateway, 1, WAITING)
                await anyio.to_thread.run_sync(server.stop)
            await anyio.to_thread.run_sync(lambda: server.start(connections=CONNECTIONS))

    assert statuses(gateway) == before
    (call,) = await until_ended(callers, sam)
    (ran,) = await kept_of(callers, sam)
    assert call["outcome"] == ("unknown" if how == "the-caller-leaves" else "tool_error")
    assert (ran.query, ran.is_modifying, ran.rows_affected) == (query_id, True, None)
    assert ran.code != ""
    done = await sam.does(RUN, query_id=query_id, parameters={"status": how})
    assert done["rows_affected"] == len(before)
    assert set(statuses(gateway)) == {how}


async def until_ended(callers: Callers, caller: DataCaller) -> list[dict[str, Any]]:
    """Return the calls of a caller once what ran is kept and its end on record."""
    with anyio.fail_after(60):
        while not await kept_of(callers, caller):  # noqa: ASYNC110 - in another process
            await anyio.sleep(0.05)
    await until(lambda: is_over(callers, caller))
    return await recorded_of(callers, caller)


def is_over(callers: Callers, caller: DataCaller) -> bool:
    """Whether the newest call of a caller is on record with how it ended."""
    calls = callers.gateway.running.audit("--principal", caller.subject)
    return bool(calls) and (calls[0]["outcome"] != "unknown" or calls[0]["error"] is not None)


async def test_a_worker_that_is_killed_leaves_nothing_behind_and_the_other_serves_on(
    two_workers: DataGateway,
) -> None:
    lost: list[DataCaller] = []
    answered: list[str] = []
    async with (
        open_callers(two_workers) as callers,
        httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http,
    ):
        query_id = await ship(callers)
        before = statuses(two_workers)

        async def call(number: int) -> None:
            caller = apart(callers.user(f"w{number}"), http)
            change = {"query_id": query_id, "parameters": {"status": "gone"}}
            wanted = (RUN, change) if number % 2 else ("query", {"sql": NOTES})
            try:
                answered.append(code_of(await caller.caller.call(*wanted)))
            except httpx2.TransportError:
                lost.append(caller)

        async with (
            locked(two_workers, f"LOCK TABLE notes; {LOCK_LAST}"),
            anyio.create_task_group() as tasks,
        ):
            for number in range(BY_WORKERS):
                tasks.start_soon(call, number)
            await until_seen(two_workers, BY_WORKERS, WAITING)
            victim = min(workers(two_workers), key=lambda each: each.pid)
            os.kill(victim.pid, signal.SIGKILL)
            await until(lambda: not victim.is_alive)
            async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as other:
                fast = await apart(callers.user("fast"), other).does("query", sql=COUNT)
            assert fast["rows"] == [[3]]
            # what nobody waits for any more ends when its time is up, not when it could go on
            await until_seen(two_workers, 0)

        assert lost
        assert len(lost) + len(answered) == BY_WORKERS
        assert set(answered) <= {"query_error"}
        assert statuses(two_workers) == before
        rows = await anyio.to_thread.run_sync(two_workers.running.audit)
        subjects = {caller.subject for caller in lost}
        ends = [(row["principal"], row["outcome"]) for row in rows if row["principal"] in subjects]
        assert sorted(ends) == [(subject, "unknown") for subject in sorted(subjects)]
        await until(lambda: len(workers(two_workers)) == 2)


def workers(gateway: DataGateway) -> set[Process]:
    """Return the workers of a gateway that are alive."""
    family = [each for each in descendants(gateway.running.process.pid) if each.is_alive]
    lines = {each: Path(f"/proc/{each.pid}/cmdline").read_text() for each in family}
    return {each for each, line in lines.items() if "serve-worker" in line}

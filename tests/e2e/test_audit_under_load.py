"""T25: the record under load, before a locked database, pruned, and killed (R28, R29)."""

import json
import signal
import sqlite3
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.client.transport import TRUSTS_NOBODY
from remit.storage.audit import open_audit
from remit.storage.database import default_url, open_database
from remit.testing.fakes import sample_event
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import executed

CALLS = 200
DENIED = 20
SIZE = 1_000_000
KEPT = 1000
CAP = 16 * 1024
LONGEST_WAIT = 1.0
"""Seconds that a call may wait for the record, beyond what it takes here without."""

ALONE = 3
"""Calls that show what one takes here before the database is locked."""

CALM = 24
"""Calls whose answers show the same before anything is pruned."""

LOCKED = 3.0
"""Seconds for which the writer holds the database, or longer, until every call is answered."""

pytestmark = pytest.mark.timeout(300)


def _document(folder: Path) -> dict[str, Any]:
    tools = [{"name": "big", "x-fixture": {"size": SIZE}}, "hidden"]
    return {
        "version": "1.0",
        "mcp_servers": {
            "files": fixture_entry(tools, folder / "ran", session="shared") | {"timeout": 120}
        },
        "roles": {"worker": {"allow": ["files/big"]}},
        "audit": {"retention_rows": KEPT},
    }


async def _fill(state: Path, count: int) -> None:
    """Put rows of earlier days into the record, more than may stay."""
    async with (
        open_database(default_url(state)) as database,
        open_audit(database, state, durability="process") as audit,
    ):
        for number in range(count):
            await audit.record(sample_event(number))


@contextmanager
def _writing_locked(state: Path) -> Generator[None]:
    """Hold the database as a writer that does not end."""
    with closing(sqlite3.connect(state / "remit.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


class Reader:
    """An administrator that looks at the record over the API."""

    def __init__(self, http: httpx2.AsyncClient, running: Running) -> None:
        self._http = http
        self._url = f"{running.base}/api/v1/audit"
        self._headers = {"Authorization": f"Bearer {running.admin_key}"}
        self.looked = anyio.Event()

    async def page(self, **query: str) -> dict[str, Any]:
        """Return one page."""
        reply = await self._look(**query)
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def pages(self, **query: str) -> list[list[dict[str, Any]]]:
        """Return the rows of every page."""
        found: list[list[dict[str, Any]]] = []
        more: dict[str, str] = {}
        while True:
            page = await self.page(**query, **more)
            found.append(page["items"])
            if page["next"] is None:
                return found
            more = {"cursor": page["next"]}

    async def poll(self) -> None:
        """Look at the first page again and again.

        A page shows all that was recorded before, so it waits for the database, unlike calls; one
        that waited for too long says so.
        """
        while True:
            assert (await self._look(limit="50")).status_code in {200, 503}
            self.looked.set()

    async def _look(self, **query: str) -> httpx2.Response:
        return await self._http.get(self._url, params=query, headers=self._headers)


async def _call(caller: Caller, number: int) -> None:
    answer = await caller.call("files__big", {"number": number, "word": f"needle-{number}-"})
    assert len(answer["result"]["content"][0]["text"]) == SIZE


async def _denied(caller: Caller) -> None:
    answer = await caller.call("files__hidden", {})
    assert answer["error"]["message"] == "Unknown tool"


async def _called_while_the_database_is_locked(
    running: Running, caller: Caller, reader: Reader
) -> None:
    usual = 0.0
    for number in range(ALONE):
        began = anyio.current_time()
        await _call(caller, number)
        usual = max(usual, anyio.current_time() - began)
    with anyio.fail_after(200):
        async with anyio.create_task_group() as watching:
            watching.start_soon(reader.poll)
            await reader.looked.wait()
            with _writing_locked(running.folder / ".remit"):
                # alone, so that nothing else is waited for
                with anyio.fail_after(usual + LONGEST_WAIT):
                    await _call(caller, ALONE)
                    await _denied(caller)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(anyio.sleep, LOCKED)
                    for number in range(ALONE + 1, CALLS):
                        tasks.start_soon(_call, caller, number)
                    for _ in range(1, DENIED):
                        tasks.start_soon(_denied, caller)
            reader.looked = anyio.Event()
            await reader.looked.wait()
            watching.cancel_scope.cancel()


def _numbers(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(json.loads(row["arguments"])["number"] for row in rows)


async def _every_call_is_on_record_once(reader: Reader) -> None:
    pages = await reader.pages(tool="big", limit="60")
    rows = [row for page in pages for row in page]
    assert [len(page) for page in pages] == [60, 60, 60, 20]
    assert _numbers(rows) == list(range(CALLS))
    assert {(row["outcome"], row["decision"]) for row in rows} == {("ok", "allow")}
    assert all(row["result_size"] > SIZE for row in rows)
    denied = await reader.pages(tool="hidden", limit="1000")
    assert [(row["decision"], row["outcome"]) for row in denied[0]] == [("deny", "none")] * DENIED
    # A search covers all rows, not those of a page.
    for number in (0, 57, CALLS - 1):
        (found,) = (await reader.page(text=f"needle-{number}-"))["items"]
        assert _numbers([found]) == [number]


def _bodies(state: Path) -> list[tuple[int, int]]:
    """Return what is stored of each result, and how long the result was."""
    query = "SELECT length(result), result_size FROM audit_events WHERE result IS NOT NULL"
    with closing(sqlite3.connect(state / "remit.db")) as connection:
        return connection.execute(f"{query} AND tool = 'big'").fetchall()


class Traffic:
    """Clients that call until the gateway is killed, which happens once the record is pruned.

    Attributes:
        answered: Numbers of the calls whose answer arrived.
        longest: Seconds that the slowest of them took since the pruning began.
        usual: Seconds that the slowest took before.
    """

    def __init__(self, running: Running, caller: Caller) -> None:
        self._running = running
        self._caller = caller
        self._numbers: Iterator[int] = iter(range(CALLS, 4 * CALLS))
        self._is_calm = anyio.Event()
        self.answered: set[int] = set()
        self.longest = self.usual = 0.0

    async def until_killed(self) -> str:
        """Return what the pruning said."""
        said = ""
        with anyio.fail_after(120):
            async with anyio.create_task_group() as tasks:
                for _ in range(8):
                    tasks.start_soon(self._calls)
                await self._is_calm.wait()
                self.usual, self.longest = self.longest, 0.0
                said = await anyio.to_thread.run_sync(self._running.remit, "audit", "prune")
                self._running.process.kill()
        return said

    async def _calls(self) -> None:
        for number in self._numbers:
            began = anyio.current_time()
            try:
                await _call(self._caller, number)
            except httpx2.TransportError:
                return
            self.answered.add(number)
            self.longest = max(self.longest, anyio.current_time() - began)
            if len(self.answered) == CALM:
                self._is_calm.set()


@pytest.fixture
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(limits=limits, timeout=150, verify=TRUSTS_NOBODY) as client:
        yield client


async def test_t25_the_record_under_load(
    serve: Serve, tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    state = tmp_path / ".remit"
    state.mkdir()
    await _fill(state, 3 * KEPT)
    running = serve(_document(tmp_path)).settle()
    caller = Caller(http, running.url, running.key("worker"))
    reader = Reader(http, running)

    await _called_while_the_database_is_locked(running, caller, reader)
    assert len(executed(tmp_path / "ran")) == CALLS
    await _every_call_is_on_record_once(reader)
    bodies = _bodies(state)
    assert len(bodies) == CALLS
    assert all(stored <= CAP and size > SIZE for stored, size in bodies)

    traffic = Traffic(running, caller)
    said = await traffic.until_killed()
    assert running.process.wait() == -signal.SIGKILL
    assert "retention_rows: 1000" in said
    assert traffic.answered
    # twice, since whatever prunes takes a core of its own
    assert traffic.longest < 2 * traffic.usual + LONGEST_WAIT

    again = serve().settle()
    rows = await Reader(http, again).pages(tool="big", limit="1000")
    numbers = _numbers(rows[0])
    assert len(set(numbers)) == len(numbers)
    assert traffic.answered <= set(numbers)
    assert json.loads(again.remit("audit", "verify", "--json"))["broken"] is None

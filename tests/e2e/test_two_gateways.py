"""Gateways over one store: a change is in force everywhere, and nothing is lost (R17, R29)."""

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx2
import pytest

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import Caller, Running, fixture_entry, start_gateway
from remit.testing.reach import KINDS, open_reach
from remit.testing.services import Postgres, open_postgres, postgres_programs

REACH = 2.0
"""Seconds within which a change is in force everywhere; `bench/reach.py` measures 50."""

CHANGES = 10


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    """Name an empty PostgreSQL database, or nothing for SQLite beside the declaration."""
    if request.param == "sqlite":
        return ""
    url: str = request.getfixturevalue("postgres_url")
    return url


async def test_ten_changes_of_every_kind_reach_the_other_gateway_within_two_seconds(
    store: str, tmp_path: Path
) -> None:
    # must-show 4: keys, users, agents, rules and grants with an end
    async with open_reach(tmp_path, store) as reach:
        refusals = [await reach.measure(number) for number in range(CHANGES)]
        told = [gateway.remit("audit", "verify") for gateway in reach.gateways]

    assert {one.kind for one in refusals} == set(KINDS)
    assert max(one.seconds for one in refusals) < REACH, refusals
    # two writers, one chain, and the administrator's key was made by one of them
    assert all(line.startswith("OK: ") for line in told)
    logs = "".join(log.read_text() for log in {one.log for one in reach.gateways})
    assert logs.count("administrator's key") == 1
    assert "Traceback" not in logs


@pytest.mark.timeout(120)
async def test_a_database_that_goes_away_and_comes_back_loses_nothing(tmp_path: Path) -> None:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed under /usr/lib/postgresql")
    with open_postgres(programs) as server, server.database() as url:
        running = _start(tmp_path, url)
        try:
            answered = await _traffic(running, server)
            rows = running.audit("--outcome", "ok")
            assert "OK: " in running.remit("audit", "verify")
            assert len(rows) == answered
            assert len({row["id"] for row in rows}) == answered
        finally:
            running.stop()
    log = running.log.read_text()
    assert "Traceback" not in log
    assert "audit events wait in the journal" in log


def _start(folder: Path, url: str) -> Running:
    config = folder / "remit.yaml"
    document = {
        "version": "1.0",
        "mcp_servers": {"files": fixture_entry(["read"], folder / "files", session="shared")},
        "roles": {"clerk": {"tools": {"files": ["read"]}}},
    }
    config.write_text(json.dumps(document))
    return start_gateway(folder, config, {"REMIT_DATABASE_URL": url}).settle()


async def _traffic(running: Running, server: Postgres) -> int:
    """Call all the time while the database stops and starts; return how many calls ran."""
    key = await anyio.to_thread.run_sync(running.key, "clerk")
    count, ends = 0, anyio.Event()

    async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http, anyio.create_task_group() as tasks:
        caller = Caller(http, running.url, key)

        async def call() -> None:
            nonlocal count
            while not ends.is_set():
                assert "result" in await caller.call("files__read")
                count += 1
                await anyio.sleep(0.01)

        await caller.call("files__read")
        for _ in range(3):
            tasks.start_soon(call)
        await _grows(lambda: count, 20)
        await anyio.to_thread.run_sync(server.stop)
        await _grows(lambda: count, 60)
        await anyio.to_thread.run_sync(server.start)
        await _grows(lambda: count, 20)
        ends.set()
    # a change reaches it again
    await anyio.to_thread.run_sync(lambda: running.remit("keys", "revoke", "clerk-key"))
    async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http:
        await _until_refused(Caller(http, running.url, key))
    return count + 1


async def _grows(count: Callable[[], int], by: int) -> None:
    wanted = count() + by
    with anyio.fail_after(40):
        while count() < wanted:  # noqa: ASYNC110 - others count
            await anyio.sleep(0.02)


async def _until_refused(caller: Caller) -> None:
    with anyio.fail_after(20):
        while (await caller.send("tools/list", {})).status_code != 401:  # noqa: ASYNC110
            await anyio.sleep(0.05)

"""T23: one limit over two gateways, wherever calls are counted, and when that place is gone."""

import json
import os
import re
import signal
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.processes import Process, descendants

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.fleets import eventually
from remit.testing.gateway import Caller, Running, fixture_entry, start_gateway
from remit.testing.services import Postgres, Redis, open_postgres, open_redis, postgres_programs
from remit.testing.upstream import executed

pytestmark = pytest.mark.timeout(240)  # servers and gateways in processes of their own

CALLS = 10
HOUR = 3600

AHEAD = """
import time

_clock = time.time
time.time = lambda: _clock() + 7200
"""
"""What makes a worker's clock run ahead of a whole span."""

SECOND_AHEAD = """
import sys
import time

_clock = time.time
if sys.orig_argv[-4:-2] == ["--number", "2"]:
    time.time = lambda: _clock() + 30
"""
"""What makes the clock of the second worker of a gateway run ahead by half a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Where two gateways count.

    Attributes:
        environ: What tells them so.
        server: What can be stopped; None for a file.
    """

    environ: Mapping[str, str]
    server: Postgres | Redis | None


@pytest.fixture(params=["sqlite", "postgresql", "redis"])
def shared_store(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Shared]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield Shared(environ={}, server=None)
        elif request.param == "redis":
            redis = stack.enter_context(open_redis(tmp_path))
            if redis is None:
                pytest.skip("no redis-server and no valkey-server is installed")
            yield Shared(environ={"REMIT_SHARED_URL": redis.url}, server=redis)
        else:
            programs = postgres_programs()
            if programs is None:
                pytest.skip("PostgreSQL is not installed under /usr/lib/postgresql")
            postgres = stack.enter_context(open_postgres(programs))
            yield Shared(environ={"REMIT_DATABASE_URL": postgres.url()}, server=postgres)


def _document(folder: Path, per: int | str = HOUR) -> dict[str, Any]:
    tools = ["read", "write", "hidden"]
    allowed = {"tools": {"files": tools[:2]}}
    return {
        "version": "1.0",
        "mcp_servers": {"files": fixture_entry(tools, folder / "ran", session="shared")},
        "roles": {"clerk": allowed, "other": allowed},
        "limits": [{"tool": "files/read", "calls": CALLS, "per": per}],
    }


def _is_limited(answer: Mapping[str, Any], per: int = HOUR) -> bool:
    """Whether the call has to wait; then the answer has to say so in full."""
    result = answer["result"]
    if not result.get("isError"):
        return False
    assert result["_meta"]["remit/code"] == "LIMIT_REACHED"
    assert 0 < result["_meta"]["remit/retry_after"] <= per
    assert "retry after" in result["content"][0]["text"]
    return True


async def _limited(running: Running) -> int:
    """Return how many calls a limit had no room for, as this gateway counts them for people."""
    headers = {"Authorization": f"Bearer {running.admin_key}"}
    async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http:
        told = (await http.get(f"{running.base}/metrics", headers=headers)).text
    found = re.findall(r"(?m)^remit_limited_calls_total\{[^}]*\} (\d+)", told)
    return sum(map(int, found))


async def _told_used(one: Running, two: Running, http: httpx2.AsyncClient) -> list[int]:
    """Return how much of its limit the clerk has used, as a command and both gateways say."""
    words = ("explain", "--as", "key:clerk-key", "files/read", "--json")
    printed = json.loads(await anyio.to_thread.run_sync(lambda: one.remit(*words)))
    found = [printed["limits"][0]["used"]]
    for running in (one, two):
        reply = await http.get(
            f"{running.base}/api/v1/explain",
            params={"as": "key:clerk-key", "tool": "files/read"},
            headers={"Authorization": f"Bearer {one.admin_key}"},
        )
        found.append(reply.json()["limits"][0]["used"])
    return found


def _executed(folder: Path) -> int:
    return len([one for one in executed(folder / "ran") if one.name == "read"])


async def _ran(caller: Caller, times: int = 1, tool: str = "read") -> int:
    """Call one after the other and return how many ran."""
    answers = [await caller.call(f"files__{tool}") for _ in range(times)]
    return [_is_limited(answer) for answer in answers].count(False)


async def _at_once(callers: list[Caller], times: int) -> list[Mapping[str, Any]]:
    answers: list[Mapping[str, Any]] = []

    async def call(caller: Caller) -> None:
        answers.append(await caller.call("files__read"))

    async with anyio.create_task_group() as tasks:
        for number in range(times):
            tasks.start_soon(call, callers[number % len(callers)])
    return answers


async def _refused_attempts(callers: list[Caller]) -> None:
    """Come with the caller's key but a wrong secret, and with what it may not call."""
    for number in range(20):
        caller = callers[number % 2]
        forged = Caller(caller.http, caller.url, caller.key[:-8] + "00000000")
        reply = await forged.send("tools/call", {"name": "files__read", "arguments": {}})
        assert reply.status_code == 401
    for caller in callers:
        assert (await caller.call("files__hidden"))["error"]["code"] == -32602
        denied = await caller.send("tools/call", {"name": "files__read", "arguments": []})
        assert "result" not in denied.json() or denied.json()["result"]["isError"]


async def test_t23_limits_across_workers(
    serve: Serve, tmp_path: Path, shared_store: Shared, http: httpx2.AsyncClient
) -> None:
    ahead = tmp_path / "ahead"
    ahead.mkdir()
    (ahead / "sitecustomize.py").write_text(AHEAD)
    environ = shared_store.environ
    one = serve(_document(tmp_path), **environ).settle()
    two = serve(None, **environ, PYTHONPATH=str(ahead)).settle()
    key, other_key = one.key("clerk"), one.key("other")

    def at(running: Running, with_key: str = key) -> Caller:
        return Caller(http, running.url, with_key)

    await _refused_attempts([at(one), at(two)])
    assert _executed(tmp_path) == 0

    # exactly ten run, thirty are told when to come again
    with anyio.fail_after(60):
        answers = await _at_once([at(one), at(two)], 40)
    assert sorted(map(_is_limited, answers)) == [False] * 10 + [True] * 30
    assert _executed(tmp_path) == 10
    limited = one.audit("--code", "LIMIT_REACHED")
    assert {(row["principal"], row["decision"], row["outcome"]) for row in limited} == {
        ("key:clerk-key", "allow", "none")
    }
    assert len(limited) == 30
    assert await _told_used(one, two, http) == [CALLS] * 3
    assert await _limited(one) + await _limited(two) == 30

    # another tool and another caller are not affected
    for running in (one, two):
        assert await _ran(at(running), tool="write") == 1
        assert await _ran(at(running, other_key), tool="write") == 1
    assert await _ran(at(two, other_key)) == 1

    # a restart resets nothing
    one.stop()
    again = serve(None, **environ).settle()
    assert await _ran(at(again), 3) + await _ran(at(two), 3) == 0
    assert await _ran(at(again, other_key), tool="write") == 1

    if shared_store.server is None:
        return
    # without the store each worker counts for itself, and nobody is without limit
    shared_store.server.stop()
    with anyio.fail_after(90):
        assert await _ran(at(again, other_key), CALLS + 5) == CALLS
        assert await _ran(at(two, other_key), CALLS + 5) == CALLS - 1
        assert await _ran(at(again), CALLS + 5) + await _ran(at(two), CALLS + 5) == 0
    assert one.log.read_text().count("limits are not shared") == 2


@pytest.fixture(params=["sqlite", "redis"])
def two_workers(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Running]:
    """Give a gateway of two workers, of which the second's clock is half a minute ahead."""
    ahead = tmp_path / "ahead"
    ahead.mkdir()
    (ahead / "sitecustomize.py").write_text(SECOND_AHEAD)
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(_document(tmp_path, "minute")))
    environ = {"PYTHONPATH": str(ahead)}
    with ExitStack() as stack:
        if request.param == "redis":
            redis = stack.enter_context(open_redis(tmp_path))
            if redis is None:
                pytest.skip("no redis-server and no valkey-server is installed")
            environ["REMIT_SHARED_URL"] = redis.url
        running = start_gateway(tmp_path, config, environ, "--workers", "2")
        stack.callback(running.stop)
        yield running.settle()
    assert "Traceback" not in running.log.read_text()


def _workers(running: Running) -> set[Process]:
    return {
        process
        for process in descendants(running.process.pid)
        if process.is_alive and "serve-worker" in Path(f"/proc/{process.pid}/cmdline").read_text()
    }


async def _called_afresh(running: Running, key: str, tool: str = "read") -> Mapping[str, Any]:
    """Call on a connection of its own, which either worker may get."""
    async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
        return await Caller(http, running.url, key).call(f"files__{tool}")


async def test_t23_ten_a_minute_over_two_workers_of_one_port(
    two_workers: Running, tmp_path: Path
) -> None:
    running = two_workers
    key, other = await _keys(running)
    for _ in range(20):  # a key with the caller's name and another secret
        async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
            forged = Caller(http, running.url, f"{key[:-8]}00000000")
            reply = await forged.send("tools/call", {"name": "files__read", "arguments": {}})
            assert reply.status_code == 401
    answers: list[Mapping[str, Any]] = []

    async def call() -> None:
        answers.append(await _called_afresh(running, key))

    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(call)

    assert sorted(_is_limited(answer, 60) for answer in answers) == [False] * 10 + [True] * 30
    assert _executed(tmp_path) == 10
    for with_key, tool in ((key, "write"), (other, "read"), (other, "write")):
        assert not _is_limited(await _called_afresh(running, with_key, tool), 60)

    # A worker that is started anew knows what was counted.
    before = _workers(running)
    victim = min(before, key=lambda process: process.pid)
    os.kill(victim.pid, signal.SIGKILL)
    await eventually(lambda: len(_workers(running)) == 2 and victim not in _workers(running))
    for _ in range(20):
        assert _is_limited(await _called_afresh(running, key), 60)
    assert _executed(tmp_path) == 11
    assert {row["code"] for row in running.audit("--principal", "key:clerk-key")} == {
        "",
        "LIMIT_REACHED",
    }


async def _keys(running: Running) -> tuple[str, str]:
    return (
        await anyio.to_thread.run_sync(running.key, "clerk"),
        await anyio.to_thread.run_sync(running.key, "other"),
    )

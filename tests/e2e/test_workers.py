"""`remit serve --workers N`: one port, several processes, none left behind (R17, T24)."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.processes import Process, descendants

from remit.__main__ import ALLOCATOR
from remit.cli.supervisor import Supervisor
from remit.client.transport import TRUSTS_NOBODY
from remit.errors import StartupError
from remit.testing.gateway import (
    Caller,
    Running,
    environment,
    fixture_entry,
    run_remit,
    start_gateway,
)
from remit.testing.upstream import executed, received

WORKERS = 2


def _document(folder: Path, tools: list[str]) -> dict[str, Any]:
    return {
        "version": "1.0",
        "mcp_servers": {"files": fixture_entry(["read", "write"], folder / "count")},
        "roles": {"clerk": {"tools": {"files": tools}}},
    }


@pytest.fixture
def running(tmp_path: Path) -> Generator[Running]:
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(_document(tmp_path, ["read", "write"])))
    running = start_gateway(tmp_path, config, None, "--workers", str(WORKERS))
    try:
        yield running.settle()
    finally:
        if running.process.poll() is None:
            running.stop()
    assert "Traceback" not in running.log.read_text()


@asynccontextmanager
async def _fresh(running: Running) -> AsyncGenerator[Caller]:
    """Give a caller on a connection of its own, which any worker may get."""
    key = await anyio.to_thread.run_sync(running.key, "clerk")
    async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http:
        yield Caller(http, running.url, key)


async def _serves(running: Running) -> bool:
    async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http:
        try:
            return (await http.get(f"{running.base}/healthz")).is_success
        except httpx2.TransportError:
            return False


async def _until(condition: Callable[[], Any], within: float = 40) -> None:
    with anyio.fail_after(within):
        while not condition():  # noqa: ASYNC110 - other processes change
            await anyio.sleep(0.05)


def _workers(running: Running) -> set[Process]:
    lines = {
        process: Path(f"/proc/{process.pid}/cmdline").read_text()
        for process in descendants(running.process.pid)
        if process.is_alive
    }
    return {process for process, line in lines.items() if "serve-worker" in line}


async def test_a_gateway_is_settled_once_each_worker_is(tmp_path: Path) -> None:
    document = _document(tmp_path, ["read"])
    entry = document["mcp_servers"]["files"]
    # that of one worker is up at once, that of the other later
    slowly = ["-c", 'mkdir first 2>&- || sleep 3; exec "$0" "$@"', entry["command"], *entry["args"]]
    entry |= {"command": "sh", "args": slowly, "cwd": str(tmp_path), "session": "shared"}
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(document))
    running = start_gateway(tmp_path, config, None, "--workers", str(WORKERS))
    try:
        running.settle()
        assert len(_workers(running)) == WORKERS
        for _ in range(20):
            async with _fresh(running) as caller:
                assert "isError" not in (await caller.call("files__read"))["result"]
    finally:
        running.stop()


async def test_sessions_of_the_older_eras_are_served_by_every_worker(running: Running) -> None:
    async with _fresh(running) as caller:
        session = await caller.begin()
        assert "result" in await session.call("files__read")
    for _ in range(20):
        async with _fresh(running) as other:
            moved = Caller(other.http, other.url, other.key, session.session)
            assert "result" in await moved.call("files__read")
    # more than one worker took a part in it: each starts the server for its callers
    assert len(received(running.folder / "count", "initialize")) > 1 or (
        len(received(running.folder / "count", "server/discover")) > 1
    )
    rows = running.audit()
    assert [row["outcome"] for row in rows] == ["ok"] * 21
    assert "OK: " in running.remit("audit", "verify")


async def test_the_administrators_key_is_made_once(running: Running) -> None:
    keys = json.loads(running.remit("keys", "list", "--json"))

    assert [key["name"] for key in keys] == ["admin"]
    assert running.log.read_text().count("administrator's key") == 1
    assert running.admin_key not in running.log.read_text()


async def test_a_worker_that_dies_is_replaced_and_the_others_serve_on(running: Running) -> None:
    before = _workers(running)
    victim = min(before, key=lambda process: process.pid)
    _kill(victim)
    await _until(lambda: not victim.is_alive)
    for _ in range(5):
        async with _fresh(running) as caller:
            assert "result" in await caller.call("files__read")
    await _until(lambda: len(_workers(running)) == WORKERS)

    assert victim not in _workers(running)
    assert "a worker ended; another is started" in running.log.read_text()


async def test_a_worker_started_later_runs_the_revision_in_force_whatever_the_file_says(
    running: Running,
) -> None:
    # R18: a file that was not applied never replaces what runs
    await anyio.to_thread.run_sync(running.key, "clerk")
    running.config.write_text("roles: [")
    before = _workers(running)
    for worker in before:
        _kill(worker)
    await _until(lambda: len(_workers(running) - before) == WORKERS)
    with anyio.fail_after(40):
        while not await _serves(running):  # noqa: ASYNC110 - another process starts
            await anyio.sleep(0.05)

    async with _fresh(running) as caller:
        assert "result" in await caller.call("files__write")


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["alone", "by workers"])
async def test_a_hangup_at_the_start_ends_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    config, log = tmp_path / "remit.yaml", tmp_path / "log"
    config.write_text(json.dumps(_document(tmp_path, ["read"])))
    command = (sys.executable, "-m", "remit", "serve", "--config", str(config), "--port", "0")
    with (
        log.open("wb") as sink,
        subprocess.Popen([*command, *options], cwd=tmp_path, env=environment(), stderr=sink) as one,
    ):
        try:
            await _until((tmp_path / ".remit").exists)  # it has begun, and does not serve yet
            one.send_signal(signal.SIGHUP)
            await _until(lambda: "remit serves" in log.read_text() or one.poll() is not None)
            assert one.poll() is None
        finally:
            one.terminate()
    assert one.returncode == 0


async def test_a_hangup_reloads_every_worker(running: Running) -> None:
    running.config.write_text(json.dumps(_document(running.folder, ["read"])))
    running.process.send_signal(signal.SIGHUP)

    refused = 0
    with anyio.fail_after(40):
        while refused < 20:
            async with _fresh(running) as caller:
                refused = refused + 1 if "error" in await caller.call("files__write") else 0
    log = running.log.read_text()
    assert len(_workers(running)) == WORKERS
    assert "not reloaded" not in log


async def test_what_a_worker_logs_says_which_it_is(running: Running) -> None:
    running.config.write_text("roles: [")
    running.process.send_signal(signal.SIGHUP)

    def not_reloaded() -> list[dict[str, object]]:
        lines = [line for line in running.log.read_text().splitlines() if "not reloaded" in line]
        return [json.loads(line) for line in lines]

    await _until(lambda: len(not_reloaded()) == WORKERS)
    assert {line["worker"] for line in not_reloaded()} == {1, 2}


async def test_a_stop_leaves_no_process(running: Running) -> None:
    async with _fresh(running) as caller:
        assert "result" in await caller.call("files__read")
    family = descendants(running.process.pid)
    assert len(family) > WORKERS  # the servers behind them, too

    assert running.stop() == 0
    await _until(lambda: not any(process.is_alive for process in family))


async def test_no_worker_outlives_a_supervisor_that_is_killed(running: Running) -> None:
    async with _fresh(running) as caller:
        assert "result" in await caller.call("files__read")
    family = descendants(running.process.pid)

    running.process.kill()
    running.process.wait()
    await _until(lambda: not any(process.is_alive for process in family), within=30)
    assert "OK: " in running.remit("audit", "verify")


async def test_a_call_under_way_is_answered_though_the_supervisor_is_killed(tmp_path: Path) -> None:
    slow = {"name": "slow", "x-fixture": {"delay": 1.0}}
    document = {
        "mcp_servers": {"files": fixture_entry([slow], tmp_path / "ran")},
        "roles": {"clerk": {"allow": ["files/*"]}},
    }
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(document))
    running = start_gateway(tmp_path, config, None, "--workers", str(WORKERS))
    replies: list[dict[str, Any]] = []
    async with _fresh(running.settle()) as caller:
        family = descendants(running.process.pid)

        async def call() -> None:
            replies.append(await caller.call("files__slow"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await _until(lambda: executed(tmp_path / "ran"))
            running.process.kill()
            running.process.wait()

    assert "result" in replies[0]
    await _until(lambda: not any(process.is_alive for process in family), within=30)
    assert [row["outcome"] for row in running.audit()] == ["ok"]


async def test_a_port_that_is_taken_is_told_and_not_shared(running: Running) -> None:
    again = run_remit(
        *("serve", "--config", str(running.config), "--port", str(running.port), "--workers", "2"),
        folder=running.folder,
    )

    assert again.returncode == 3
    assert re.search(r"cannot listen on 127\.0\.0\.1:\d+: .*in use", again.stderr)


async def test_workers_that_cannot_start_end_the_supervisor() -> None:
    with anyio.fail_after(30), pytest.raises(BaseExceptionGroup) as caught:
        await Supervisor(["false"], 2).run()

    assert caught.group_contains(StartupError, match="cannot start")


def _kill(process: Process) -> None:
    os.kill(process.pid, signal.SIGKILL)


def _listeners(port: int) -> int:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(
        line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in lines
    )


async def test_a_worker_that_replaces_another_takes_calls_once_its_servers_are_up(
    tmp_path: Path,
) -> None:
    document = _document(tmp_path, ["read", "write"])
    entry = document["mcp_servers"]["files"]
    slowly = ["-c", 'sleep 1; exec "$0" "$@"', entry["command"], *entry["args"]]
    entry |= {"command": "sh", "args": slowly, "session": "shared"}
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(document))
    running = start_gateway(tmp_path, config, None, "--workers", str(WORKERS))

    async def works() -> bool:
        async with _fresh(running) as caller:
            answer = await caller.call("files__read")
            return "result" in answer and not answer["result"].get("isError")

    try:
        running.settle()
        with anyio.fail_after(60):
            _kill(next(iter(_workers(running))))
            await _until(lambda: _listeners(running.port) == WORKERS - 1)
            while _listeners(running.port) < WORKERS:
                assert await works()
            for _ in range(20):
                assert await works()
    finally:
        running.stop()


@pytest.mark.parametrize("said", [{}, {"MALLOC_ARENA_MAX": "3"}])
async def test_malloc_keeps_little_unless_the_environment_says_otherwise(
    tmp_path: Path, said: dict[str, str]
) -> None:
    config = tmp_path / "remit.yaml"
    config.write_text("version: '1.0'\n")
    running = start_gateway(tmp_path, config, said, "--workers", str(WORKERS))
    try:
        found = {running.process.pid, *(worker.pid for worker in _workers(running))}
        assert len(found) == 1 + WORKERS
        for pid in found:
            given = Path(f"/proc/{pid}/environ").read_text().split("\0")
            assert {f"{name}={value}" for name, value in (ALLOCATOR | said).items()} <= {*given}
    finally:
        running.stop()


async def test_whichever_worker_is_asked_tells_what_all_have_counted(running: Running) -> None:
    for _ in range(12):
        async with _fresh(running) as caller:
            assert "result" in await caller.call("files__read")

    def counted() -> dict[str, float]:
        text = httpx2.get(f"{running.base}/metrics", verify=TRUSTS_NOBODY).text
        found = re.findall(r'(?m)^remit_calls_total\{.*worker="(\d)"\} (\d+)$', text)
        assert len(re.findall(r"(?m)^# TYPE remit_calls_total ", text)) == 1
        return {worker: float(count) for worker, count in found}

    def all_agree() -> bool:  # each asked on a connection of its own; they tell the others in turn
        answers = [counted() for _ in range(8)]
        assert all(set(answer) <= {"1", "2"} for answer in answers)
        return {sum(answer.values()) for answer in answers} == {12}

    await _until(all_agree)

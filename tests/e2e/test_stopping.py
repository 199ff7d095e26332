"""A gateway that is told to stop ends in order: what is under way is answered, nothing is left."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.processes import Process, descendants, mentioning

from remit.testing.fleets import eventually
from remit.testing.gateway import Caller, Running, environment, fixture_entry
from remit.testing.upstream import executed

ENDED_IN_A_CLASS = """
import dataclasses, signal

given = dataclasses.Field.__set_name__

def set_name(self, owner, name):
    signal.raise_signal(signal.SIGTERM)
    given(self, owner, name)

dataclasses.Field.__set_name__ = set_name
"""


async def worker_of(
    tool: Mapping[str, Any], folder: Path, serve: Serve, http: httpx2.AsyncClient
) -> tuple[Running, Caller]:
    """Return a gateway before one tool, and a caller that has seen it."""
    running = serve(
        {
            "version": "1.0",
            "mcp_servers": {"tools": fixture_entry([tool], folder / "ran")},
            "roles": {"worker": {"allow": ["tools/*"]}},
        }
    )
    caller = Caller(http, running.url, running.key("worker"))
    await caller.until_listed({f"tools__{tool['name']}"})
    return running, caller


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_call_under_way_is_answered_before_the_gateway_ends(
    tmp_path: Path, serve: Serve, http: httpx2.AsyncClient, number: signal.Signals
) -> None:
    slow = {"name": "slow", "x-fixture": {"delay": 1.0}}
    running, caller = await worker_of(slow, tmp_path, serve, http)
    replies: list[dict[str, Any]] = []
    children: set[Process] = set()

    async def call() -> None:
        replies.append(await caller.call("tools__slow"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await eventually(lambda: executed(tmp_path / "ran"))
        children |= descendants(running.process.pid)
        running.process.send_signal(number)
        if number is signal.SIGTERM:  # once more, as impatient supervisors do
            running.process.send_signal(number)
    status = await anyio.to_thread.run_sync(running.process.wait)

    assert status == 0
    assert "result" in replies[0]
    assert children
    assert not any(child.is_alive for child in children)
    assert [row["outcome"] for row in running.audit()] == ["ok"]


async def test_open_streams_are_ended_and_do_not_hold_the_gateway(
    tmp_path: Path, serve: Serve, http: httpx2.AsyncClient
) -> None:
    entry = fixture_entry(["work"], tmp_path / "ran")
    running = serve({"mcp_servers": {"tools": entry}, "roles": {"worker": {"allow": ["tools/*"]}}})
    session = await Caller(http, running.url, running.key("worker")).begin()
    headers = {"Authorization": f"Bearer {session.key}", "Accept": "text/event-stream"}

    async with http.stream("GET", running.url, headers=headers | session.era_headers) as stream:
        assert stream.status_code == 200
        running.process.terminate()
        # A stream that is cut raises; one that is ended does not.
        async for _ in stream.aiter_lines():
            pass

    assert await anyio.to_thread.run_sync(running.process.wait) == 0


async def test_a_call_that_outlasts_the_grace_is_told_so_and_nothing_is_a_traceback(
    tmp_path: Path, serve: Serve, http: httpx2.AsyncClient
) -> None:
    endless = {"name": "endless", "x-fixture": {"silent": True}}
    running, caller = await worker_of(endless, tmp_path, serve, http)
    replies: list[httpx2.Response] = []

    async def call() -> None:
        replies.append(await caller.send("tools/call", {"name": "tools__endless"}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await eventually(lambda: executed(tmp_path / "ran"))
        running.process.send_signal(signal.SIGTERM)
    status = await anyio.to_thread.run_sync(running.process.wait)

    assert status == 0
    assert replies[0].status_code == 503
    assert "is stopping" in replies[0].json()["error"]["message"]
    assert "Traceback" not in running.log.read_text()
    (row,) = running.audit()
    assert (row["outcome"], row["error"]) == (
        "unknown",
        "the gateway was stopped before the answer",
    )


@pytest.mark.parametrize("in_session", [False, True], ids=["modern", "handshake"])
async def test_a_stream_that_outlasts_the_grace_ends_with_an_answer_that_says_so(
    tmp_path: Path, serve: Serve, http: httpx2.AsyncClient, *, in_session: bool
) -> None:
    endless = {"name": "endless", "x-fixture": {"silent": True, "progress": ['"progress":1']}}
    running, caller = await worker_of(endless, tmp_path, serve, http)
    if in_session:
        caller = await caller.begin()
    replies: list[httpx2.Response] = []

    async def call() -> None:
        asked = {"name": "tools__endless"}
        replies.append(await caller.send("tools/call", asked, 7, meta={"progressToken": "t"}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await eventually(lambda: executed(tmp_path / "ran"))
        running.process.send_signal(signal.SIGTERM)
    status = await anyio.to_thread.run_sync(running.process.wait)

    lines = replies[0].text.splitlines()
    progress, answer = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert progress["method"] == "notifications/progress"
    assert (answer["id"], answer["error"]["code"]) == (7, -32603)
    assert answer["error"]["data"] == {"remit/outcome": "unknown"}
    assert "is stopping" in answer["error"]["message"]
    assert status == 0
    assert "Traceback" not in running.log.read_text()


def test_a_gateway_that_was_started_with_interrupts_ignored_ends_at_a_termination(
    serve: Serve,
) -> None:
    # as a shell without job control starts `remit serve &`
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        running = serve({"version": "1.0"})
    finally:
        signal.signal(signal.SIGINT, before)

    assert running.stop() == 0


def test_a_command_that_is_ended_while_it_makes_its_classes_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(ENDED_IN_A_CLASS)
    (tmp_path / "remit.yaml").write_text("roles: {worker: {allow: ['sleeper/*']}}\n")

    ended = subprocess.run(
        [sys.executable, "-m", "remit", "check"],
        cwd=tmp_path,
        env=environment() | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (130, b"")


async def test_a_command_that_is_ended_while_it_waits_leaves_no_server_running(
    tmp_path: Path,
) -> None:
    nap = f"2000.{os.getpid()}"
    (tmp_path / "remit.yaml").write_text(
        f"mcp_servers: {{sleeper: {{command: sleep, args: ['{nap}']}}}}\n"
        "roles: {worker: {allow: ['sleeper/*']}}\n"
    )
    command = [sys.executable, "-m", "remit", "tools", "--as", "role:worker"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    await eventually(lambda: mentioning(nap))

    process.terminate()
    output, _ = process.communicate(timeout=20)

    assert b"Traceback" not in output
    assert process.returncode != 0
    assert mentioning(nap) == set()

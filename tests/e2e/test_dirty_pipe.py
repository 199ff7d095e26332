"""T5: a server whose pipe holds more than the protocol, behind a gateway that runs.

`DIRT` is what stands in turn before each of its messages: a banner, a blank line, `42`, `null`,
`[]`, a byte that is no UTF-8, an object that is no message, an answer to nothing; after them one
message ends in CR LF. It writes 256 KiB without a line feed on standard error before it answers
`initialize`, and again in the tool `spam`.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.processes import resident

from remit.testing.gateway import Caller, Running, environment, fixture_entry
from remit.testing.pipe import DIRT
from remit.testing.upstream import executed
from remit.upstreams.transcript import TAIL

FLOOD = 256 * 1024
"""Bytes without a line feed on standard error."""

WITHIN = 2.0
"""Seconds in which the handshake, a list and a call have to be done."""

ROUNDS = 2 * (len(DIRT) + 1)
"""Calls after which every kind of dirt stood before an answer, and twice."""

TOOLS: Sequence[str | dict[str, Any]] = ["work", {"name": "spam", "x-fixture": {"stderr": FLOOD}}]

pytestmark = pytest.mark.timeout(120)


def document(folder: Path, era: str, **settings: Any) -> dict[str, Any]:
    # The server has as long for its start, its handshake and its list as T5 gives to two of them.
    entry = fixture_entry(
        TOOLS, folder / "ran", options=("--dirty", "--era", era), start_timeout=4, **settings
    )
    return {"mcp_servers": {"files": entry}, "roles": {"worker": {"allow": ["files/*"]}}}


@pytest.fixture(params=["legacy", "modern"])
def running(request: pytest.FixtureRequest, tmp_path: Path, serve: Serve) -> Running:
    """Give a gateway whose callers share the server's one process."""
    return serve(document(tmp_path, request.param, session="shared")).settle()


async def test_t5_list_and_calls_take_less_than_two_seconds_each(
    running: Running, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    caller = Caller(http, running.url, running.key("worker"))
    with anyio.fail_after(WITHIN):
        session = await caller.begin()
    with anyio.fail_after(WITHIN):
        names = {tool["name"] for tool in await session.tools()}
    for number in range(ROUNDS):
        with anyio.fail_after(WITHIN):
            answer = await session.call("files__work", {"n": number})
        assert answer["result"]["content"][0]["text"] == f'work {{"n": {number}}}'
    with anyio.fail_after(WITHIN):
        spammed = await session.call("files__spam")

    assert names == {"files__work", "files__spam"}
    assert "isError" not in spammed["result"]
    assert len(executed(tmp_path / "ran")) == ROUNDS + 1
    assert {row["outcome"] for row in running.audit()} == {"ok"}


async def test_t5_an_administrator_sees_the_tail_and_the_noise_of_that_server(
    running: Running, http: httpx2.AsyncClient
) -> None:
    session = await Caller(http, running.url, running.key("worker")).begin()
    await session.call("files__spam")
    for _ in range(len(DIRT)):
        await session.call("files__work")
    by = {"Authorization": f"Bearer {running.admin_key}"}

    reply = await http.get(f"{running.base}/api/v1/servers/files", headers=by)
    told = reply.json()

    assert told["stderr_tail"].endswith("e" * TAIL)
    assert len(told["stderr_tail"]) == TAIL
    assert "lines that are no protocol messages were ignored; last:" in told["notes"][0]
    assert running.servers()["files"]["state"] == "ready"


async def test_t5_memory_does_not_grow_by_the_noise(
    running: Running, http: httpx2.AsyncClient
) -> None:
    session = await Caller(http, running.url, running.key("worker")).begin()
    for _ in range(20):
        await session.call("files__spam")
    before = resident(running.process.pid)

    for _ in range(80):  # 20 MiB of it
        await session.call("files__spam")

    assert resident(running.process.pid) - before < 80 * FLOOD / 4


async def test_t5_a_caller_s_own_process_is_met_over_a_dirty_pipe_too(
    tmp_path: Path, serve: Serve, http: httpx2.AsyncClient
) -> None:
    running = serve(document(tmp_path, "legacy", session="principal")).settle()
    session = await Caller(http, running.url, running.key("worker")).begin()

    with anyio.fail_after(2 * WITHIN):  # its start and its handshake, then the call
        answer = await session.call("files__work")

    assert "isError" not in answer["result"]


def test_t5_standard_output_of_a_gateway_on_stdio_holds_only_messages(tmp_path: Path) -> None:
    (tmp_path / "remit.yaml").write_text(json.dumps(document(tmp_path, "legacy")))
    info = {"name": "test", "version": "1"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    with subprocess.Popen(
        [sys.executable, "-m", "remit", "stdio", "--as", "role:worker"],
        cwd=tmp_path,
        env=environment({"REMIT_LOG_LEVEL": "DEBUG"}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        terminal = Terminal(process)
        terminal.ask("initialize", opening)
        terminal.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        while not terminal.ask("tools/list", {})["tools"]:
            """The server behind may still be starting."""
        for tool in ("files__work", "files__spam", "files__hidden", "files__work"):
            terminal.ask("tools/call", {"name": tool})
        terminal.say_raw("no message\n")
        rest, log = process.communicate(timeout=30)

    lines = [*terminal.heard, *rest.splitlines(keepends=True)]
    messages = [json.loads(line) for line in lines]
    assert process.returncode == 0
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    assert all(type(one) is dict and one["jsonrpc"] == "2.0" for one in messages)
    assert len([one for one in messages if "id" in one]) == terminal.asked + 1
    assert [call.name for call in executed(tmp_path / "ran")] == ["work", "spam", "work"]
    assert "server ready" in log  # which is on, and elsewhere
    assert "Traceback" not in log


class Terminal:
    """One client over the pipes of a process, with one request at a time.

    Attributes:
        heard: Every line that came.
        asked: How many requests were sent.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self.heard: list[str] = []
        self.asked = 0

    def say(self, message: dict[str, Any]) -> None:
        self.say_raw(json.dumps(message) + "\n")

    def say_raw(self, text: str) -> None:
        self._stdin.write(text)
        self._stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request; return its result, or nothing for an error."""
        self.asked += 1
        self.say({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
        while True:
            self.heard.append(self._stdout.readline())
            answer = json.loads(self.heard[-1])
            if answer.get("id") == self.asked:
                return answer.get("result", {})

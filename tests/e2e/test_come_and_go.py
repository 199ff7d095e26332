"""Fifty clients come and go, and nothing stays behind: no process, no file, no memory (T24).

What is left by SIGKILL of the gateway: nothing of the group that a server was started in, however
deaf to SIGTERM. A process that left its group (`setsid`) is out of reach.

`HYPOTHESIS_PROFILE=full` adds the memory of a second round, and a minute of idleness.
"""

import json
import os
import shlex
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.deaf import deaf_entry
from tests.e2e.processes import descendants, mentioning, resident

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.fleets import eventually
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import executed

IS_FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
CYCLES = 50
AT_ONCE = 200
SLACK = 2
"""Processes or files by which two counts may differ."""

SLOW = {"name": "slow", "x-fixture": {"delay": 0.3}}
GRACE = 5
REST = 60 if IS_FULL else 10
"""Seconds over which an idle gateway's use of the processor is measured."""

_REQUEST = (
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
    "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
    "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n"
    "Content-Length: {length}\r\n\r\n{body}"
)


@pytest.fixture
def tag() -> str:
    """Give a text by which the grandchildren are found."""
    return f"deaf-{os.getpid()}"


@pytest.fixture
def running(tmp_path: Path, serve: Serve, tag: str) -> Running:
    """Give a gateway whose server is a shell, with a child and a grandchild deaf to SIGTERM."""
    deaf = tmp_path / f"{tag}.sh"
    deaf.write_text("trap '' TERM\nwhile :; do sleep 1; done\n")
    entry = fixture_entry(["work", SLOW], tmp_path / "ran")
    inner = shlex.join([entry["command"], *entry["args"]])
    script = f"(sh {deaf} & wait) & {inner}"
    wrapped = {"command": "sh", "args": ["-c", script], "timeout": 10}
    return serve({"mcp_servers": {"tools": wrapped}, "roles": {"worker": {"allow": ["tools/*"]}}})


def files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def zombies(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    states = [Path(f"/proc/{child}/stat").read_text() for child in children]
    return sum(stat.rpartition(")")[2].split()[0] == "Z" for stat in states)


def ticks(pid: int) -> int:
    """Return the processor time used, in hundredths of a second."""
    found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(found[11]) + int(found[12])


def call_and_vanish(
    running: Running, session: Caller, *, count: int = 1
) -> Sequence[socket.socket]:
    """Send calls whose answers nobody waits for, on a connection each; return the connections."""
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "tools__slow"}}
    body = json.dumps(message)
    request = _REQUEST.format(key=session.key, session=session.session, length=len(body), body=body)
    opened: list[socket.socket] = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", running.port))
        connection.sendall(request.encode())
        opened.append(connection)
    return opened


def reset(connections: Sequence[socket.socket]) -> None:
    """Break connections as a client that is killed does, without a word."""
    for connection in connections:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()


async def cycle(running: Running, ran: Path, key: str, number: int) -> None:
    """Connect, call and vanish: by turns in the middle of a call, without DELETE, and in order."""
    async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
        session = await Caller(http, running.url, key).begin()
        assert "result" in await session.call("tools__work")
        if number % 2:
            before = len(executed(ran))
            opened = call_and_vanish(running, session)
            await eventually(lambda: len(executed(ran)) > before)
            reset(opened)
        elif number % 4:
            headers = {"Authorization": f"Bearer {key}", **session.era_headers}
            await http.delete(running.url, headers=headers)


async def round_of(running: Running, ran: Path, key: str) -> None:
    for number in range(CYCLES):
        await cycle(running, ran, key, number)


async def calm(running: Running, processes: int, opened: int) -> None:
    """Wait until as much is left as before."""
    pid = running.process.pid
    await eventually(lambda: abs(len(descendants(pid)) - processes) <= SLACK)
    await eventually(lambda: abs(files(pid) - opened) <= SLACK)


async def test_t24_fifty_clients_come_and_go_and_two_hundred_at_once(
    running: Running, tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    pid, ran, key = running.process.pid, tmp_path / "ran", running.key("worker")
    session = await Caller(http, running.url, key).begin()
    await session.until_listed({"tools__work"})
    assert "result" in await session.call("tools__work")
    await cycle(running, ran, key, 1)
    processes, opened = len(descendants(pid)), files(pid)

    await round_of(running, ran, key)
    await calm(running, processes, opened)
    many = call_and_vanish(running, session, count=AT_ONCE)
    await eventually(lambda: files(pid) >= opened + AT_ONCE - SLACK)
    reset(many)

    await calm(running, processes, opened)
    assert zombies(pid) == 0
    assert "result" in await session.call("tools__work")
    assert {row["outcome"] for row in running.audit()} <= {"ok", "unknown"}


@pytest.mark.timeout(400)
async def test_t24_memory_and_processor_are_at_rest_after_a_second_round(
    running: Running, tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    pid, ran, key = running.process.pid, tmp_path / "ran", running.key("worker")
    session = await Caller(http, running.url, key).begin()
    await session.until_listed({"tools__work"})
    await round_of(running, ran, key)
    warm = resident(pid)

    await round_of(running, ran, key)
    after, used = resident(pid), ticks(pid)
    await anyio.sleep(REST)

    assert after <= warm * 1.1
    assert ticks(pid) - used < 0.03 * REST * os.sysconf("SC_CLK_TCK")


async def test_t24_a_gateway_that_is_told_to_stop_leaves_no_child_within_its_grace(
    running: Running, http: httpx2.AsyncClient, tag: str
) -> None:
    caller = Caller(http, running.url, running.key("worker"))
    await caller.until_listed({"tools__work"})
    await caller.call("tools__work")
    family = descendants(running.process.pid)
    assert len(mentioning(tag)) >= 2  # one of the list's connection, one of the caller's

    running.process.terminate()
    with anyio.fail_after(GRACE + 10):
        assert await anyio.to_thread.run_sync(running.process.wait) == 0

    assert [one for one in family if one.is_alive] == []
    assert mentioning(tag) == set()


async def test_t24_a_gateway_that_is_killed_leaves_no_child_either(
    running: Running, http: httpx2.AsyncClient, tag: str
) -> None:
    caller = Caller(http, running.url, running.key("worker"))
    await caller.until_listed({"tools__work"})
    await caller.call("tools__work")
    family = descendants(running.process.pid)
    assert len(mentioning(tag)) >= 2

    running.process.send_signal(signal.SIGKILL)
    running.process.wait()

    await eventually(lambda: not any(one.is_alive for one in family))
    assert mentioning(tag) == set()


async def test_t24_one_grace_is_enough_for_calls_and_deaf_servers_together(
    tmp_path: Path, serve: Serve, http: httpx2.AsyncClient
) -> None:
    # The call outlasts its five seconds, and then the server is deaf to SIGTERM.
    entry = deaf_entry(tmp_path)
    running = serve({"mcp_servers": {"s": entry}, "roles": {"worker": {"allow": ["s/*"]}}})
    caller = Caller(http, running.url, running.key("worker"))
    await caller.until_listed({"s__endless"})

    began = anyio.current_time()

    async def call() -> None:
        assert (await caller.send("tools/call", {"name": "s__endless"})).status_code == 503

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await eventually(lambda: executed(tmp_path / "ran"))
        began = anyio.current_time()
        running.process.terminate()
    await anyio.to_thread.run_sync(running.process.wait)

    assert anyio.current_time() - began < 2 * GRACE - 1
    assert mentioning(entry["args"][0]) == set()

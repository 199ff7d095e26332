"""kill -9 in the middle of 200 calls loses no answered one (R29; Must show 6)."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve
from tests.e2e.processes import descendants, servers_of

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.fleets import eventually
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import executed

CALLS = 200
CLIENTS = 16
ANSWERS_BEFORE_THE_END = 100


class Traffic:
    """Clients that call until the gateway is gone; each call carries a number of its own.

    Attributes:
        sent: Numbers of the calls that were begun.
        answered: Numbers of the calls whose answer arrived.
    """

    def __init__(self, running: Running) -> None:
        self._running = running
        self._numbers: Iterator[int] = iter(range(CALLS))
        self.sent: set[int] = set()
        self.answered: set[int] = set()

    async def until_killed(self) -> None:
        """Kill the gateway when half of the calls are answered, and the others under way."""
        key = self._running.key("worker")
        async with httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=None), verify=TRUSTS_NOBODY
        ) as http:
            caller = Caller(http, self._running.url, key)
            await caller.until_listed({"tools__work"})
            async with anyio.create_task_group() as tasks:
                for _ in range(CLIENTS):
                    tasks.start_soon(self._call, caller)

    async def _call(self, caller: Caller) -> None:
        for number in self._numbers:
            self.sent.add(number)
            try:
                reply = await caller.call("tools__work", {"number": number})
            except httpx2.TransportError:
                return
            assert "result" in reply
            self.answered.add(number)
            if len(self.answered) == ANSWERS_BEFORE_THE_END:
                self._running.process.kill()


def recorded(rows: list[dict[str, Any]]) -> dict[int, str]:
    """Return number to outcome; each call has one row."""
    numbers = {json.loads(row["arguments"])["number"]: row["outcome"] for row in rows}
    assert len(numbers) == len(rows)
    return numbers


@pytest.mark.parametrize("restarted", [True, False], ids=["after-a-restart", "at-once"])
async def test_every_answered_call_is_found(tmp_path: Path, serve: Serve, restarted: bool) -> None:
    work = {"name": "work", "x-fixture": {"delay": 0.01}}
    running = serve(
        {
            "version": "1.0",
            "mcp_servers": {"tools": fixture_entry([work], tmp_path / "ran")},
            "roles": {"worker": {"allow": ["tools/*"]}},
        }
    )
    running.key("worker")
    traffic = Traffic(running)
    await traffic.until_killed()
    assert running.process.wait() == -signal.SIGKILL

    reader = serve() if restarted else running
    rows = recorded(reader.audit("--principal", "key:worker-key"))

    assert ANSWERS_BEFORE_THE_END <= len(traffic.answered) < CALLS
    assert len(traffic.sent - traffic.answered) == CLIENTS
    assert {number: rows.get(number) for number in traffic.answered} == dict.fromkeys(
        traffic.answered, "ok"
    )
    # What ran is on record too, answered or not: "invoked" comes before the call.
    ran = {call.arguments["number"] for call in executed(tmp_path / "ran")}
    assert ran <= rows.keys()
    assert rows.keys() <= traffic.sent


async def test_a_killed_gateway_leaves_no_child_running(
    tmp_path: Path, serve: Serve, http: httpx2.AsyncClient
) -> None:
    running = serve(
        {
            "version": "1.0",
            "mcp_servers": {
                name: fixture_entry(["work"], tmp_path / f"{name}.ran") for name in ("a", "b")
            },
            "roles": {"worker": {"allow": ["a/*", "b/*"]}},
        }
    )
    caller = Caller(http, running.url, running.key("worker"))
    for name in sorted(await caller.until_listed({"a__work", "b__work"})):
        await caller.call(name)
    children = descendants(running.process.pid)
    # Those that list the tools, and those of the caller (R27).
    assert len(servers_of(running.process.pid)) == 4

    running.process.kill()
    running.process.wait()

    await eventually(lambda: not any(child.is_alive for child in children))

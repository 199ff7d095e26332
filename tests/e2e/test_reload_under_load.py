"""A reload of workers in the middle of traffic drops no call, and changes what is allowed (R17)."""

import json
import signal
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import Caller, Running, fixture_entry, start_gateway
from remit.testing.upstream import executed

WORKERS = 2
CALLERS = 6
RELOADS = 6


def _document(folder: Path, turn: int) -> dict[str, Any]:
    """Every other turn there is one server more, and `write` is allowed."""
    more = turn % 2 == 1
    tools = [{"name": "read", "x-fixture": {"delay": 0.02}}, "write"]
    servers = {"files": fixture_entry(tools, folder / "count", session="shared")}
    if more:
        servers["more"] = fixture_entry(["x"], folder / "more", session="shared")
    granted = ["read", "write"] if more else ["read"]
    return {
        "version": "1.0",
        "mcp_servers": servers,
        "roles": {"clerk": {"tools": {"files": granted}}},
        "limits": [{"role": "clerk", "calls": 1_000_000 + turn, "per": "hour"}],
    }


@dataclass
class Traffic:
    """What was sent, and what came of it."""

    is_over: bool = False
    answered: int = 0
    faults: list[str] = field(default_factory=list[str])

    async def calls(self, running: Running, key: str) -> None:
        """Call until it is over, on a new connection now and then, so that every worker is met."""
        while not self.is_over:
            async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
                caller = Caller(http, running.url, key)
                for _ in range(10):
                    try:
                        answer = await caller.call("files__read")
                    except httpx2.TransportError as error:
                        self.faults.append(repr(error))
                        return
                    self.answered += 1
                    if "result" not in answer:
                        self.faults.append(json.dumps(answer))
                        return


@pytest.fixture
def running(tmp_path: Path) -> Generator[Running]:
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps(_document(tmp_path, 0)))
    running = start_gateway(tmp_path, config, None, "--workers", str(WORKERS))
    try:
        yield running.settle()
    finally:
        if running.process.poll() is None:
            running.stop()


@pytest.mark.timeout(120)
async def test_reloads_in_the_middle_of_traffic_drop_no_call(running: Running) -> None:
    key = await anyio.to_thread.run_sync(running.key, "clerk")
    traffic = Traffic()
    async with anyio.create_task_group() as tasks:
        for _ in range(CALLERS):
            tasks.start_soon(traffic.calls, running, key)
        with anyio.fail_after(90):
            for turn in range(1, RELOADS + 1):
                before = traffic.answered
                running.config.write_text(json.dumps(_document(running.folder, turn)))
                running.process.send_signal(signal.SIGHUP)
                await _in_force(running, key, may_write=turn % 2 == 1)
                while traffic.answered < before + 3 * CALLERS and not traffic.faults:  # noqa: ASYNC110
                    await anyio.sleep(0.02)
        traffic.is_over = True

    assert traffic.faults == []
    ran = [one.name for one in executed(running.folder / "count")]
    assert ran.count("read") == traffic.answered
    assert "Traceback" not in running.log.read_text()
    numbers = json.loads(running.remit("revisions", "--json"))
    assert len(numbers) == RELOADS + 1
    assert running.stop() == 0
    assert "OK: " in running.remit("audit", "verify")


async def _in_force(running: Running, key: str, *, may_write: bool) -> None:
    """Wait until connection after connection, whichever worker gets it, meets the new rules."""
    agreed = 0
    while agreed < 8:
        async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
            allowed = "result" in await Caller(http, running.url, key).call("files__write")
        agreed = agreed + 1 if allowed is may_write else 0

"""T8: a tool that takes ten seconds holds its own server, and nothing else.

Server `a` handles its requests strictly one by one, server `b` as they come.
"""

import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.testing.fleets import eventually
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import executed, received

SLOW = 10.0
"""Seconds that the slow tool takes."""

OWN_LIMIT = 2.0
"""Seconds that a call of the fast tool may take, counted from when it was accepted."""

ROUNDS = 3
"""How often each is tried meanwhile; the best counts, since others use the machine, too."""

TOOLS: Sequence[str | dict[str, Any]] = ["fast", {"name": "slow", "x-fixture": {"delay": SLOW}}]

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(params=["legacy", "modern"])
def running(request: pytest.FixtureRequest, tmp_path: Path, serve: Serve) -> Running:
    era = ("--era", request.param)
    serial = fixture_entry(TOOLS, tmp_path / "a.ran", options=("--serial", *era), session="shared")
    parallel = fixture_entry(TOOLS, tmp_path / "b.ran", options=era, session="shared")
    servers = {"a": {**serial, "tools": {"fast": {"timeout": OWN_LIMIT}}}, "b": parallel}
    roles = {"worker": {"allow": ["a/*", "b/*"]}}
    return serve({"mcp_servers": servers, "roles": roles}).settle()


async def took(work: Any) -> tuple[float, Any]:
    """Wait for *work*; return the seconds that it took, and its result."""
    began = anyio.current_time()
    result = await work
    return anyio.current_time() - began, result


async def test_t8_a_slow_tool_does_not_hold_the_door(
    running: Running, http: httpx2.AsyncClient, tmp_path: Path
) -> None:
    session = await Caller(http, running.url, running.key("worker")).begin()
    for server in ("a", "b"):  # warm
        assert "isError" not in (await session.call(f"{server}__fast"))["result"]
    by = {"Authorization": f"Bearer {running.admin_key}"}
    took_slow: dict[str, tuple[float, Any]] = {}
    waited: list[tuple[float, Any]] = []
    states: set[tuple[int, str]] = set()
    meanwhile: dict[str, tuple[float, Any]] = {}

    async def slow(server: str) -> None:
        took_slow[server] = await took(session.call(f"{server}__slow"))

    async def fast_behind() -> None:
        waited.append(await took(session.call("a__fast")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(slow, "a")
        await eventually(lambda: len(executed(tmp_path / "a.ran")) == 2)
        tasks.start_soon(fast_behind)
        tasks.start_soon(slow, "b")
        await eventually(lambda: len(executed(tmp_path / "b.ran")) == 2)
        for _ in range(ROUNDS):
            for what, work in {
                "list": session.tools,
                "status": lambda: http.get(f"{running.base}/api/v1/servers", headers=by),
                "fast": lambda: session.call("b__fast"),
                "handshake": Caller(http, running.url, session.key).begin,
            }.items():
                now = await took(work())
                meanwhile[what] = min(meanwhile.get(what, now), now, key=operator.itemgetter(0))
        # Nothing of this waited for either of the slow ones, which are still at it.
        assert took_slow == {}
        await eventually(lambda: waited)
        assert took_slow == {}
        while len(took_slow) < 2:
            health = await http.get(f"{running.base}/readyz")
            states |= {(health.status_code, one["state"]) for one in running.servers().values()}
            await anyio.sleep(0.2)
    again = await session.call("a__fast")

    assert max(seconds for seconds, _ in meanwhile.values()) < 1
    assert meanwhile["fast"][0] < 0.5
    assert "isError" not in meanwhile["fast"][1]["result"]
    assert len(meanwhile["list"][1]) == 4
    told = {one["name"]: one["state"] for one in meanwhile["status"][1].json()["items"]}
    assert told == {"a": "ready", "b": "ready"}
    # No look at its health took a busy server for dead: it was met once, and is the same process.
    assert states == {(200, "ready")}
    assert "isError" not in again["result"]
    assert len({call.pid for call in executed(tmp_path / "a.ran")}) == 1
    assert len(received(tmp_path / "a.ran", "tools/list")) == 1

    # It waited for its turn as long as its own limit says, from when it was accepted.
    ((seconds, refused),) = waited
    assert OWN_LIMIT <= seconds < OWN_LIMIT + 1
    assert refused["result"]["isError"]
    assert refused["result"]["_meta"]["remit/code"] == "UPSTREAM_TIMEOUT"
    assert "upstream busy" in refused["result"]["content"][0]["text"]
    for seconds, answered in took_slow.values():
        assert SLOW <= seconds < SLOW + 2
        assert "isError" not in answered["result"]

"""One server works, three do not: nobody waits for them, and they are left out alone (T12)."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ToolListChangedNotification
from tests.e2e.conftest import Serve
from tests.e2e.processes import mentioning

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.fleets import eventually
from remit.testing.gateway import Caller, Running, fixture_entry, free_port
from remit.testing.upstream import FixtureOptions, WebFixture

SLEEPER_LIMIT = 6
"""Seconds that the server which never answers has to start."""

START_BUDGET = 10
"""Seconds within which a server that works must be listed."""


@pytest.fixture
def nap() -> str:
    """Give an argument of `sleep` by which its process is found."""
    return f"1000.{os.getpid()}"


@pytest.fixture
def late(tmp_path: Path) -> WebFixture:
    """Give a server on HTTP that is not listening yet."""
    options = FixtureOptions(tools=["arrive"], count_file=str(tmp_path / "late.ran"))
    return WebFixture(options, port=free_port())


@pytest.fixture
def running(tmp_path: Path, serve: Serve, nap: str, late: WebFixture) -> Running:
    return serve(
        {
            "version": "1.0",
            "mcp_servers": {
                "missing": {"command": "no-such-program-anywhere"},
                "sleeper": {"command": "sleep", "args": [nap], "start_timeout": SLEEPER_LIMIT},
                "late": {"url": late.url},
                "good1": fixture_entry(["work"], tmp_path / "good1.ran"),
            },
            "roles": {"worker": {"allow": [f"{name}/*" for name in ("good1", "sleeper", "late")]}},
        }
    )


@asynccontextmanager
async def library_client(running: Running, mode: str, heard: anyio.Event) -> AsyncGenerator[Client]:
    """Connect the protocol library's client; *heard* is set when it is told of a change."""

    async def handler(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()
        await anyio.lowlevel.checkpoint()

    headers = {"Authorization": f"Bearer {running.key('worker')}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30, verify=TRUSTS_NOBODY) as http,
        Client(
            streamable_http_client(running.url, http_client=http),
            mode=mode,
            cache=None,
            message_handler=handler,
        ) as client,
    ):
        yield client


async def test_t12_neither_handshake_nor_list_waits_for_a_server_that_never_answers(
    running: Running, http: httpx2.AsyncClient, nap: str
) -> None:
    caller = Caller(http, running.url, running.key("worker"))

    with anyio.fail_after(5):
        session = await caller.begin()
    with anyio.fail_after(5):
        await session.tools()
    names = await session.until_listed({"good1__work"}, within=START_BUDGET)
    await eventually(lambda: mentioning(nap))
    sleeper = running.servers()["sleeper"]

    assert names == {"good1__work"}
    # It was listed although the sleeper's limit has not come.
    assert (sleeper["state"], sleeper["reason"]) == ("starting", "")


async def test_t12_an_administrator_is_told_three_different_reasons(
    running: Running, http: httpx2.AsyncClient
) -> None:
    reader = Caller(http, running.url, running.key("worker"))
    await reader.until_listed({"good1__work"}, within=START_BUDGET)
    running.settle()
    servers = running.servers()
    instructions = (await reader.send("server/discover", {})).json()["result"]["instructions"]
    public = httpx2.get(f"{running.base}/readyz", verify=TRUSTS_NOBODY)

    reasons = {name: servers[name]["reason"] for name in ("missing", "sleeper", "late")}
    assert servers["good1"]["state"] == "ready"
    assert {servers[name]["state"] for name in reasons} == {"backing_off"}
    assert "'no-such-program-anywhere' was not found" in reasons["missing"]
    assert f"within {SLEEPER_LIMIT} seconds" in reasons["sleeper"]
    assert "refused" in reasons["late"].lower()
    # The caller hears which of its servers are away; the public nothing at all.
    assert "Not connected at the moment: sleeper, late." in instructions
    assert public.json() == {"status": "ready"}


async def test_t12_no_sleeper_survives_the_gateway(running: Running, nap: str) -> None:
    await eventually(lambda: mentioning(nap))
    sleepers = mentioning(nap)

    assert running.stop() == 0

    assert not any(sleeper.is_alive for sleeper in sleepers)
    assert mentioning(nap) == set()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_t12_a_server_that_comes_up_later_is_announced_to_connected_clients(
    running: Running, http: httpx2.AsyncClient, late: WebFixture, mode: str
) -> None:
    heard = anyio.Event()
    caller = Caller(http, running.url, running.key("worker"))
    await caller.until_listed({"good1__work"}, within=START_BUDGET)
    async with library_client(running, mode, heard) as client:
        before = await names(client)
        if mode == "auto":
            await listen_until_changed(client, late)
        else:
            late.start()
            with anyio.fail_after(20):
                await heard.wait()
        after = await names(client)
        result = await client.call_tool("late__arrive", {})
        protocol = client.protocol_version
    late.stop()

    assert protocol == ("2026-07-28" if mode == "auto" else "2025-11-25")
    assert after - before == {"late__arrive"}
    assert not result.is_error


async def listen_until_changed(client: Client, late: WebFixture) -> None:
    with anyio.fail_after(20):
        async with client.listen(tools_list_changed=True) as subscription:
            late.start()
            await anext(aiter(subscription))


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}

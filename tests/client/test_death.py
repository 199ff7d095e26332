"""The gateway dies under a client's hands, and comes back."""

import json
import signal
import subprocess
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests.client.either import Either, open_either

from remit.errors import GatewayUnreachable
from remit.testing.gateway import environment, fixture_entry, start_gateway
from remit.testing.upstream import received

TOOLS = ["read", {"name": "silent", "x-fixture": {"silent": True}}]


@pytest.mark.parametrize("kind", ["asynchronous", "synchronous"])
async def test_a_client_outlives_its_gateway(kind: str, tmp_path: Path) -> None:
    config = tmp_path / "remit.yaml"
    entry = fixture_entry(TOOLS, tmp_path / "ran", session="shared")
    roles = {"reader": {"allow": ["tools/*"]}}
    config.write_text(
        json.dumps({"version": "1.0", "mcp_servers": {"tools": entry}, "roles": roles})
    )
    running = await anyio.to_thread.run_sync(lambda: start_gateway(tmp_path, config).settle())
    key = await anyio.to_thread.run_sync(running.key, "reader")
    async with open_either(kind, running.base, key=key) as client:
        assert len(await client.list_tools()) == 2
        told: list[GatewayUnreachable] = []

        async def call() -> None:
            with pytest.raises(GatewayUnreachable) as lost:
                await client.call_tool("tools__silent")
            told.append(lost.value)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                while not received(tmp_path / "ran", "tools/call"):  # noqa: ASYNC110 - a file
                    await anyio.sleep(0.02)
                await anyio.to_thread.run_sync(running.stop, signal.SIGKILL)
        assert [lost.sent for lost in told] == [True]
        with pytest.raises(GatewayUnreachable) as away:
            await client.call_tool("tools__read")
        assert not away.value.sent

        with running.log.open("ab") as sink:
            running.process = subprocess.Popen(
                running.process.args, cwd=tmp_path, env=environment(), stdout=sink, stderr=sink
            )
        try:
            with anyio.fail_after(90):
                while not await is_back(client):  # noqa: ASYNC110 - a process
                    await anyio.sleep(0.05)
            assert not (await client.call_tool("tools__read")).is_error
        finally:
            await anyio.to_thread.run_sync(running.stop)


async def is_back(client: Either) -> bool:
    try:
        return len(await client.list_tools()) == 2
    except GatewayUnreachable:
        return False

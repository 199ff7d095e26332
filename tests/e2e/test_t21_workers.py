"""T21 over several workers: what one of them took is told on the stream that another one has."""

import json
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import httpx2

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.behaviour import FixtureOptions
from remit.testing.gateway import Caller, Running, start_gateway
from remit.testing.upstream import open_web_fixture

PAGE = "wiki://page/1"
SESSIONS = 6
"""Each subscribes on one connection and listens on another, which any of the workers may get."""


async def test_t21_an_older_session_hears_of_updates_whichever_worker_took_what(
    tmp_path: Path,
) -> None:
    options = FixtureOptions(
        tools=[{"name": "edit", "x-fixture": {"updates": [PAGE]}}],
        count_file=str(tmp_path / "ran"),
        era="legacy",
        contents={"resources": [{"uri": PAGE, "name": "a page"}]},
    )
    with open_web_fixture(options) as fixture:
        config = tmp_path / "remit.yaml"
        document = {
            "mcp_servers": {"wiki": {"url": fixture.url}},
            "roles": {"reader": {"allow": ["wiki/*"]}},
        }
        config.write_text(json.dumps(document))
        running = start_gateway(tmp_path, config, None, "--workers", "2")
        try:
            with anyio.fail_after(90):
                await _all_hear(running)
        finally:
            running.stop()
    assert "Traceback" not in running.log.read_text()


async def _all_hear(running: Running) -> None:
    key = await anyio.to_thread.run_sync(running.key, "reader")
    heard: set[int] = set()
    async with AsyncExitStack() as open_clients, anyio.create_task_group() as tasks:
        for number in range(SESSIONS):
            async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
                caller = await _ready(Caller(http, running.url, key))
                session = await caller.begin()
                answer = await session.send("resources/subscribe", {"uri": PAGE})
                assert answer.json()["result"] == {}
            listener = await open_clients.enter_async_context(
                httpx2.AsyncClient(timeout=None, verify=TRUSTS_NOBODY)
            )
            tasks.start_soon(_listen, listener, session, heard, number)
        async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
            while len(heard) < SESSIONS:
                await Caller(http, running.url, key).call("wiki__edit")
                await anyio.sleep(0.3)
        tasks.cancel_scope.cancel()


async def _ready(caller: Caller) -> Caller:
    await caller.until_listed({"wiki__edit"})
    return caller


async def _listen(http: httpx2.AsyncClient, session: Caller, heard: set[int], number: int) -> None:
    headers = {
        "Authorization": f"Bearer {session.key}",
        "Accept": "text/event-stream",
        **session.era_headers,
    }
    async with http.stream("GET", session.url, headers=headers) as stream:
        async for line in stream.aiter_lines():
            if "notifications/resources/updated" in line:
                heard.add(number)
                return

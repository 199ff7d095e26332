"""A server that restarts behind the gateway is met again by one handshake (T10).

What differs from a restart is told apart: refused credentials, and a server that is not there.
"""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.testing.gateway import Caller, Running
from remit.testing.upstream import (
    FixtureOptions,
    WebFixture,
    executed,
    open_web_fixture,
    received,
)

AT_ONCE = 10
AWAY = 3.0
"""Seconds for which the server's port refuses connections."""

LONGEST_PAUSE = 5.0
"""Seconds between two attempts at most."""


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    return tmp_path / "wiki.ran"


@pytest.fixture
def wiki(ran: Path) -> Generator[WebFixture]:
    """Give a server with sessions, of the older era."""
    with open_web_fixture(
        FixtureOptions(tools=["work"], count_file=str(ran), era="legacy")
    ) as fixture:
        yield fixture


@pytest.fixture
def running(serve: Serve, wiki: WebFixture) -> Running:
    servers = {"wiki": {"url": wiki.url, "bearer_token_env_var": "WIKI_TOKEN"}}
    roles = {"worker": {"allow": ["wiki/*"]}}
    return serve({"mcp_servers": servers, "roles": roles}, WIKI_TOKEN="t0ken-of-wiki")


async def session_of(running: Running, http: httpx2.AsyncClient) -> Caller:
    """Return a caller in a session with the gateway, which outlives all that follows."""
    session = await Caller(http, running.url, running.key("worker")).begin()
    await session.until_listed({"wiki__work"})
    return session


def failure_of(reply: dict[str, Any]) -> str:
    assert reply["result"]["isError"], reply
    return reply["result"]["content"][0]["text"]


@pytest.mark.parametrize("status", [404, 400])
async def test_t10_ten_calls_after_a_restart_open_one_session_and_run_once_each(
    running: Running, http: httpx2.AsyncClient, wiki: WebFixture, ran: Path, status: int
) -> None:
    session = await session_of(running, http)
    assert "result" in await session.call("wiki__work")
    opened = len(received(ran, "initialize"))
    wiki.unknown_session = status
    wiki.forget_sessions()
    replies: list[dict[str, Any]] = []

    async def call() -> None:
        replies.append(await session.call("wiki__work"))

    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(call)

    assert not [reply for reply in replies if reply["result"].get("isError")]
    assert len(received(ran, "initialize")) == opened + 1
    assert len(executed(ran)) == 1 + AT_ONCE
    assert {row["outcome"] for row in running.audit()} == {"ok"}


async def test_t10_refused_credentials_are_named_and_cause_no_handshake(
    running: Running, http: httpx2.AsyncClient, wiki: WebFixture, ran: Path
) -> None:
    session = await session_of(running, http)
    opened = len(received(ran, "initialize"))
    wiki.status = 401

    texts = [failure_of(await session.call("wiki__work")) for _ in range(2)]

    assert all("'wiki'" in text and "credentials" in text for text in texts)
    assert len(received(ran, "initialize")) == opened
    wiki.status = 0
    await session.until_listed({"wiki__work"})
    assert "isError" not in (await session.call("wiki__work"))["result"]
    assert len(executed(ran)) == 1
    assert "t0ken-of-wiki" not in running.log.read_text()


async def test_t10_a_server_that_is_not_there_is_named_and_found_again(
    running: Running, http: httpx2.AsyncClient, wiki: WebFixture, ran: Path
) -> None:
    session = await session_of(running, http)
    wiki.stop()

    text = failure_of(await session.call("wiki__work"))

    assert "'wiki'" in text
    assert executed(ran) == []
    wiki.forget_sessions()
    wiki.start()
    await session.until_listed({"wiki__work"})
    assert "isError" not in (await session.call("wiki__work"))["result"]
    assert len(executed(ran)) == 1


async def test_t10_a_server_that_answers_503_is_not_taken_for_one_that_restarted(
    running: Running, http: httpx2.AsyncClient, wiki: WebFixture, ran: Path
) -> None:
    session = await session_of(running, http)
    assert "result" in await session.call("wiki__work")
    opened, known = len(received(ran, "initialize")), wiki.sessions.copy()
    wiki.unknown_session = 503
    wiki.forget_sessions()

    text = failure_of(await session.call("wiki__work"))

    assert "'wiki'" in text
    assert "503" in text
    assert len(received(ran, "initialize")) == opened
    wiki.sessions |= known
    await session.until_listed({"wiki__work"})
    assert "isError" not in (await session.call("wiki__work"))["result"]
    assert len(executed(ran)) == 2


async def test_t10_refused_for_three_seconds_it_is_tried_a_few_times_and_found(
    running: Running, http: httpx2.AsyncClient, wiki: WebFixture, ran: Path
) -> None:
    session = await session_of(running, http)
    by = {"Authorization": f"Bearer {running.admin_key}"}
    wiki.stop()
    wiki.forget_sessions()
    texts: list[str] = []
    with anyio.move_on_after(AWAY):
        while True:
            answer = await session.call("wiki__work")
            # It is listed until one attempt to reconnect has failed, and then is as if not there.
            texts += [failure_of(answer)] if "result" in answer else []
            await anyio.sleep(0.05)
    told = (await http.get(f"{running.base}/api/v1/servers/wiki", headers=by)).json()

    wiki.start()
    await session.until_listed({"wiki__work"}, within=LONGEST_PAUSE + 5)
    # In the client's own session with the gateway, which survived all of it.
    replies = [await session.call("wiki__work") for _ in range(3)]

    assert texts
    assert all("'wiki'" in text for text in texts)
    assert told["state"] == "backing_off"
    assert "refused" in told["reason"]
    # Half a second, then twice as long each time, and none of that for each call.
    assert 1 < told["failures"] <= 6
    assert told["retry_in"] <= LONGEST_PAUSE
    assert not [reply for reply in replies if reply["result"].get("isError")]
    assert len(executed(ran)) == 3


async def test_a_call_that_the_server_took_before_it_went_is_not_made_again(
    running: Running, http: httpx2.AsyncClient, wiki: WebFixture, ran: Path
) -> None:
    """R23: its stream broke off after an event with an id, and cannot be resumed."""
    session = await session_of(running, http)
    wiki.leaves_at = "tools/call"

    reply = await session.call("wiki__work")

    assert failure_of(reply).endswith("connection refused; whether it took effect is unknown")
    assert reply["result"]["_meta"]["remit/outcome"] == "unknown"
    wiki.start()
    await session.until_listed({"wiki__work"})
    assert [row["outcome"] for row in running.audit()] == ["unknown"]
    assert len(executed(ran)) == 1

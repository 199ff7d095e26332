"""A change reaches every gateway on the store, and whatever is wrong changes nothing (R17, R18)."""

import json
import signal
import sqlite3
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.e2e.conftest import Serve

from remit.client.transport import TRUSTS_NOBODY
from remit.storage.database import default_url, open_database
from remit.storage.revisions import Revisions
from remit.testing.gateway import Caller, Running, fixture_entry
from remit.testing.upstream import received

REACH = 2.0
"""Seconds within which a change is in force everywhere (R17)."""

TOOLS = ["read", "write"]

RESTARTED = "server restarted on demand"


def _document(folder: Path, tools: list[str], *servers: str) -> dict[str, Any]:
    names = servers or ("files",)
    return {
        "version": "1.0",
        "mcp_servers": {
            name: fixture_entry(TOOLS, folder / name, session="shared") for name in names
        },
        "roles": {
            "clerk": {"tools": {"files": tools}},
            "other": {"tools": {"files": ["read"]}, "denials": "explain"},
        },
    }


async def _write(folder: Path, document: Mapping[str, Any]) -> int:
    """Write a revision as the API does, and return its number."""
    async with open_database(default_url(folder / ".remit")) as database:
        written = await Revisions(database).write(
            "default", document, author="user:ann", reason="a test", now=datetime.now(UTC)
        )
    return written.number


@asynccontextmanager
async def _caller(running: Running, role: str = "clerk") -> AsyncGenerator[Caller]:
    key = await anyio.to_thread.run_sync(running.key, role)
    async with httpx2.AsyncClient(verify=TRUSTS_NOBODY) as http:
        yield Caller(http, running.url, key)


async def _within(seconds: float, condition: Callable[[], Any]) -> None:
    with anyio.fail_after(seconds):
        while not await condition():  # noqa: ASYNC110 - another process changes
            await anyio.sleep(0.02)


async def _may(caller: Caller, tool: str) -> bool:
    return "result" in await caller.call(f"files__{tool}")


async def test_ten_changes_each_reach_both_gateways_within_two_seconds(
    serve: Serve, tmp_path: Path
) -> None:
    one = serve(_document(tmp_path, TOOLS)).settle()
    two = serve().settle()
    two.keys = one.keys
    async with _caller(one) as here, _caller(two) as there:
        assert await _may(here, "write")
        assert await _may(there, "write")
        for turn in range(10):
            allowed = turn % 2 == 1
            await _write(tmp_path, _document(tmp_path, TOOLS if allowed else TOOLS[:1]))
            with anyio.fail_after(REACH):
                await _until(here, "write", allowed=allowed)
                await _until(there, "write", allowed=allowed)
            assert await _may(here, "read")
    # nothing was restarted by any of this
    assert len(received(tmp_path / "files", "server/discover")) == 2
    assert one.audit("--tool", "write", "--decision", "deny")[0]["revision"] == 10


async def test_a_restart_on_demand_reaches_every_gateway_within_two_seconds_and_once(
    serve: Serve, tmp_path: Path
) -> None:
    one = serve(_document(tmp_path, TOOLS), REMIT_LOG_LEVEL="INFO").settle()
    serve(REMIT_LOG_LEVEL="INFO").settle()
    async with httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {one.admin_key}"}, verify=TRUSTS_NOBODY
    ) as http:
        reply = await http.post(f"{one.base}/api/v1/servers/files/restart")
    with anyio.fail_after(REACH):
        while one.log.read_text().count(RESTARTED) < 2:  # noqa: ASYNC110 - another process logs
            await anyio.sleep(0.02)
    with anyio.fail_after(20):
        while len(received(tmp_path / "files", "server/discover")) < 4:  # noqa: ASYNC110 - likewise
            await anyio.sleep(0.02)
    serve(REMIT_LOG_LEVEL="INFO").settle()  # one that starts later connects once

    assert reply.status_code == 200
    assert len(received(tmp_path / "files", "server/discover")) == 5
    assert one.log.read_text().count(RESTARTED) == 2


async def test_a_file_that_changed_is_read_at_a_hangup_and_a_wrong_one_changes_nothing(
    serve: Serve, tmp_path: Path
) -> None:
    running = serve(_document(tmp_path, TOOLS)).settle()
    async with _caller(running) as caller:
        running.config.write_text(json.dumps({**_document(tmp_path, TOOLS[:1]), "rolls": {}}))
        running.process.send_signal(signal.SIGHUP)
        await _within(10, lambda: _logged(running, "the declaration is not reloaded"))
        assert await _may(caller, "write")
        assert [one["number"] for one in _revisions(running)] == [1]

        running.config.write_text(json.dumps(_document(tmp_path, TOOLS[:1])))
        running.process.send_signal(signal.SIGHUP)
        await _within(10, lambda: _refused(caller, "write"))
        assert [one["author"] for one in _revisions(running)] == ["serve", "serve"]
    applied = running.audit("--tool", "declaration.apply")
    assert [(row["principal"], row["outcome"], row["revision"]) for row in applied] == [
        ("serve", "ok", 2),
        ("serve", "ok", 1),
    ]


async def test_servers_come_and_go_while_the_others_keep_their_connections(
    serve: Serve, tmp_path: Path
) -> None:
    running = serve(_document(tmp_path, TOOLS)).settle()
    async with _caller(running) as caller:
        await _write(tmp_path, _document(tmp_path, TOOLS, "files", "more"))
        await _within(10, lambda: _has_servers(running, {"files", "more"}))
        await _write(tmp_path, _document(tmp_path, TOOLS, "files"))
        await _within(10, lambda: _has_servers(running, {"files"}))
        assert await _may(caller, "write")
    assert len(received(tmp_path / "files", "server/discover")) == 1


async def test_only_clients_whose_list_changes_are_told_of_a_revision(
    serve: Serve, tmp_path: Path
) -> None:
    running = serve(_document(tmp_path, TOOLS)).settle()
    async with (
        _caller(running) as clerk,
        _caller(running, "other") as other,
        _stream(clerk) as mine,
        _stream(other) as theirs,
    ):
        await _write(tmp_path, _document(tmp_path, TOOLS[:1]))
        with anyio.fail_after(30):
            assert "list_changed" in await anext(mine)
        with anyio.move_on_after(0.3) as waiting:
            await anext(theirs)
        assert waiting.cancelled_caught


async def test_a_revision_that_does_not_validate_leaves_what_runs(
    serve: Serve, tmp_path: Path
) -> None:
    running = serve(_document(tmp_path, TOOLS[:1])).settle()
    async with _caller(running) as caller:
        await _write(tmp_path, {"version": "1.0", "roles": {"clerk": {"allow": ["bare"]}}})
        await _within(10, lambda: _logged(running, "a revision cannot be used"))
        assert await _may(caller, "read")
        assert not await _may(caller, "write")

        await _write(tmp_path, _document(tmp_path, TOOLS))
        await _within(REACH, lambda: _may(caller, "write"))


async def test_a_store_that_cannot_be_read_widens_nothing(serve: Serve, tmp_path: Path) -> None:
    running = serve(_document(tmp_path, TOOLS[:1])).settle()
    async with _caller(running) as caller:
        assert await _may(caller, "read")
        await _write(tmp_path, _document(tmp_path, TOOLS))
        with sqlite3.connect(tmp_path / ".remit" / "remit.db") as database:
            database.execute("UPDATE revisions SET document = '{' WHERE number = 2")
            database.execute("UPDATE epochs SET value = value + 1 WHERE topic = 'revisions'")
        database.close()
        await _within(10, lambda: _logged(running, "changes cannot be read"))
        assert running.process.poll() is None


async def test_a_restart_keeps_what_others_wrote_and_refuses_a_file_that_would_undo_it(
    serve: Serve, tmp_path: Path
) -> None:
    # R18
    first = serve(_document(tmp_path, TOOLS))
    first.stop()
    await _write(tmp_path, _document(tmp_path, TOOLS[:1]))

    again = serve().settle()
    async with _caller(again) as caller:
        assert not await _may(caller, "write")
    again.stop()
    assert [one["author"] for one in _revisions(again)] == ["user:ann", "serve"]

    again.config.write_text(json.dumps(_document(tmp_path, ["write"])))
    with pytest.raises(AssertionError, match="would overwrite what was changed"):
        serve()
    assert len(_revisions(again)) == 2


async def _until(caller: Caller, tool: str, *, allowed: bool) -> None:
    while await _may(caller, tool) is not allowed:  # noqa: ASYNC110 - another process changes
        await anyio.sleep(0.02)


async def _logged(running: Running, words: str) -> bool:
    return words in running.log.read_text()


async def _refused(caller: Caller, tool: str) -> bool:
    return not await _may(caller, tool)


async def _has_servers(running: Running, names: set[str]) -> bool:
    servers = running.servers()
    return set(servers) == names and all(one["state"] == "ready" for one in servers.values())


def _revisions(running: Running) -> list[dict[str, Any]]:
    return json.loads(running.remit("revisions", "--json"))


@asynccontextmanager
async def _stream(caller: Caller) -> AsyncGenerator[AsyncGenerator[str]]:
    """Give the data lines of a session's stream."""
    session = await caller.begin()
    headers = {
        "Authorization": f"Bearer {caller.key}",
        "Accept": "text/event-stream",
        **session.era_headers,
    }
    async with caller.http.stream("GET", caller.url, headers=headers, timeout=30) as response:
        assert response.status_code == 200
        lines = response.aiter_lines()
        await anext(lines)  # it is alive

        async def data() -> AsyncGenerator[str]:
            async for line in lines:
                if line.startswith("data:"):
                    yield line

        yield data()

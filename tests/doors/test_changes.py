"""Whoever's own list changed is told, and nobody else (R17, T12)."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import aiohttp
import anyio
import anyio.lowlevel
import pytest
from mcp.client.session import IncomingMessage
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import ToolListChangedNotification
from tests.doors.worlds import (
    FILES,
    JsonObject,
    Wire,
    World,
    build_world,
    caller,
    envelope,
    library_client,
    message,
    modern_headers,
    serving,
    tool,
)

from remit.doors.mcp.changes import LEAST_WAIT
from remit.model.declaration import Declaration
from remit.model.grants import Grant
from remit.model.principals import Principal
from remit.model.roles import Role
from remit.model.servers import ServerConfig


class Events:
    """Reads an open stream event by event."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self) -> JsonObject | str | None:
        """Give the next message, the text of a comment, or None at the end."""
        with anyio.fail_after(20):
            raw = await self.response.content.readuntil(b"\n\n")
        if not raw:
            return None
        if raw.startswith(b":"):
            return raw.decode().strip()
        return json.loads(raw.split(b"data: ", 1)[1])


@asynccontextmanager
async def session_stream(wire: Wire, key: str = "reader-key") -> AsyncGenerator[Events]:
    """Open the stream of a new session of an older era."""
    other = Wire(wire.session, wire.url, key)
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "text/event-stream",
        "Mcp-Session-Id": await other.begin(),
    }
    async with wire.session.get(f"{wire.url}/mcp", headers=headers) as response:
        assert response.status == 200
        events = Events(response)
        assert await events.next() == ": alive"
        yield events


@asynccontextmanager
async def listening(
    wire: Wire, wanted: JsonObject, key: str = "reader-key"
) -> AsyncGenerator[Events]:
    """Open a `subscriptions/listen` stream under the id "mine"."""
    params: JsonObject = {"notifications": wanted, "_meta": envelope()}
    usual = modern_headers("subscriptions/listen", params)
    headers = {name: value for name, value in usual.items() if value is not None}
    headers |= {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    body = message("subscriptions/listen", params, id="mine")
    async with wire.session.post(f"{wire.url}/mcp", json=body, headers=headers) as response:
        assert response.status == 200
        yield Events(response)


TAG = {"io.modelcontextprotocol/subscriptionId": "mine"}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def test_a_listener_is_acknowledged_first_and_everything_carries_its_tag(
    files_world: World, wire: Wire
) -> None:
    wanted: JsonObject = {"toolsListChanged": True, "promptsListChanged": True}
    async with listening(wire, wanted) as events:
        opening = await events.next()
        files_world.fleet.offer("files", FILES[:1])
        change = await events.next()

    assert opening == {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"notifications": wanted, "_meta": TAG},
    }
    assert change == {**CHANGED, "params": {"_meta": TAG}}


async def test_only_the_callers_whose_own_list_changed_are_told(
    files_world: World, wire: Wire
) -> None:
    async with (
        session_stream(wire) as reader,
        session_stream(wire, "editor-key") as editor,
        listening(wire, {"toolsListChanged": True}, "nobody-key") as nobody,
    ):
        await nobody.next()
        # The reader may not use `delete`, so it loses nothing and hears nothing of this.
        files_world.fleet.offer("files", [FILES[0], FILES[2]])
        first = await editor.next()
        files_world.fleet.offer("files", [FILES[2]])
        second = await reader.next()
        with anyio.move_on_after(0.2) as waiting:
            await nobody.next()

    assert first == second == CHANGED
    assert waiting.cancelled_caught


async def test_a_tool_that_changes_under_its_name_is_a_change(
    files_world: World, wire: Wire
) -> None:
    async with session_stream(wire) as events:
        other = tool("files", "read", {"type": "object", "required": ["path"]})
        files_world.fleet.offer("files", [other, FILES[2]])

        assert await events.next() == CHANGED


async def test_a_new_policy_is_a_change_for_those_whom_it_concerns(
    files_world: World, wire: Wire
) -> None:
    async with session_stream(wire) as reader, session_stream(wire, "editor-key") as editor:
        files_world.swap_policy(
            Role(name="reader", tools={"files": ("read", "list", "delete")}),
            Role(name="editor", allow=("files/*", "notes/*")),
        )
        told = await reader.next()
        with anyio.move_on_after(0.2) as waiting:
            await editor.next()

    assert told == CHANGED
    assert waiting.cancelled_caught


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_librarys_client_hears_of_a_server_that_came_up(
    files_world: World, files_url: str, mode: str
) -> None:
    heard = anyio.Event()

    async def handler(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()
        await anyio.lowlevel.checkpoint()

    async with library_client(f"{files_url}/mcp", "editor-key", mode, handler) as client:
        before = {tool.name for tool in (await client.list_tools()).tools}
        with anyio.fail_after(20):
            if mode == "auto":
                async with client.listen(tools_list_changed=True) as subscription:
                    files_world.fleet.offer("notes", [tool("notes", "add"), tool("notes", "drop")])
                    async for event in subscription:
                        assert isinstance(event, ToolsListChanged)
                        break
            else:
                await until_watched(files_world)
                files_world.fleet.offer("notes", [tool("notes", "add"), tool("notes", "drop")])
                await heard.wait()
        after = {tool.name for tool in (await client.list_tools()).tools}

    assert after - before == {"notes__drop"}


async def test_a_listener_that_asked_for_nothing_hears_nothing(
    files_world: World, wire: Wire
) -> None:
    async with listening(wire, {"toolsListChanged": False}) as events:
        opening = await events.next()
        files_world.fleet.offer("files", FILES[:1])
        with anyio.move_on_after(0.2) as waiting:
            while await events.next() == ": alive":
                pass

    assert isinstance(opening, dict)
    assert opening["params"] == {"notifications": {}, "_meta": TAG}
    assert waiting.cancelled_caught


@pytest.mark.parametrize("notifications", [None, [], "all"])
async def test_a_listener_that_says_not_what_for_is_invalid(
    wire: Wire, notifications: object
) -> None:
    reply = await wire.modern("subscriptions/listen", {"notifications": notifications})

    assert (reply.status, reply.error["code"]) == (400, -32602)


async def test_a_stream_is_no_json(wire: Wire) -> None:
    reply = await wire.modern(
        "subscriptions/listen", {"notifications": {}}, headers={"Accept": "application/json"}
    )

    assert reply.status == 406


async def test_streams_end_when_the_gateway_stops(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    with anyio.fail_after(30):
        async with serving(files_world) as url:
            wire = Wire(http, url)
            async with (
                session_stream(wire) as legacy,
                listening(wire, {"toolsListChanged": True}) as modern,
            ):
                await modern.next()
                files_world.door.changes.close()
                closing = await modern.next()
                ends = [await modern.next(), await legacy.next()]
                late = await wire.modern("subscriptions/listen", {"notifications": {}})

    assert closing == {
        "jsonrpc": "2.0",
        "id": "mine",
        "result": {"resultType": "complete", "_meta": TAG},
    }
    assert ends == [None, None]
    assert late.error["code"] == -32603


async def test_a_gateway_stops_although_clients_listen(
    files_world: World, http: aiohttp.ClientSession
) -> None:
    with anyio.fail_after(10):
        async with serving(files_world) as url:
            headers = {"Authorization": "Bearer reader-key", "Accept": "text/event-stream"}
            headers["Mcp-Session-Id"] = await Wire(http, url).begin()
            response = await http.get(f"{url}/mcp", headers=headers)

    assert await response.read() == b": alive\n\n"


def small_world(*, most_streams: int = 16, keep_alive: float = 15.0) -> World:
    return build_world(
        {"files": FILES},
        [Role(name="reader", tools={"files": ("read",)})],
        {"reader-key": caller("r", "reader"), "editor-key": caller("e", "reader")},
        most_streams=most_streams,
        keep_alive=keep_alive,
    )


async def test_there_is_a_most_of_open_streams(http: aiohttp.ClientSession) -> None:
    world = small_world(most_streams=1)
    async with serving(world) as url:
        wire = Wire(http, url)
        session_id = await wire.begin()
        async with listening(wire, {}) as events:
            await events.next()
            modern = await wire.modern("subscriptions/listen", {"notifications": {}})
            legacy = await wire.send(verb="GET", headers={"Mcp-Session-Id": session_id})
        await until_watched(world, 0)
        async with listening(wire, {}) as events:
            again = await events.next()

    assert modern.error["code"] == -32603
    assert (legacy.status, "retry-after" in legacy.headers) == (503, True)
    assert again is not None


async def test_a_silent_stream_shows_that_it_lives(http: aiohttp.ClientSession) -> None:
    async with serving(small_world(keep_alive=0.02)) as url, session_stream(Wire(http, url)) as s:
        assert [await s.next(), await s.next()] == [": alive", ": alive"]


@pytest.mark.parametrize("cause", ["revoked", "unreadable"])
async def test_a_stream_ends_when_its_key_holds_no_longer(
    http: aiohttp.ClientSession, cause: str
) -> None:
    world = small_world(keep_alive=0.02)
    async with serving(world) as url, session_stream(Wire(http, url)) as events:
        if cause == "revoked":
            del world.keys["reader-key"]
        else:
            world.is_store_down = True
        with anyio.fail_after(20):
            while await events.next() is not None:
                pass


async def test_a_stream_ends_with_its_credential_and_the_others_stay(
    http: aiohttp.ClientSession,
) -> None:
    # R17: nothing happens at the end of a key but that its time is over.
    world = small_world()
    ends = datetime.now(UTC) + timedelta(seconds=0.4)
    world.keys["short-key"] = replace(caller("s", "reader"), expires=ends)
    world.keys["long-key"] = replace(caller("l", "reader"), expires=ends + timedelta(hours=1))
    async with serving(world) as url:
        wire = Wire(http, url)
        async with (
            session_stream(wire, "short-key") as mine,
            listening(wire, {}, "short-key") as also_mine,
            listening(wire, {}, "long-key") as theirs,
        ):
            await also_mine.next()
            await theirs.next()
            with anyio.fail_after(10):
                assert await mine.next() is None
                closing = await also_mine.next()
                assert isinstance(closing, dict)
                assert closing["result"]["resultType"] == "complete"
            with anyio.move_on_after(0.2) as waiting:
                await theirs.next()

    assert waiting.cancelled_caught
    assert datetime.now(UTC) >= ends


async def test_the_end_of_a_grant_is_told_to_whom_it_concerns_and_to_nobody_else(
    http: aiohttp.ClientSession,
) -> None:
    # R17: at its end, and not with the next sign of life
    world = small_world()
    ends = datetime.now(UTC) + timedelta(seconds=0.5)
    grants = (
        Grant(subject="key:r", effect="allow", server="files", until=ends),
        Grant(subject="key:l", effect="allow", server="files"),
    )
    servers = {"files": ServerConfig(name="files", command="true", default_access="deny")}
    roles = {"reader": Role(name="reader", allow=("*/*",))}
    world.policy.swap(Declaration(servers=servers, roles=roles, grants=grants), revision=2)
    world.keys["long-key"] = caller("l", "reader")
    async with serving(world) as url:
        wire = Wire(http, url)
        async with (
            session_stream(wire) as mine,
            listening(wire, {"toolsListChanged": True}) as also_mine,
            session_stream(wire, "long-key") as theirs,
        ):
            await also_mine.next()
            with anyio.fail_after(10):
                told = [await mine.next(), await also_mine.next()]
            with anyio.move_on_after(0.2) as waiting:
                await theirs.next()

    assert told == [CHANGED, {**CHANGED, "params": {"_meta": TAG}}]
    assert waiting.cancelled_caught
    assert datetime.now(UTC) >= ends


async def test_a_credential_that_is_renewed_in_time_keeps_its_stream(
    http: aiohttp.ClientSession,
) -> None:
    world = small_world(keep_alive=0.2)
    ends = datetime.now(UTC) + timedelta(seconds=2)
    world.keys["short-key"] = replace(caller("s", "reader"), expires=ends)
    async with serving(world) as url, session_stream(Wire(http, url), "short-key") as events:
        later = replace(caller("s", "reader"), expires=ends + timedelta(hours=1))
        world.keys["short-key"] = later
        while datetime.now(UTC) < ends:
            assert await events.next() == ": alive"
        assert [await events.next() for _ in range(3)] == [": alive"] * 3


async def test_a_clock_that_runs_ahead_asks_a_few_times_a_second_and_no_more() -> None:
    world = small_world()
    ended = replace(caller("s", "reader"), expires=datetime.now(UTC) - timedelta(days=1))
    asked = 0

    async def again() -> Principal:
        nonlocal asked
        asked += 1
        return ended

    watch = world.door.changes.watch(ended, None, legacy=True)
    assert watch is not None
    with watch, anyio.move_on_after(0.3):
        await watch.wait(again)

    assert 1 <= asked <= 0.3 / LEAST_WAIT + 1


async def test_a_key_that_got_other_roles_is_a_change(http: aiohttp.ClientSession) -> None:
    world = small_world(keep_alive=0.02)
    async with serving(world) as url, session_stream(Wire(http, url)) as events:
        world.keys["reader-key"] = caller("r")
        with anyio.fail_after(20):
            while (event := await events.next()) == ": alive":
                pass

    assert event == CHANGED


async def test_a_new_stream_of_a_session_ends_its_old_one_and_so_does_delete(wire: Wire) -> None:
    session_id = await wire.begin()
    headers = {
        "Authorization": "Bearer reader-key",
        "Accept": "text/event-stream",
        "Mcp-Session-Id": session_id,
    }
    async with wire.session.get(f"{wire.url}/mcp", headers=headers) as first:
        await Events(first).next()
        async with wire.session.get(f"{wire.url}/mcp", headers=headers) as second:
            await Events(second).next()
            ended = await Events(first).next()
            await wire.send(verb="DELETE", headers={"Mcp-Session-Id": session_id})
            deleted = await Events(second).next()

    assert (ended, deleted) == (None, None)


async def test_a_client_that_leaves_frees_its_place(files_world: World, wire: Wire) -> None:
    async with session_stream(wire):
        await until_watched(files_world)
    await until_watched(files_world, 0)


async def until_watched(world: World, count: int = 1) -> None:
    """Wait until so many streams are open."""
    with anyio.fail_after(20):
        while len(world.door.changes) != count:
            await anyio.lowlevel.checkpoint()

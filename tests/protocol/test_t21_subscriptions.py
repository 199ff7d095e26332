"""T21: updates and changed lists reach callers that asked and may see, and nobody else."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from aiohttp import ClientSession
from tests.doors.test_stdio import Terminal, stdio
from tests.doors.worlds import (
    BOTH,
    JsonObject,
    Wire,
    envelope,
    initialize,
    message,
    modern_headers,
)
from tests.protocol.wikis import MIRROR, PAGE, SHARED, WIKI, Wikis, key, open_wikis

from remit.model.servers import Session
from remit.testing.upstream import received

TOOLS: list[Any] = [
    "search",
    {
        "name": "edit",
        # The first is another spelling of a page, which is told to nobody.
        "x-fixture": {"updates": [f"{SHARED}#../1", PAGE, f"{SHARED}#part", SHARED]},
    },
    {
        "name": "rewrite",
        "x-fixture": {"changes": {"prompts": [{"name": "other"}], "resources": WIKI["resources"]}},
    },
]


class Stream:
    """What comes over one open stream."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def hear(self) -> JsonObject:
        """Return the next message."""
        with anyio.fail_after(30):
            while True:
                line = await self._response.content.readline()
                if line.startswith(b"data:"):
                    return json.loads(line.removeprefix(b"data:"))


@asynccontextmanager
async def listening(
    http: ClientSession, wikis: Wikis, role: str, wanted: JsonObject, *, path: str = "/mcp"
) -> AsyncGenerator[tuple[Stream, JsonObject]]:
    """Open a stream of 2026-07-28; give it with what is honoured."""
    params = {"notifications": wanted, "_meta": envelope()}
    async with http.post(
        wikis.url + path,
        json=message("subscriptions/listen", params),
        headers={
            "Authorization": f"Bearer {role}",
            "Accept": BOTH,
            **{k: v for k, v in modern_headers("subscriptions/listen", params).items() if v},
        },
    ) as response:
        stream = Stream(response)
        opening = await stream.hear()
        yield stream, opening["params"]["notifications"]


@asynccontextmanager
async def session(
    http: ClientSession, wikis: Wikis, role: str, *uris: str
) -> AsyncGenerator[tuple[Stream, Wire, dict[str, str | None]]]:
    """Open a session of 2025-11-25 with its stream, and subscribe."""
    wire = Wire(http, wikis.url, role)
    headers: dict[str, str | None] = {
        "Mcp-Session-Id": await wire.begin(),
        "MCP-Protocol-Version": "2025-11-25",
    }
    for uri in uris:
        reply = await wire.send(message("resources/subscribe", {"uri": uri}), headers=headers)
        assert reply.result == {}
    shown = {k: v for k, v in headers.items() if v}
    shown |= {"Authorization": f"Bearer {role}", "Accept": "text/event-stream"}
    async with http.get(f"{wikis.url}/mcp", headers=shown) as response:
        yield Stream(response), wire, headers


@pytest.mark.parametrize(
    ("upstream", "shared"),
    [
        ("stdio modern", Session.SHARED),
        ("stdio legacy", Session.PRINCIPAL),
        ("http modern", Session.SHARED),
        ("http legacy", Session.SHARED),
        ("sse legacy", Session.SHARED),
    ],
)
async def test_t21_updates_reach_whoever_follows_and_may_read_in_both_eras(
    tmp_path: Path, http: ClientSession, upstream: str, shared: Session
) -> None:
    transport, _, era = upstream.partition(" ")
    wanted = {"resourceSubscriptions": [PAGE, SHARED]}
    async with (
        open_wikis(tmp_path, transport=transport, era=era, tools=TOOLS, session=shared) as wikis,
        listening(http, wikis, "both", {"toolsListChanged": True}) as (_, idle),
        listening(http, wikis, "nothing", wanted) as (_, refused),
        listening(http, wikis, "wiki", wanted) as (modern, told),
        session(http, wikis, "wiki", PAGE) as (older, wire, _),
    ):
        await wire.call("wiki__edit")
        # While one stream follows on another, a server may tell of the same change on both.
        first: list[Any] = []
        while len({one["params"]["uri"] for one in first}) < 3:
            first.append(await modern.hear())
        second = await older.hear()

    assert idle == {"toolsListChanged": True}
    assert refused == {}
    assert told == {"resourceSubscriptions": [PAGE, SHARED]}
    assert {one["method"] for one in first} == {"notifications/resources/updated"}
    assert {one["params"]["uri"] for one in first} == {PAGE, SHARED, f"{SHARED}/part"}
    tags = {one["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for one in first}
    assert tags == {1}
    assert second == {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {"uri": PAGE},
    }
    assert [event.code for event in wikis.world.audit.events if event.outcome == "none"] == [
        "PERMISSION_DENIED"
    ] * 2


async def test_t21_a_server_is_asked_once_for_all_who_follow_and_told_when_nobody_does(
    tmp_path: Path, http: ClientSession
) -> None:
    async with open_wikis(tmp_path, era="legacy", tools=TOOLS) as wikis:
        count = wikis.counts["wiki"]
        async with (
            session(http, wikis, "wiki", PAGE) as (_, wire, headers),
            session(http, wikis, "both", PAGE) as (other, _, _),
        ):
            gone = await wire.send(message("resources/unsubscribe", {"uri": PAGE}), headers=headers)
            await wire.call("wiki__edit")
            heard = await other.hear()
        subscribed = received(count, "resources/subscribe")
        await http.delete(
            f"{wikis.url}/mcp",
            headers={"Authorization": "Bearer both", "Mcp-Session-Id": await _id(wikis, http)},
        )

    assert gone.result == {}
    assert heard["params"] == {"uri": PAGE}
    assert [one["params"] for one in subscribed] == [{"uri": PAGE}]


async def _id(wikis: Wikis, http: ClientSession) -> str:
    return await Wire(http, wikis.url, "both").begin()


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_t21_changed_lists_are_told_to_those_whose_own_changed(
    tmp_path: Path, http: ClientSession, era: str
) -> None:
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
    async with (
        open_wikis(tmp_path, era=era, tools=TOOLS) as wikis,
        listening(http, wikis, "wiki", wanted) as (modern, told),
        listening(http, wikis, "tools", wanted) as (bystander, _),
        session(http, wikis, "wiki") as (older, wire, headers),
    ):
        await wire.call("wiki__rewrite")
        first, second = await modern.hear(), await older.hear()
        listed = await wire.send(message("prompts/list"), headers=headers)
        wikis.world.swap_policy()
        last = await bystander.hear()

    assert told == wanted
    assert first["method"] == second["method"] == "notifications/prompts/list_changed"
    assert [prompt["name"] for prompt in listed.result["prompts"]] == ["wiki__other"]
    assert last["method"] == "notifications/tools/list_changed"


async def test_t21_who_may_read_no_more_hears_no_more(tmp_path: Path, http: ClientSession) -> None:
    tools = [{"name": "edit", "x-fixture": {"updates": [PAGE]}}]
    wanted = {"resourceSubscriptions": [PAGE], "resourcesListChanged": True}
    async with (
        open_wikis(tmp_path, tools=tools) as wikis,
        listening(http, wikis, "wiki", wanted) as (stream, _),
        listening(http, wikis, "both", wanted) as (other, _),
    ):
        roles = dict(wikis.world.policy.declaration.roles)
        del roles["wiki"]
        wikis.world.swap_policy(*roles.values())
        changed = await stream.hear()
        await Wire(http, wikis.url, "both").call("wiki__edit")
        heard = await other.hear()
        wikis.world.swap_policy()
        with anyio.move_on_after(1):
            raise AssertionError(await stream.hear())

    assert changed["method"] == "notifications/resources/list_changed"
    assert heard["method"] == "notifications/resources/updated"


async def test_t21_a_refused_subscription_says_what_an_unknown_one_says(
    tmp_path: Path, http: ClientSession
) -> None:
    async with open_wikis(tmp_path) as wikis:
        wire = Wire(http, wikis.url, "nothing")
        headers: dict[str, str | None] = {"Mcp-Session-Id": await wire.begin()}
        answers = [
            await wire.send(message("resources/subscribe", {"uri": uri}), headers=headers)
            for uri in (PAGE, "nowhere://1")
        ]
        without = await Wire(http, wikis.url, "wiki").send(
            message("resources/subscribe", {"uri": PAGE})
        )

    refused, unknown = (reply.error for reply in answers)
    assert refused["code"] == unknown["code"] == -32602
    assert refused["message"] == unknown["message"] == "Resource not found"
    assert without.error["message"].startswith("Invalid params: a subscription needs a session")


async def test_t21_subscriptions_outlive_the_server_s_process(
    tmp_path: Path, http: ClientSession
) -> None:
    tools = [
        {"name": "edit", "x-fixture": {"updates": [PAGE]}},
        {"name": "crash", "x-fixture": {"exit": 3}},
    ]
    async with (
        open_wikis(tmp_path, era="modern", tools=tools, offers={"wiki": WIKI}) as wikis,
        listening(http, wikis, "wiki", {"resourceSubscriptions": [PAGE]}) as (stream, _),
    ):
        wire = Wire(http, wikis.url, "wiki")
        await wire.call("wiki__crash")
        heard: list[JsonObject] = []
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:

                async def hear() -> None:
                    heard.append(await stream.hear())
                    tasks.cancel_scope.cancel()

                tasks.start_soon(hear)
                while not heard:
                    await wire.call("wiki__edit")
                    await anyio.sleep(0.2)

    assert heard[0]["params"]["uri"] == PAGE


async def test_t21_what_was_updated_before_there_was_a_stream_is_told_when_it_begins(
    tmp_path: Path, http: ClientSession
) -> None:
    async with open_wikis(tmp_path, era="legacy", tools=TOOLS) as wikis:
        wikis.world.door.changes.keep_alive = 3600.0  # no sign of life brings it along
        wire = Wire(http, wikis.url, "wiki")
        headers: dict[str, str | None] = {"Mcp-Session-Id": await wire.begin()}
        await wire.send(message("resources/subscribe", {"uri": PAGE}), headers=headers)
        async with listening(http, wikis, "both", {"resourceSubscriptions": [PAGE]}) as (other, _):
            await wire.call("wiki__edit")
            await other.hear()
        shown = {k: v for k, v in headers.items() if v}
        shown |= {"Authorization": "Bearer wiki", "Accept": "text/event-stream"}
        async with http.get(f"{wikis.url}/mcp", headers=shown) as response:
            heard = await Stream(response).hear()

    assert heard["params"] == {"uri": PAGE}


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_t21_updates_come_over_standard_output_too(tmp_path: Path, era: str) -> None:
    async with (
        open_wikis(tmp_path, tools=TOOLS, offers={"wiki": WIKI, "mirror": MIRROR}) as wikis,
        stdio(wikis.world, key("wiki")) as terminal,
    ):
        if era == "legacy":
            await _subscribe_in_session(terminal)
        else:
            wanted = {"notifications": {"resourceSubscriptions": [PAGE]}, "_meta": envelope()}
            await terminal.say(message("subscriptions/listen", wanted, id=7))
            assert (await terminal.hear())["params"]["notifications"] == {
                "resourceSubscriptions": [PAGE]
            }
        meta: JsonObject = {"_meta": envelope()} if era == "modern" else {}
        await terminal.say(message("tools/call", {"name": "wiki__edit", **meta}, id=2))
        heard = [await terminal.hear(), await terminal.hear()]

    updates = [one for one in heard if "method" in one]
    assert [one["params"]["uri"] for one in updates] == [PAGE]


async def _subscribe_in_session(terminal: Terminal) -> None:
    await terminal.say(initialize())
    opened = await terminal.hear()
    assert opened["result"]["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    await terminal.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    await terminal.say(message("resources/subscribe", {"uri": PAGE}))
    assert (await terminal.hear())["result"] == {}

"""T16: what a server says reaches its caller as it left, over every transport, in both eras."""

import itertools
import json
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from tests.e2e.conftest import Serve

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import LEGACY, MODERN, Running, environment, fixture_entry
from remit.testing.upstream import FixtureOptions, open_web_fixture, received

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ODD = (
    '{ "content" : [{"type":"text","text":"one",'
    '"annotations":{"audience":["user"],"priority":0.10}},'
    '{"type":"text","text":"","annotations":{"priority":1.0}},'
    '{"type":"image","data":"' + PNG + '","mimeType":"image/png","annotations":{"priority":0}},'
    '{"type":"audio","data":"UklGRg==","mimeType":"audio/wav","annotations":{"priority":1}},'
    '{"type":"resource_link","uri":"file:///a","name":"a","size":9007199254740993,'
    '"annotations":{"lastModified":"2026-01-12T15:00:58Z"}},'
    '{"type":"resource","resource":{"uri":"file:///b","text":"t"},"annotations":{"priority":1e-1}},'
    '{"type":"resource","resource":{"uri":"file:///c","blob":"AAEC"},"annotations":{}}],'
    '"structuredContent":{"nothing":null,"big":9007199254740993,"small":1e-7,"nul":"\\u0000",'
    '"half":"\\ud800","face":"\U0001f600","face2":"\\ud83d\\ude00","slash":"\\/"}, "isError":true,'
    '"_meta":{"vendor.example/x.y":[1.0]}, "unknownField": {"a" : 1.50 } }'
)
PLAIN = '{"content":[{"type":"text","text":"no structure"}]}'
LISTED = (
    '{"name":"odd", "title":"Odd \U0001f600", "description":"", "inputSchema":{"type":"object",'
    '"properties":{"n":{"type":"number","maximum":9007199254740993,"multipleOf":1e-7}}},'
    '"outputSchema":{"type":"object","x-own":1.50}, "icons":[{"src":"https://x.test/i.png",'
    '"mimeType":"image/png","sizes":["48x48"]}], "annotations":{"title":"T","readOnlyHint":true,'
    '"unknownHint":0.10}, "_meta":{"vendor.example/x.y":{"z":1.0}},'
    '"unknownField":[null,"\\ud800"]}'
)
SOON = '"progress":0.10,"total":1e2,"message":"soon %s \\ud800"'
DONE = '"progress":1.0e2,"total":1e2,"vendorField":null'
TOOLS: list[dict[str, Any]] = [
    {"name": "odd", "x-fixture": {"result_json": ODD, "raw": LISTED}},
    {"name": "plain", "x-fixture": {"result_json": PLAIN}},
    *(
        {"name": f"slow_{who}", "x-fixture": {"progress": [SOON % who, DONE], "delay": 0.2}}
        for who in ("ann", "bob")
    ),
]
SERVERS = ("pipe", "pipe_older", "web", "streaming", "web_older", "web_newer", "events")
"""The servers behind, each over another transport or in another era."""

META = {"vendor.example/trace": {"a": 1.5, "b": None}, "plain": "\U0001f600"}

pytestmark = pytest.mark.timeout(180)


@dataclass(frozen=True, slots=True)
class World:
    """A gateway before one fixture for each transport and era.

    Attributes:
        ran: Where each server's fixture counts.
    """

    running: Running
    ran: Mapping[str, Path]


@pytest.fixture(scope="module")
def world(module_folder: Path, serve_module: Serve) -> Generator[World]:
    ran = {name: module_folder / f"{name}.ran" for name in SERVERS}
    with ExitStack() as stack:

        def web(name: str, transport: str = "http", **more: Any) -> dict[str, Any]:
            options = FixtureOptions(tools=TOOLS, count_file=str(ran[name]), **more)
            fixture = stack.enter_context(open_web_fixture(options, transport=transport))
            return {"url": fixture.url, "transport": transport, "session": "shared"}

        servers = {
            "pipe": fixture_entry(TOOLS, ran["pipe"], session="shared"),
            "pipe_older": fixture_entry(TOOLS, ran["pipe_older"], options=("--era", "legacy")),
            "web": web("web"),
            "streaming": web("streaming", streams=True),
            "web_older": web("web_older", era="legacy"),
            "web_newer": web("web_newer", era="modern"),
            "events": web("events", transport="sse", version="2024-11-05"),
        }
        roles = {"anybody": {"allow": [f"{name}/*" for name in servers]}}
        yield World(serve_module({"mcp_servers": servers, "roles": roles}).settle(), ran)


def exactly(text: bytes | str) -> Any:
    """Decode so that numbers are equal only when they are written alike."""
    return json.loads(text, parse_float=str, parse_int=str)


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, and what was said on the way."""

    result: Any
    on_the_way: Sequence[Any]


class Door:
    """One caller, over HTTP or standard input and output, in one era."""

    def __init__(self, era: str) -> None:
        self.era = era

    async def send(self, body: bytes, headers: Mapping[str, str]) -> list[bytes]:
        """Send a request; return each message that came for it, the answer last."""
        raise NotImplementedError

    async def ask(self, method: str, params: Mapping[str, Any], number: int = 7) -> Told:
        """Send a request in this caller's era."""
        meta = dict(params.get("_meta", {}))
        headers: dict[str, str] = {}
        if self.era == MODERN:
            meta["io.modelcontextprotocol/protocolVersion"] = MODERN
            meta["io.modelcontextprotocol/clientCapabilities"] = {}
            headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
        body = {
            "jsonrpc": "2.0",
            "id": number,
            "method": method,
            "params": {**params, "_meta": meta},
        }
        *said, answer = map(exactly, await self.send(json.dumps(body).encode(), headers))
        assert answer["id"] == str(number)
        return Told(answer["result"], said)


class HttpDoor(Door):
    """A caller over HTTP."""

    def __init__(self, era: str, url: str, http: httpx2.AsyncClient) -> None:
        super().__init__(era)
        self._url = url
        self._http = http
        self._session: dict[str, str] = {}

    async def begin(self) -> None:
        """Shake hands where the era does."""
        if self.era == LEGACY:
            reply = await self._http.post(self._url, content=json.dumps(HELLO))
            session = reply.headers["mcp-session-id"]
            self._session = {"Mcp-Session-Id": session, "MCP-Protocol-Version": LEGACY}

    async def send(self, body: bytes, headers: Mapping[str, str]) -> list[bytes]:
        """Send a request; return each message that came for it, the answer last."""
        sent = {**self._session, **headers}
        reply = await self._http.post(self._url, content=body, headers=sent)
        assert reply.status_code == 200, reply.text
        if reply.headers["content-type"] == "application/json":
            return [reply.content]
        return re.findall(rb"^data: (.+)$", reply.content, re.MULTILINE)


class PipeDoor(Door):
    """A caller over standard input and output, with one request at a time."""

    def __init__(self, era: str, process: anyio.abc.Process) -> None:
        super().__init__(era)
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin = process.stdin
        self._stdout = BufferedByteReceiveStream(process.stdout)

    async def send(self, body: bytes, headers: Mapping[str, str]) -> list[bytes]:
        """Send a request; return each message that came for it, the answer last."""
        del headers
        await self._stdin.send(body + b"\n")
        came: list[bytes] = []
        while True:
            line = await self._stdout.receive_until(b"\n", 1 << 20)
            message = exactly(line)
            if message.get("method") != "notifications/tools/list_changed":
                came.append(line)
            if "id" in message:
                return came


HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


@pytest.fixture(params=[MODERN, LEGACY])
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["http", "stdio"])
async def door(request: pytest.FixtureRequest, world: World, era: str) -> AsyncGenerator[Door]:
    running = world.running
    if request.param == "http":
        async with caller(world) as http:
            door = HttpDoor(era, running.url, http)
            await door.begin()
            yield door
        return
    command = [sys.executable, "-m", "remit", "stdio", "--as", "role:anybody"]
    async with await anyio.open_process(
        [*command, "--config", str(running.config)],
        cwd=running.folder,
        env=environment(),
        stderr=subprocess.DEVNULL,
    ) as process:
        piped = PipeDoor(era, process)
        if era == LEGACY:
            await piped.send(json.dumps(HELLO).encode(), {})
        with anyio.fail_after(30):  # until every server behind it has started
            while True:
                if len((await piped.ask("tools/list", {})).result["tools"]) == 4 * len(SERVERS):
                    break
                await anyio.sleep(0.05)
        yield piped


def caller(world: World) -> httpx2.AsyncClient:
    headers = {
        "Authorization": f"Bearer {world.running.key('anybody')}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    return httpx2.AsyncClient(headers=headers, timeout=30, verify=TRUSTS_NOBODY)


def in_the_era(result: str, era: str) -> Any:
    """Return what a direct connection gives, with what the era demands of every result."""
    return exactly(result) | ({"resultType": "complete"} if era == MODERN else {})


async def test_t16_results_arrive_as_they_left(world: World, door: Door) -> None:
    del world
    for server in SERVERS:
        odd = await door.ask("tools/call", {"name": f"{server}__odd", "arguments": {}})
        plain = await door.ask("tools/call", {"name": f"{server}__plain", "arguments": {}})

        assert odd == Told(in_the_era(ODD, door.era), []), server
        assert plain == Told(in_the_era(PLAIN, door.era), []), server


async def test_t16_list_entries_arrive_as_they_left_but_for_the_name(door: Door) -> None:
    listed = (await door.ask("tools/list", {})).result["tools"]

    found = [tool for tool in listed if tool["name"].endswith("__odd")]
    assert found == [exactly(LISTED) | {"name": f"{server}__odd"} for server in sorted(SERVERS)]


async def test_t16_request_meta_goes_to_the_server_and_progress_comes_back(
    world: World, door: Door
) -> None:
    tokens: list[str | int] = ["tok \U0001f600", 7]
    for server, token in itertools.product(SERVERS, tokens):
        before = len(received(world.ran[server], "tools/call"))
        asked = {"name": f"{server}__slow_ann", "_meta": {**META, "progressToken": token}}

        told = await door.ask("tools/call", {**asked, "arguments": {"n": 1}})

        (message,) = received(world.ran[server], "tools/call")[before:]
        arrived = message["params"]["_meta"]
        assert {name: arrived.get(name) for name in META} == META
        assert "progressToken" in arrived
        key = exactly(json.dumps(token))
        assert [said["method"] for said in told.on_the_way] == ["notifications/progress"] * 2
        assert [said["params"] for said in told.on_the_way] == [
            exactly(f"{{{step}}}") | {"progressToken": key} for step in (SOON % "ann", DONE)
        ], server


async def test_t16_callers_with_the_same_token_hear_their_own_progress(
    world: World, era: str
) -> None:
    heard: dict[tuple[str, str], list[str]] = {}

    async def call(server: str, who: str) -> None:
        async with caller(world) as http:
            door = HttpDoor(era, world.running.url, http)
            await door.begin()
            asked = {"name": f"{server}__slow_{who}", "_meta": {"progressToken": 1}}
            told = await door.ask("tools/call", {**asked, "arguments": {}})
            heard[server, who] = [said["params"].get("message") for said in told.on_the_way]

    async with anyio.create_task_group() as tasks:
        for server in SERVERS:
            for who in ("ann", "bob"):
                tasks.start_soon(call, server, who)

    assert heard == {
        (server, who): [f"soon {who} \ud800", None] for server in SERVERS for who in ("ann", "bob")
    }

"""What a server says without naming a call is nobody's while another's call is under way."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from tests.upstreams.callers import Quiet
from tests.upstreams.served import serving

from remit.model.conversation import Conversation, Extras
from remit.model.principals import Principal, PrincipalKind
from remit.model.servers import ServerConfig, Session
from remit.model.tools import ToolId
from remit.testing.fleets import open_servers
from remit.upstreams.fleet import Fleet

OPENED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "logging": {}},
    "serverInfo": {"name": "talks", "version": "1"},
}
TOOLS = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("hold", "talk")]}
LOG = {
    "jsonrpc": "2.0",
    "method": "notifications/message",
    "params": {"level": "info", "data": "of whom?"},
}
PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening(Quiet):
    """A caller that wants to hear everything."""

    told: list[bytes] = field(default_factory=list[bytes])
    log_level: str = "debug"

    async def tell(self, method: str, params: bytes) -> None:
        assert method == "notifications/message"
        self.told.append(params)


async def call(fleet: Fleet, tool: str, conversation: Conversation | None = None) -> None:
    who = "bob" if conversation is None else "ann"
    await fleet.invoke(
        ToolId("s", tool),
        arguments=b"{}",
        meta=b"",
        principal=Principal(kind=PrincipalKind.KEY, name=who),
        timeout=20,
        extras=None if conversation is None else Extras(conversation=conversation),
    )


async def heard_of(config: ServerConfig) -> tuple[list[bytes], list[bytes]]:
    """Return what a caller hears beside another's call, and alone."""
    beside, alone = Listening(), Listening()
    async with open_servers(config) as fleet:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, fleet, "hold")
            tasks.start_soon(call, fleet, "talk", beside)
        await call(fleet, "talk", alone)
    return beside.told, alone.told


STDIO = f"""
import json, sys
def say(message): print(json.dumps(message), flush=True)
held, talking, first = None, None, True
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if method == "initialize":
        say(dict(jsonrpc="2.0", id=number, result={OPENED!r}))
    elif method == "tools/list":
        say(dict(jsonrpc="2.0", id=number, result={TOOLS!r}))
    elif method == "tools/call" and message["params"]["name"] == "hold":
        held = number
    elif method == "tools/call":
        talking = number
    elif method and number is not None:
        say(dict(jsonrpc="2.0", id=number, error=dict(code=-32601, message="no")))
    if talking is not None and (held is not None or not first):
        say({LOG!r})
        for each in (held, talking):
            if each is not None:
                say(dict(jsonrpc="2.0", id=each, result=dict(content=[])))
        held, talking, first = None, None, False
"""


async def test_on_a_shared_pipe() -> None:
    config = ServerConfig(
        name="s", command=sys.executable, args=("-c", STDIO), session=Session.SHARED
    )

    beside, alone = await heard_of(config)

    assert beside == []
    assert [json.loads(one)["data"] for one in alone] == ["of whom?"]


class Talking:
    """A server of the older eras that says on the stream of the whole session what it has to say.

    A call of `talk` is answered when what was said has been dealt with, since the ping behind it
    was answered; the first one waits for a `hold`, too.
    """

    def __init__(self) -> None:
        self._said = asyncio.Queue[str]()
        self._holds, self._pinged = anyio.Event(), anyio.Event()
        self._talked = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = self._stream() if request.method == "GET" else await self._post(request)
        await response(scope, receive, send)

    def _stream(self) -> Response:
        async def give() -> AsyncIterator[str]:
            while True:
                yield await self._said.get()

        return StreamingResponse(give(), media_type="text/event-stream")

    async def _post(self, request: Request) -> Response:
        message = json.loads(await request.body() or b"{}")
        number, method = message.get("id"), message.get("method")
        if method == "initialize":
            return JSONResponse(reply(number, OPENED), headers={"mcp-session-id": "s1"})
        if method == "tools/list":
            return JSONResponse(reply(number, TOOLS))
        if method == "tools/call":
            await self._run(message["params"]["name"])
            return JSONResponse(reply(number, {"content": []}))
        if number == "ping":
            self._pinged.set()
        return Response(status_code=202 if method is None or number is None else 405)

    async def _run(self, tool: str) -> None:
        if tool == "hold":
            self._holds.set()
            await self._talked.wait()
            return
        await self._holds.wait()
        self._pinged = anyio.Event()
        for message in (LOG, PING):
            self._said.put_nowait(f"data: {json.dumps(message)}\n\n")
        await self._pinged.wait()
        self._talked.set()


def reply(number: object, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


async def test_on_the_stream_of_a_session() -> None:
    async with serving(Talking()) as config:
        beside, alone = await heard_of(config)

    assert beside == []
    assert [json.loads(one)["data"] for one in alone] == ["of whom?"]

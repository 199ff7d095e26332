"""Revision 2025-03-26 lets a server put several messages into one event, as into one answer."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from tests.upstreams.callers import Quiet, call
from tests.upstreams.served import serving

from remit.testing.fleets import open_servers

OPENED: dict[str, Any] = {
    "protocolVersion": "2025-03-26",
    "capabilities": {"tools": {}, "logging": {}},
    "serverInfo": {"name": "gathers", "version": "1"},
}
TOOLS = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening(Quiet):
    """A caller that wants to hear everything."""

    told: list[Any] = field(default_factory=list[Any])
    log_level: str = "debug"

    async def tell(self, method: str, params: bytes) -> None:
        assert method == "notifications/message"
        self.told.append(json.loads(params)["data"])


def log_of(text: str) -> dict[str, Any]:
    params = {"level": "info", "data": text}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": params}


async def gathering(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    await (await response_to(request))(scope, receive, send)


async def response_to(request: Request) -> Response:
    message = json.loads(await request.body() or b"{}")
    reply = {"jsonrpc": "2.0", "id": message.get("id")}
    match message.get("method"):
        case "initialize":
            return JSONResponse({**reply, "result": OPENED})
        case "tools/list":
            return JSONResponse({**reply, "result": TOOLS})
        case "tools/call":
            events: list[Any] = [
                [log_of("one"), log_of("two")],
                [],
                [log_of("three"), {**reply, "result": {"content": []}}],
            ]
            return StreamingResponse(stream(events), media_type="text/event-stream")
        case method:
            return Response(status_code=202 if method and reply["id"] is None else 405)


async def stream(events: list[Any]) -> AsyncIterator[str]:
    for event in events:
        yield f"data: {json.dumps(event)}\n\n"


@pytest.mark.parametrize("told", [None, ["one", "two", "three"]])
async def test_each_message_counts(told: list[str] | None) -> None:
    listening = None if told is None else Listening()
    async with serving(gathering) as config, open_servers(config) as fleet:
        await call(fleet, listening)
    assert listening is None or listening.told == told

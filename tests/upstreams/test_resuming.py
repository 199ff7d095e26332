"""A server of the older eras may hang up on a call and go on where its client wants it to."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from tests.upstreams.served import serving

from remit.errors import UpstreamTimeout, UpstreamUnavailable
from remit.testing.fleets import call_tool, open_servers

PRIMED = "id: first\nretry: 20\ndata: \n\n"
NOTHING = ": still at it\n\n"
TOOLS = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
OPENED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "hangs up", "version": "1"},
}


@dataclass(kw_only=True)
class HangingUp:
    """A server that hangs up on every call, and sends *rest* to whom comes back.

    Attributes:
        cut: How often it sends nothing before that.
        resumed: The fields of each request that came back.
    """

    rest: str
    cut: int = 0
    resumed: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = self._resume(request) if request.method == "GET" else await self._post(request)
        await response(scope, receive, send)

    def _resume(self, request: Request) -> Response:
        if "last-event-id" not in request.headers:
            return Response(status_code=405)
        self.resumed.append(dict(request.headers))
        if len(self.resumed) <= self.cut:
            return stream(NOTHING)
        return stream(self.rest) if self.rest else Response(status_code=404)

    async def _post(self, request: Request) -> Response:
        message = json.loads(await request.body() or b"{}")
        number = message.get("id")
        match message.get("method"):
            case "initialize":
                reply = {"jsonrpc": "2.0", "id": number, "result": OPENED}
                return JSONResponse(reply, headers={"mcp-session-id": "s1"})
            case "tools/list":
                return JSONResponse({"jsonrpc": "2.0", "id": number, "result": TOOLS})
            case "tools/call":
                self.rest = self.rest.replace("NUMBER", str(number))
                return stream(PRIMED)
            case _:
                return Response(status_code=202 if number is None else 405)


def stream(events: str) -> StreamingResponse:
    async def give() -> AsyncIterator[str]:
        yield events

    return StreamingResponse(give(), media_type="text/event-stream")


async def test_a_call_goes_on_at_the_position_that_was_seen_last() -> None:
    result = '{"jsonrpc":"2.0","id":NUMBER,"result":{"content":[]}}'
    app = HangingUp(rest=f"id: last\ndata: {result}\n\n")
    async with serving(app) as config, open_servers(config) as fleet:
        assert await call_tool(fleet, "s", "t") == b'{"content":[]}'
    (again,) = app.resumed
    assert again["last-event-id"] == "first"
    assert again["mcp-session-id"] == "s1"
    assert again["mcp-protocol-version"] == "2025-11-25"


async def test_a_stream_that_was_cut_before_anything_came_goes_on_where_it_was() -> None:
    result = '{"jsonrpc":"2.0","id":NUMBER,"result":{"content":[]}}'
    app = HangingUp(rest=f"data: {result}\n\n", cut=1)
    async with serving(app) as config, open_servers(config) as fleet:
        assert await call_tool(fleet, "s", "t") == b'{"content":[]}'
    assert [one["last-event-id"] for one in app.resumed] == ["first", "first"]


async def test_what_never_goes_on_ends_with_the_time_of_the_call() -> None:
    app = HangingUp(rest=NOTHING)
    async with serving(app) as config, open_servers(config) as fleet:
        with pytest.raises(UpstreamTimeout) as failed:
            await call_tool(fleet, "s", "t", within=2)
    assert failed.value.sent
    assert {one["last-event-id"] for one in app.resumed} == {"first"}


async def test_a_stream_that_cannot_be_resumed_fails_the_call() -> None:
    app = HangingUp(rest="")
    async with serving(app) as config, open_servers(config) as fleet:
        with pytest.raises(UpstreamUnavailable, match="without an answer") as failed:
            await call_tool(fleet, "s", "t")
    assert failed.value.sent
    assert len(app.resumed) == 1

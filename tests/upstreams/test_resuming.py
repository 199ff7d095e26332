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

from remit.errors import UpstreamUnavailable
from remit.testing.fleets import call_tool, open_servers

PRIMED = "id: first\nretry: 20\ndata: \n\n"
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
        resumed: The fields of each request that came back.
    """

    rest: str
    resumed: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = self._resume(request) if request.method == "GET" else await self._post(request)
        await response(scope, receive, send)

    def _resume(self, request: Request) -> Response:
        if "last-event-id" not in request.headers:
            return Response(status_code=405)
        self.resumed.append(dict(request.headers))
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


@pytest.mark.parametrize("rest", ["", ": nothing more\n\n"])
async def test_a_stream_that_does_not_go_on_fails_the_call(rest: str) -> None:
    app = HangingUp(rest=rest)
    async with serving(app) as config, open_servers(config) as fleet:
        with pytest.raises(UpstreamUnavailable, match="without an answer") as failed:
            await call_tool(fleet, "s", "t")
    assert failed.value.sent
    assert len(app.resumed) == 1

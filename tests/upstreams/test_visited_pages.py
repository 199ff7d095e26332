"""Who was sent to a page (elicitation of mode `url`) is told when that is done with."""

import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from tests.upstreams.callers import Quiet, call
from tests.upstreams.served import serving

from remit.model.conversation import Abilities
from remit.model.servers import ServerConfig
from remit.testing.fleets import open_servers

COMPLETE = "notifications/elicitation/complete"
DONE = {"jsonrpc": "2.0", "method": COMPLETE, "params": {"elicitationId": "e-1"}}
RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "sends to pages", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": []},
}
CALLERS: list[tuple[Abilities, list[Any]]] = [
    (Abilities.ELICIT_URL, [(COMPLETE, DONE["params"])]),
    (Abilities.ELICIT_FORM, []),
    (Abilities.NONE, []),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening(Quiet):
    """A caller that wants to hear everything."""

    told: list[Any] = field(default_factory=list[Any])

    async def tell(self, method: str, params: bytes) -> None:
        self.told.append((method, json.loads(params)))


async def heard_of(config: ServerConfig, abilities: Abilities) -> list[Any]:
    listening = Listening(abilities=abilities)
    async with open_servers(config) as fleet:
        await call(fleet, listening)
    return listening.told


PIPE = f"""
import json, sys
results = {RESULTS!r}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") is None:
        continue
    if message["method"] == "tools/call":
        print({json.dumps(DONE)!r}, flush=True)
    answer = dict(error=dict(code=-32601, message="no"))
    if message["method"] in results:
        answer = dict(result=results[message["method"]])
    print(json.dumps(dict(jsonrpc="2.0", id=message["id"], **answer)), flush=True)
"""


@pytest.mark.parametrize(("abilities", "heard"), CALLERS)
async def test_over_a_pipe(abilities: Abilities, heard: list[Any]) -> None:
    config = ServerConfig(name="s", command=sys.executable, args=("-c", PIPE))
    assert await heard_of(config, abilities) == heard


async def sending(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    await (await response_to(request))(scope, receive, send)


async def response_to(request: Request) -> Response:
    message = json.loads(await request.body() or b"{}")
    number, method = message.get("id"), message.get("method")
    if method not in RESULTS:
        return Response(status_code=202 if method and number is None else 405)
    answer = {"jsonrpc": "2.0", "id": number, "result": RESULTS[method]}
    if method != "tools/call":
        return JSONResponse(answer)

    async def give() -> AsyncIterator[str]:
        for one in (DONE, answer):
            yield f"data: {json.dumps(one)}\n\n"

    return StreamingResponse(give(), media_type="text/event-stream")


@pytest.mark.parametrize(("abilities", "heard"), CALLERS)
async def test_over_http(abilities: Abilities, heard: list[Any]) -> None:
    async with serving(sending) as config:
        assert await heard_of(config, abilities) == heard

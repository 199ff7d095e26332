"""A server that waits for an answer no longer says so, and its caller hears of it."""

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from tests.upstreams.served import serving

from remit.doors.mcp.conversation import NOTHING, Telling
from remit.doors.mcp.questions import Questions
from remit.model.conversation import Abilities, Extras
from remit.model.principals import Principal, PrincipalKind
from remit.model.servers import ServerConfig
from remit.model.tools import ToolId
from remit.testing.fleets import open_servers

RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "gives up", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": []},
}
QUESTION: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {}},
}
SAID: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": QUESTION},
    {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": "nobody's"},
    },
    {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 0, "reason": "timed out"},
    },
]


class Heard:
    """What reaches a caller, message by message."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def send(self, message: bytes) -> None:
        self.messages.append(json.loads(message))


async def gives_up(config: ServerConfig) -> None:
    heard, questions = Heard(), Questions()
    telling = Telling(
        heard, NOTHING, key="session", abilities=Abilities.ELICIT_FORM, questions=questions
    )
    async with open_servers(config) as fleet:
        await fleet.invoke(
            ToolId("s", "t"),
            arguments=b"{}",
            meta=b"",
            principal=Principal(kind=PrincipalKind.KEY, name="ann"),
            timeout=20,
            extras=Extras(conversation=telling),
        )

    asked, taken_back = heard.messages
    assert (asked["method"], asked["params"]) == ("elicitation/create", QUESTION)
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"] == {"requestId": asked["id"], "reason": "timed out"}
    late = b'"result":{"action":"decline"}'
    assert not questions.answered("session", json.dumps(asked["id"]).encode(), late)


PIPE = f"""
import json, sys
results, said = {RESULTS!r}, {SAID!r}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") is None or "method" not in message:
        continue
    for one in said if message["method"] == "tools/call" else ():
        print(json.dumps(one), flush=True)
    answer = dict(error=dict(code=-32601, message="no"))
    if message["method"] in results:
        answer = dict(result=results[message["method"]])
    print(json.dumps(dict(jsonrpc="2.0", id=message["id"], **answer)), flush=True)
"""


async def test_over_a_pipe() -> None:
    await gives_up(ServerConfig(name="s", command=sys.executable, args=("-c", PIPE)))


async def giving_up(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    await (await response_to(request))(scope, receive, send)


async def response_to(request: Request) -> Response:
    message = json.loads(await request.body() or b"{}")
    number, method = message.get("id"), message.get("method")
    if method not in RESULTS:
        return Response(status_code=202 if message and number is None else 405)
    answer = {"jsonrpc": "2.0", "id": number, "result": RESULTS[method]}
    if method != "tools/call":
        return JSONResponse(answer)

    async def give() -> AsyncIterator[str]:
        for one in (*SAID, answer):
            yield f"data: {json.dumps(one)}\n\n"

    return StreamingResponse(give(), media_type="text/event-stream")


async def test_over_http() -> None:
    async with serving(giving_up) as config:
        await gives_up(config)

"""Servers that make a text of our number: the libraries of clients take it, and so do we."""

import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from tests.upstreams.callers import Quiet, call
from tests.upstreams.served import RESULTS, serving

from remit.model.servers import ServerConfig
from remit.testing.fleets import open_servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching(Quiet):
    """A caller that wants to hear of progress."""

    progress_token: bytes = b'"mine"'
    told: list[Any] = field(default_factory=list[Any])

    async def tell(self, method: str, params: bytes) -> None:
        assert method == "notifications/progress"
        self.told.append(json.loads(params))


def said(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what such a server says to a request."""
    number, method = message["id"], message["method"]
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": str(number)}
    if method not in RESULTS:
        return [{**answer, "error": {"code": -32601, "message": "no"}}]
    progress = {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": str(number), "progress": 1},
    }
    answer["result"] = RESULTS[method]
    return [progress, answer] if method == "tools/call" else [answer]


async def served(config: ServerConfig) -> None:
    watching = Watching()
    async with open_servers(config) as fleet:
        await call(fleet, None)
        await call(fleet, watching)
    assert watching.told == [{"progressToken": "mine", "progress": 1}]


PIPE = f"""
import json, sys
results = {RESULTS!r}
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None:
        continue
    if method == "tools/call":
        progress = dict(progressToken=str(number), progress=1)
        print(json.dumps(dict(jsonrpc="2.0", method="notifications/progress", params=progress)))
    answer = dict(error=dict(code=-32601, message="no"))
    if method in results:
        answer = dict(result=results[method])
    print(json.dumps(dict(jsonrpc="2.0", id=str(number), **answer)), flush=True)
"""


async def test_over_a_pipe() -> None:
    await served(ServerConfig(name="s", command=sys.executable, args=("-c", PIPE)))


async def writing(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    await (await response_to(request))(scope, receive, send)


async def response_to(request: Request) -> Response:
    message = json.loads(await request.body() or b"{}")
    if "id" not in message:
        return Response(status_code=202 if message else 405)
    replies = said(message)
    if len(replies) == 1:
        return JSONResponse(replies[0], headers={"mcp-session-id": "s1"})

    async def give() -> AsyncIterator[str]:
        for one in replies:
            yield f"data: {json.dumps(one)}\n\n"

    return StreamingResponse(give(), media_type="text/event-stream")


async def test_over_http() -> None:
    async with serving(writing) as config:
        await served(config)

"""Applications of a test, served as upstreams."""

import json
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from remit.model.servers import ServerConfig, Transport

RESULTS: Mapping[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "older", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": []},
}
"""What a server of the handshake with one tool answers."""

_PIPE = """
import json, sys
results, said = map(json.loads, sys.argv[1:])
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


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncGenerator[ServerConfig]:
    """Serve *app* while entered; at the end a stream of its own is not waited for."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            app, interface="asgi3", log_config=None, lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            yield ServerConfig(name="s", transport=Transport.HTTP, url=url)
            server.should_exit = True


@dataclass(frozen=True, slots=True)
class OlderServer:
    """A server of the handshake with one tool `t`, which says something before it answers."""

    said: Sequence[Mapping[str, Any]]

    def over_a_pipe(self) -> ServerConfig:
        """Return it as a program."""
        told = (json.dumps(RESULTS), json.dumps(self.said))
        return ServerConfig(name="s", command=sys.executable, args=("-c", _PIPE, *told))

    def over_http(self) -> AbstractAsyncContextManager[ServerConfig]:
        """Serve it while entered."""
        return serving(self._answer)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = json.loads(await Request(scope, receive).body() or b"{}")
        await self._response_to(message)(scope, receive, send)

    def _response_to(self, message: Mapping[str, Any]) -> Response:
        number, method = message.get("id"), str(message.get("method"))
        if method not in RESULTS:
            return Response(status_code=202 if message and number is None else 405)
        answer = {"jsonrpc": "2.0", "id": number, "result": RESULTS[method]}
        if method != "tools/call":
            return JSONResponse(answer)
        return StreamingResponse(_events(*self.said, answer), media_type="text/event-stream")


async def _events(*messages: Mapping[str, Any]) -> AsyncIterator[str]:
    for message in messages:
        yield f"data: {json.dumps(message)}\n\n"

"""A whole gateway in this process with a call at a time through it, for whoever counts or profiles.

The caller and the upstream are threads with plain sockets, whose work is none of the gateway's;
every message goes in one write, so that all arrive in one piece.
"""

import json
import logging
import socket
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import structlog
from bench.targets import LIMITS, ROLES

from remit.admin.keys import make_key
from remit.app.gateway import Gateway, open_gateway
from remit.cli.serving import bind, open_server
from remit.model.principals import DEFAULT_TENANT
from remit.settings import Settings

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ECHO = {
    "name": "echo",
    "description": "Echo the text back.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}
READY_LIMIT = 30.0
"""Seconds until the server behind the gateway must have been found."""


class Caller:
    """One client on one kept connection, which knows when an answer is right.

    Attributes:
        port: Where the gateway listens, for further clients.
        key: What they may show.
    """

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=READY_LIMIT)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._number = 10_000
        head = {
            "host": f"127.0.0.1:{port}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {key}",
            "mcp-protocol-version": VERSION,
            "mcp-method": "tools/call",
            "mcp-name": "fast__echo",
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        self._head = f"POST /mcp HTTP/1.1\r\n{lines}content-length: "

    def call(self) -> bool:
        """Call once, each time with another text of the same length; whether it was echoed."""
        self._number += 1
        text = f"number {self._number} {'x' * 32}"
        params = {"name": "fast__echo", "arguments": {"text": text}, "_meta": META}
        request = {
            "jsonrpc": "2.0",
            "id": self._number,
            "method": "tools/call",
            "params": params,
        }
        body = json.dumps(request, separators=(",", ":"))
        self._socket.sendall(f"{self._head}{len(body)}\r\n\r\n{body}".encode())
        answer = _message(self._socket)[1]
        return answer["id"] == self._number and text in json.dumps(answer.get("result", ""))

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def _message(source: socket.socket) -> tuple[str, dict[str, Any]]:
    """Read one HTTP message; return its head and its JSON body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(source)
    head, _, body = data.partition(b"\r\n\r\n")
    fields = head.decode().lower().split("\r\n")
    length = next((int(one[15:]) for one in fields if one.startswith("content-length:")), 0)
    while len(body) < length:
        body += _more(source)
    return fields[0], json.loads(body) if body else {}


def _more(source: socket.socket) -> bytes:
    read = source.recv(65536)
    if not read:
        raise ConnectionError("the other side has hung up")
    return read


@contextmanager
def upstream() -> Generator[str]:
    """Serve one tool in threads; gives the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener,), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


def _accept(listener: socket.socket) -> None:
    with suppress(OSError):  # closed at the end
        while True:
            link, _ = listener.accept()
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_serve, args=(link,), daemon=True).start()


def _serve(link: socket.socket) -> None:
    with link, suppress(OSError):
        while True:
            first, message = _message(link)
            if not first.startswith("post"):
                link.sendall(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n")
                continue
            answer = {"jsonrpc": "2.0", "id": message.get("id"), **_answer(message)}
            body = json.dumps(answer, separators=(",", ":")).encode()
            link.sendall(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n%b" % (len(body), body)
            )


def _answer(message: Mapping[str, Any]) -> Mapping[str, object]:
    match message["method"]:
        case "server/discover":
            found: dict[str, object] = {
                "supportedVersions": [VERSION],
                "capabilities": {"tools": {"listChanged": False}},
            }
        case "tools/list":
            found = {"tools": [ECHO]}
        case "tools/call":
            text = message["params"]["arguments"]["text"]
            found = {"content": [{"type": "text", "text": text}], "isError": False}
            return {"result": {**found, "resultType": "complete"}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}
    return {"result": {**found, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}}


@asynccontextmanager
async def open_caller() -> AsyncGenerator[Caller]:
    """Open a gateway with the bench's nine roles and its limit, and a caller of it."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name, upstream() as url:
        config = Path(name) / "remit.yaml"
        servers = {"fast": {"transport": "http", "url": url}}
        document = {"mcp_servers": servers, "roles": ROLES, "limits": LIMITS}
        config.write_text(json.dumps(document))
        settings = Settings(config=config, shared_url="memory://")
        async with open_gateway(settings, author="bench") as gateway:
            key = await _key(gateway)
            with bind("127.0.0.1", 0) as listener:
                async with open_server(gateway, listener):
                    port: int = listener.getsockname()[1]
                    await gateway.home.fleet.settled()
                    caller = await anyio.to_thread.run_sync(Caller, port, key)
                    try:
                        yield caller
                    finally:
                        caller.close()


async def calls(caller: Caller, count: int) -> None:
    """Call so often, one after the other, in a thread.

    Raises:
        ValueError: An answer was wrong.
    """

    def call_all() -> None:
        for _ in range(count):
            if not caller.call():
                raise ValueError("a call was answered wrong")

    await anyio.to_thread.run_sync(call_all)


def run(main: Callable[[], Any]) -> Any:
    """Run on the event loop that `remit serve` uses, without its log."""
    quiet = structlog.make_filtering_bound_logger(logging.ERROR)
    structlog.configure(wrapper_class=quiet)
    return anyio.run(main, backend_options={"use_uvloop": True})


async def _key(gateway: Gateway) -> str:
    installation = gateway.installation
    made = await make_key(
        installation.keys,
        "bench",
        tenant=DEFAULT_TENANT,
        now=datetime.now(UTC),
        role="backend_developer",
        roles=installation.policy.declaration.roles,
    )
    return made.text

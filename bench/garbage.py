"""What a warm request leaves behind that only a collection of garbage frees: nothing.

    python -m bench.garbage

A ring of references keeps what a request has taken until the collector finds it, which costs calls
two to six per cent of their time. Counted in a gateway of this process, over sockets.
"""

import gc
import json
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any, Final

import anyio.to_thread
from bench.one_call import META, VERSION, Caller, open_caller, run

WARM, COUNTED = 60, 100
OLDER: Final = "2025-06-18"
"""A version with a handshake."""

ECHO: Final = {"name": "fast__echo", "arguments": {"text": "x"}}
_HEARS: Final = {"progressToken": "p"}

Request = tuple[str, str, Mapping[str, Any]]
"""Version, method and parameters."""

REQUESTS: Final[Mapping[str, Request]] = {
    "a call": (VERSION, "tools/call", ECHO),
    "a call whose caller hears of progress": (VERSION, "tools/call", {**ECHO, "_meta": _HEARS}),
    "a call with bad arguments": (VERSION, "tools/call", {**ECHO, "arguments": {"text": 1}}),
    "a call that is denied": (VERSION, "tools/call", {"name": "git__push", "arguments": {}}),
    "a list of tools": (VERSION, "tools/list", {}),
    "a call of the handshake": (OLDER, "tools/call", ECHO),
    "one whose caller hears of progress": (OLDER, "tools/call", {**ECHO, "_meta": _HEARS}),
    "a list of the handshake": (OLDER, "tools/list", {}),
}


class _Client:
    """Sends requests of both eras on one connection."""

    def __init__(self, caller: Caller) -> None:
        self._connection = HTTPConnection("127.0.0.1", caller.port, timeout=30)
        self._head = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {caller.key}",
        }
        self._session: dict[str, str] = {}

    def ask(self, times: int, version: str, method: str, params: Mapping[str, Any]) -> None:
        for _ in range(times):
            if version == VERSION:
                meta = {**META, **params.get("_meta", {})}
                name = {"mcp-name": params["name"]} if "name" in params else {}
                head = {"mcp-protocol-version": version, "mcp-method": method, **name}
                self._send(head, method, {**params, "_meta": meta})
            else:
                self._send(self._session or self._shake_hands(version), method, params)

    def _shake_hands(self, version: str) -> Mapping[str, str]:
        who = {"name": "bench", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": who}
        number = self._send({}, "initialize", params)
        self._session = {"mcp-protocol-version": version, "mcp-session-id": number}
        return self._session

    def _send(self, head: Mapping[str, str], method: str, params: Mapping[str, Any]) -> str:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._connection.request("POST", "/mcp", body.encode(), {**self._head, **head})
        answer = self._connection.getresponse()
        if b'"jsonrpc"' not in answer.read():
            raise ValueError(f"{method} was answered by {answer.status} without a message")
        return answer.getheader("mcp-session-id", "")


async def left_behind() -> Mapping[str, float]:
    """Return how many objects each kind of request leaves to the collector."""
    found: dict[str, float] = {}
    async with open_caller() as caller:
        client = _Client(caller)
        for what, request in REQUESTS.items():
            await anyio.to_thread.run_sync(client.ask, WARM, *request)
            gc.collect()
            gc.disable()
            await anyio.to_thread.run_sync(client.ask, COUNTED, *request)
            found[what] = gc.collect() / COUNTED
            gc.enable()
    return found


if __name__ == "__main__":
    print(json.dumps(run(left_behind), indent=2))

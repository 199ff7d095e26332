"""Streams that a caller keeps open: of a session, and of `subscriptions/listen`."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2

from remit.testing.gateway import MODERN, Caller


class Stream:
    """An open stream; reading it goes on beside the test."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.ended = anyio.Event()
        self.changed = anyio.Event()

    async def read(self, response: httpx2.Response) -> None:
        async for line in response.aiter_lines():
            if line.startswith("data:"):
                self.heard.append(line)
            if "list_changed" in line:
                self.changed.set()
        self.ended.set()

    @property
    def changes(self) -> int:
        return sum("list_changed" in line for line in self.heard)


@asynccontextmanager
async def opened(
    caller: Caller, verb: str, headers: Mapping[str, str], body: object = None
) -> AsyncGenerator[Stream]:
    usual = {
        "Authorization": f"Bearer {caller.key}",
        "Accept": "application/json,text/event-stream",
    }
    stream = Stream()
    async with (
        caller.http.stream(
            verb, caller.url, headers={**usual, **headers}, json=body, timeout=60
        ) as response,
        anyio.create_task_group() as tasks,
    ):
        assert response.status_code == 200
        tasks.start_soon(stream.read, response)
        yield stream
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def both_eras(caller: Caller) -> AsyncGenerator[tuple[Stream, Stream]]:
    """Open a session's stream and one of `subscriptions/listen`."""
    session = await caller.begin()
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    listen: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": True}, "_meta": meta},
    }
    modern = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
    async with (
        opened(session, "GET", session.era_headers) as older,
        opened(caller, "POST", modern, listen) as newer,
    ):
        yield older, newer

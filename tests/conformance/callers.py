"""Callers of a gateway: the protocol library's client, and one that writes its requests by hand."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import mcp_types as t
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import LEGACY, MODERN, Running

ERAS = ["legacy", MODERN]


async def accept(context: ClientRequestContext, params: t.ElicitRequestParams) -> t.ElicitResult:
    del context
    assert isinstance(params, t.ElicitRequestFormParams)
    properties: Mapping[str, Mapping[str, Any]] = params.requested_schema["properties"]
    examples = {"boolean": True, "string": "Ada"}
    content = {
        name: schema.get("default", examples.get(schema["type"]))
        for name, schema in properties.items()
        if "default" in schema or schema["type"] in examples
    }
    return t.ElicitResult.model_validate({"action": "accept", "content": content})


async def sample(
    context: ClientRequestContext, params: t.CreateMessageRequestParams
) -> t.CreateMessageResult:
    del context
    asked = params.messages[0].content
    assert isinstance(asked, t.TextContent)
    answer = t.TextContent(type="text", text=f"about {asked.text}")
    return t.CreateMessageResult(role="assistant", content=answer, model="m")


async def roots(context: ClientRequestContext) -> t.ListRootsResult:
    del context
    return t.ListRootsResult.model_validate({"roots": [{"uri": "file:///home/ada"}]})


@asynccontextmanager
async def client_of(
    gateway: Running, server: str, mode: str, *, role: str = "caller", **more: Any
) -> AsyncGenerator[Client]:
    headers = {"X-API-Key": gateway.key(role)}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30, verify=TRUSTS_NOBODY) as http,
        Client(
            streamable_http_client(f"{gateway.url}/{server}", http_client=http),
            mode=mode,
            cache=None,
            **more,
        ) as client,
    ):
        yield client


@asynccontextmanager
async def able_client(gateway: Running, server: str, mode: str) -> AsyncGenerator[Client]:
    """Give a client that can be asked everything."""
    async with client_of(
        gateway,
        server,
        mode,
        elicitation_callback=accept,
        sampling_callback=sample,
        list_roots_callback=roots,
    ) as client:
        yield client


def text_of(result: t.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, t.TextContent)
    return block.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """A caller whose requests are written by hand.

    Attributes:
        session: Its session of 2025-11-25, or empty for one of 2026-07-28.
    """

    http: httpx2.AsyncClient
    url: str
    key: str
    session: str = ""

    async def begin(self, capabilities: Mapping[str, Any]) -> "Hand":
        """Return the same caller in a session."""
        info = {"name": "hand", "version": "1"}
        params = {"protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": info}
        reply = await self.post("initialize", params, 0)
        session = reply.headers["mcp-session-id"]
        return Hand(http=self.http, url=self.url, key=self.key, session=session)

    def headers(self) -> dict[str, str]:
        era = {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": LEGACY}
        return {
            "X-API-Key": self.key,
            "Accept": "application/json, text/event-stream",
            **(era if self.session else {}),
        }

    async def post(self, method: str, params: Mapping[str, Any], number: int) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        return await self.http.post(self.url, json=body, headers=self.headers())

    async def say(self, message: Mapping[str, Any]) -> int:
        """Send what needs no answer; return the status."""
        body = {"jsonrpc": "2.0", **message}
        return (await self.http.post(self.url, json=body, headers=self.headers())).status_code

    @asynccontextmanager
    async def called(self, name: str, arguments: Mapping[str, Any]) -> AsyncGenerator["Events"]:
        """Give the events that answer a call."""
        params = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        async with self.http.stream(
            "POST", self.url, json=body, headers=self.headers()
        ) as response:
            assert response.headers["content-type"] == "text/event-stream"
            yield Events(response.aiter_lines())

    async def modern_call(
        self, name: str, arguments: Mapping[str, Any], **more: Any
    ) -> dict[str, Any]:
        """Call a tool in 2026-07-28, as one that can be asked for forms; return the answer."""
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name}
        params = {"name": name, "arguments": arguments, **more, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        reply = await self.http.post(self.url, json=body, headers={**self.headers(), **headers})
        return reply.json()


class Events:
    """Messages of a stream."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    async def next(self) -> dict[str, Any]:
        """Return the next message."""
        async for line in self._lines:
            if line.startswith("data: "):
                return json.loads(line.removeprefix("data: "))
        raise AssertionError("the stream ended")

"""The demo's callers: the real MCP client library, through the real HTTP door."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

LATEST = "auto"
HANDSHAKE = "legacy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a caller got: a text, and whether it was refused by protocol or failed in the tool."""

    text: str
    refused: bool = False
    failed: bool = False


class DemoClient:
    """One caller over HTTP."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def protocol(self) -> str:
        """The MCP revision that was agreed on."""
        return self._client.protocol_version

    @property
    def instructions(self) -> str:
        """What the gateway says about the list."""
        return self._client.instructions or ""

    async def tools(self) -> list[str]:
        """Return the names in this caller's list."""
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Reply:
        """Call a tool."""
        try:
            result = await self._client.call_tool(name, dict(arguments or {}))
        except MCPError as error:
            return Reply(text=f"{error.code} {error.message}", refused=True)
        blocks = [b.text for b in result.content if isinstance(b, mcp_types.TextContent)]
        return Reply(text="\n".join(blocks), failed=bool(result.is_error))


@asynccontextmanager
async def open_client(url: str, key: str, *, mode: str) -> AsyncGenerator[DemoClient]:
    """Connect to the gateway at *url* with *key*, in the protocol era of *mode*."""
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield DemoClient(client)

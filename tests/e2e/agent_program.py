"""An agent without a framework or a model: it does what its prompt says, word by word.

python agent_program.py NAME PLACE    # PLACE: a JSON file with `url` and `keys` of the gateway
"""

import json
import sys
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from remit.servers.agent import AgentServer, Ask, run_agent
from remit.servers.errors import ToolError

NAME, PLACE = sys.argv[1], Path(sys.argv[2])


async def call(ask: Ask, tool: str, arguments: dict[str, Any]) -> str:
    place = json.loads(PLACE.read_text())
    headers = {"Authorization": f"Bearer {place['keys'][NAME]}"}
    meta = cast("types.RequestParamsMeta", dict(ask.meta))
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(place["url"], http_client=http)) as client,
    ):
        try:
            result = await client.call_tool(tool, arguments, meta=meta)
        except MCPError as error:
            result = types.CallToolResult(
                content=[types.TextContent(text=f"was refused it: {error.message}")], is_error=True
            )
    said = " ".join(b.text for b in result.content if isinstance(b, types.TextContent))
    return f"{NAME} used {tool} and {said}" if result.is_error else said


async def answer(ask: Ask) -> str:
    word, _, rest = ask.prompt.partition(" ")
    match word:
        case "use":
            await ask.tell(f"using {rest}")
            sys.stdout.write("what a framework prints\n")
            return await call(ask, rest, {})
        case "ask":
            other, _, prompt = rest.partition(" ")
            return await call(ask, f"{other}__ask", {"prompt": prompt})
        case "wait":
            await ask.tell("waiting")
            try:
                await anyio.sleep_forever()
            finally:
                Path(rest).write_text("cancelled")
        case "refuse":
            raise ToolError(rest)
        case _:
            raise ValueError("password=hunter2")


if __name__ == "__main__":
    run_agent(AgentServer(NAME, answer, description=f"Asks {NAME}.", time_limit=3))

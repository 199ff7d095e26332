"""What the suite runs as a client: remit before its server, and a caller that uses all of it.

    python -m remit.testing.conformance.actor http://localhost:1234/mcp

The scenario is in `MCP_CONFORMANCE_SCENARIO`, what it wants to have called in
`MCP_CONFORMANCE_CONTEXT`.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types as t
from mcp import Client, MCPError
from mcp.client.context import ClientRequestContext

from remit.testing.conformance.behind import open_behind
from remit.testing.conformance.suite import REVISIONS

MODERN: Final = REVISIONS[-1]

_EXAMPLES: Final[Mapping[str, object]] = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "object": {},
    "array": [],
}


async def _fill_in(context: ClientRequestContext, params: t.ElicitRequestParams) -> t.ElicitResult:
    """Accept a form with every default, and an example of what has none."""
    del context
    if not isinstance(params, t.ElicitRequestFormParams):
        return t.ElicitResult(action="decline")
    properties: Mapping[str, Mapping[str, Any]] = params.requested_schema.get("properties", {})
    content = {
        name: schema.get("default", _EXAMPLES.get(schema.get("type", "string")))
        for name, schema in properties.items()
    }
    return t.ElicitResult.model_validate({"action": "accept", "content": content})


def _arguments(tool: t.Tool, others: Mapping[str, t.Tool]) -> dict[str, Any]:
    """Return arguments that fit a tool: examples, and where it wants a schema, another tool's."""
    properties: Mapping[str, Mapping[str, Any]] = tool.input_schema.get("properties", {})
    given = {name: _EXAMPLES.get(schema.get("type", "")) for name, schema in properties.items()}
    if "schema" in properties:
        given["schema"] = next(
            other.input_schema for name, other in others.items() if name != tool.name
        )
    return given


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is null: it fits no schema that does not say so, and remit holds to them."""
    return {name: value for name, value in arguments.items() if value is not None}


async def _use_everything(client: Client) -> list[str]:
    used: list[str] = []
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    wanted = {call["name"]: _given(call["arguments"]) for call in context.get("toolCalls", [])}
    for name, tool in tools.items():
        with suppress(MCPError):
            await client.call_tool(name, wanted.get(name, _arguments(tool, tools)))
            used.append(name)
    with suppress(MCPError):
        for prompt in (await client.list_prompts()).prompts:
            await client.get_prompt(prompt.name)
            used.append(prompt.name)
    with suppress(MCPError):
        for resource in (await client.list_resources()).resources:
            await client.read_resource(str(resource.uri))
            used.append(str(resource.uri))
    return used


async def act(upstream: str, revision: str) -> list[str]:
    """Use everything that the server at *upstream* offers through a gateway; return what worked."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_behind(Path(folder), upstream) as url:
            mode = MODERN if revision == MODERN else "legacy"
            async with Client(url, mode=mode, elicitation_callback=_fill_in, cache=None) as client:
                return await _use_everything(client)


def main() -> None:
    """Act in the scenario of the environment."""
    revision = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") or MODERN
    anyio.run(act, sys.argv[-1], revision)


if __name__ == "__main__":
    main()

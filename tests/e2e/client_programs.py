"""Clients of other makers as programs: each lists, calls and says in JSON what it saw.

They are text because the libraries they use are in environments of their own, which
`scripts/client-tools` makes. `URL`, `KEY` and `CALLS` (JSON names) come from the environment.
"""

LIBRARY_1 = """
import asyncio, json, os
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client

async def main():
    headers = {"Authorization": "Bearer " + os.environ["KEY"]}
    seen = {"answers": {}}
    async with (
        streamablehttp_client(os.environ["URL"], headers) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        seen["protocol"] = (await session.initialize()).protocolVersion
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        for name in json.loads(os.environ["CALLS"]):
            try:
                seen["answers"][name] = (await session.call_tool(name, {})).content[0].text
            except McpError as error:
                seen["answers"][name] = "refused: " + str(error)
    print(json.dumps(seen))

asyncio.run(main())
"""

FASTMCP = """
import asyncio, json, os
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp import MCPError

async def main():
    headers = {"Authorization": "Bearer " + os.environ["KEY"]}
    transport = StreamableHttpTransport(os.environ["URL"], headers=headers)
    seen = {"answers": {}}
    async with Client(transport, mode=os.environ["ERA"]) as client:
        seen["protocol"] = client.protocol_version
        seen["tools"] = [tool.name for tool in await client.list_tools()]
        for name in json.loads(os.environ["CALLS"]):
            try:
                seen["answers"][name] = (await client.call_tool(name, {})).content[0].text
            except MCPError as error:
                seen["answers"][name] = "refused: " + str(error)
    print(json.dumps(seen))

asyncio.run(main())
"""

_TYPESCRIPT = """
const { URL: url, KEY, CALLS, ERA } = process.env;
const headers = { Authorization: `Bearer ${KEY}` };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: ERA } });
await client.connect(transport);
const seen = { protocol: transport.protocolVersion, answers: {} };
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
for (const name of JSON.parse(CALLS)) {
  try {
    seen.answers[name] = (await client.callTool({ name, arguments: {} })).content[0].text;
  } catch (error) {
    seen.answers[name] = `refused: ${error.message}`;
  }
}
await client.close();
console.log(JSON.stringify(seen));
"""

TYPESCRIPT_1 = f"""
import {{ Client }} from "@modelcontextprotocol/sdk/client/index.js";
import {{ StreamableHTTPClientTransport }}
  from "@modelcontextprotocol/sdk/client/streamableHttp.js";
{_TYPESCRIPT}"""

TYPESCRIPT_2 = f"""
import {{ Client, StreamableHTTPClientTransport }} from "@modelcontextprotocol/client";
{_TYPESCRIPT}"""

"""Programs on LangChain, which has packages of its own: each is run in a process beside the test.

`SERVERS` (JSON: name to entry) comes from the environment; each prints one JSON document.
"""

BEGINNING = """
import asyncio, json, os
from types import SimpleNamespace
from remit import MCPServerManager

servers = json.loads(os.environ["SERVERS"])

def manager_of(**policy):
    workspace = SimpleNamespace(context={"mcp_policy": policy})
    return MCPServerManager(SimpleNamespace(mcp_servers=servers), workspace)
"""

LISTING = (
    BEGINNING
    + """
async def main():
    told = {}
    for title, policy in (("all", {}), ("fewer", {"denyIds": ["store"]})):
        async with manager_of(**policy) as manager:
            tools = await manager.get_tools()
            told[title] = [[tool.name, tool.description, tool.args] for tool in tools]
    print(json.dumps(told))

asyncio.run(main())
"""
)

AGENT = (
    BEGINNING
    + """
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

turns = json.loads(os.environ["TURNS"])
bound = []

class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        bound.append([tool.name for tool in tools])
        return self

def asking(number, name, arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": str(number)}])

async def main():
    said = [asking(number, *turn) for number, turn in enumerate(turns)]
    async with manager_of() as manager:
        model = Model(messages=iter([*said, AIMessage("done")]))
        agent = create_agent(model, await manager.get_tools())
        end = await agent.ainvoke({"messages": [("user", "Go on")]})
    told = [[one.status, one.content] for one in end["messages"] if isinstance(one, ToolMessage)]
    print(json.dumps({"bound": bound[0], "told": told, "last": end["messages"][-1].content}))

asyncio.run(main())
"""
)

WITHOUT_AWAIT = (
    BEGINNING
    + """
async def main():
    async with manager_of() as manager:
        tool = (await manager.get_tools())[0]
        print(json.dumps(tool.invoke({"of": "shelf"})))  # in a thread whose loop is running

asyncio.run(main())
"""
)

SCHEMAS = (
    BEGINNING
    + """
from langchain_core.utils.function_calling import convert_to_openai_tool

async def main():
    told = {}
    async with manager_of() as manager:
        for tool in await manager.get_tools():
            offered = convert_to_openai_tool(tool)["function"]
            told[tool.name] = [tool.args_schema, offered["name"], offered["parameters"]]
        rejected = manager.rejected_servers
    print(json.dumps({"told": told, "rejected": rejected}))

asyncio.run(main())
"""
)

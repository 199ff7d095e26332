# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Agents of LangChain and deepagents with a model that has no network."""

import asyncio
from collections.abc import Callable
from typing import Any

from deepagents import create_deep_agent
from inside import (
    GIVEN,
    WAYS,
    Step,
    change,
    happen,
    is_cut_short,
    one_tool,
    report,
    toolset,
    until_listed,
    working_day,
)
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from remit.bridges.langchain import RemitMiddleware, langchain_tools
from remit.bridges.toolset import Toolset
from remit.errors import RemitError


class Scripted(BaseChatModel):
    """Makes the calls it was told, one a turn, and then answers."""

    steps: list[Any] = Field(default_factory=list)
    offered: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        self.offered.append([name_of(tool) for tool in tools])
        return self

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        said = AIMessage("done")
        if self.steps:
            name, arguments = self.steps.pop(0)
            call = {"name": name, "args": arguments, "id": f"call{len(self.steps)}"}
            said = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])

    async def _agenerate(self, *_: Any, **__: Any) -> ChatResult:
        await happen(self.steps)
        return self._generate()


def name_of(tool: Any) -> str:
    return convert_to_openai_tool(tool)["function"]["name"]


class AllAtOnce(Scripted):
    """Calls every tool in its first turn."""

    arguments: dict[str, Any]
    shown: dict[str, Any] = Field(default_factory=dict)

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        functions = [convert_to_openai_tool(tool)["function"] for tool in tools]
        self.shown.update({one["name"]: one["parameters"] for one in functions})
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        calls = [
            {"name": name, "args": self.arguments[name], "id": f"call {name}"}
            for name in self.shown
        ]
        said = AIMessage("done") if len(messages) > 1 else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=said)])

    async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        return self._generate(messages)


Maker = Callable[..., Any]
MAKERS: dict[str, Maker] = {"langchain": create_agent, "deepagents": create_deep_agent}
TASK = {"messages": [("user", "Go on")]}


def agent_of(make: Maker, tools: Toolset, *steps: Step) -> tuple[Any, Scripted]:
    model = Scripted(steps=list(steps))
    return make(model=model, middleware=[RemitMiddleware(tools)]), model


def heard_of(end: Any) -> list[list[Any]]:
    """Return what the model read of its calls, and whether as failed ones."""
    messages = [one for one in end["messages"] if isinstance(one, ToolMessage)]
    return [[one.content, one.status == "error"] for one in messages]


async def offered(make: Maker, tools: Toolset) -> list[str]:
    agent, model = agent_of(make, tools)
    await agent.ainvoke(TASK)
    return [name for name in model.offered[0] if name.startswith("desk__")]


async def day(make: Maker, way: str, times: int) -> dict[str, Any]:
    """Go through everything that a bridge is held to."""
    told: dict[str, Any] = {"progress": []}
    async with toolset("reader", way) as tools, toolset("writer", way) as others:
        await until_listed(tools, new=["desk__read"], gone=["desk__write"])
        told["reader"] = await offered(make, tools)
        told["writer"] = await offered(make, others)

        agent, model = agent_of(make, tools, *working_day(tools))
        end: Any = None
        async for kind, said in agent.astream(TASK, stream_mode=["custom", "values"]):
            if kind == "values":
                end = said
            else:
                told["progress"].append(list(said.values()))
        told["heard"], told["last"] = heard_of(end), end["messages"][-1].content
        told["demoted"] = [name for name in model.offered[-1] if name.startswith("desk__")]
        await change("promoted", tools, new=["desk__read", "desk__write"])
        told["promoted"] = await offered(make, tools)
        await change("as before", tools, gone=["desk__write"])

        agent, _ = agent_of(make, tools, ("desk__slow", {}))
        told["cancelled"] = await is_cut_short(agent.ainvoke(TASK), "slow", times)
    return told


def without_await(way: str) -> list[Any]:
    agent, _ = agent_of(create_agent, toolset("reader", way), ("desk__read", {"of": "sync"}))
    return heard_of(agent.invoke(TASK))


async def looked(make: Maker) -> list[Any]:
    """Return what the model is given of a picture and a sound."""
    agent, _ = agent_of(make, toolset("reader", "remote"), ("desk__look", {}))
    return answer_of(await agent.ainvoke(TASK))


def looked_without_await() -> list[Any]:
    agent, _ = agent_of(create_agent, toolset("reader", "local"), ("desk__look", {}))
    return answer_of(agent.invoke(TASK))


def answer_of(end: Any) -> list[Any]:
    [message] = [one for one in end["messages"] if isinstance(one, ToolMessage)]
    return [message.content, message.artifact]


async def by_themselves(way: str) -> Any:
    """Return what a tool gives that is called outside any agent."""
    async with toolset("reader", way) as tools:
        made = {tool.name: tool for tool in await langchain_tools(tools)}
        blocks = await made["desk__look"].ainvoke({})
        return [await made["desk__read"].ainvoke({"of": "hand"}), blocks]


@tool
def ask(what: str) -> str:
    """Ask the program itself."""
    return f"the program's own {what}"


async def of_the_same_name() -> list[Any]:
    """Return what an agent leaves out, and what its own tool of that name answers."""
    middleware = RemitMiddleware(one_tool("ask"))
    model = Scripted(steps=[("ask", {"what": "answer"})])
    end = await create_agent(model, [ask], middleware=[middleware]).ainvoke(TASK)
    return [middleware.left_out, heard_of(end)]


async def broken() -> dict[str, Any]:
    wrong = {
        "remote": Toolset.remote(GIVEN["url"], key="rmt_wrong"),
        "local": Toolset.local(GIVEN["config"], subject="role:nobody"),
        "away": Toolset.remote("http://127.0.0.1:9", key="rmt_wrong"),
    }
    told = {}
    for name, tools in wrong.items():
        try:
            await agent_of(create_agent, tools)[0].ainvoke(TASK)
        except RemitError as error:
            told[name] = str(error)
    return told


async def published() -> dict[str, Any]:
    """Call every tool that is published, all in one turn."""
    async with toolset("reader", "local") as tools:
        middleware = RemitMiddleware(tools)
        model = AllAtOnce(arguments=GIVEN["arguments"])
        end = await create_agent(model, middleware=[middleware]).ainvoke(TASK)
    answers = {one.name: one.content for one in end["messages"] if isinstance(one, ToolMessage)}
    return {"offered": model.shown, "left_out": middleware.left_out, "answers": answers}


def main() -> None:
    if "arguments" in GIVEN:
        report(asyncio.run(published()))
        return
    told: dict[str, Any] = {}
    days = [*(("langchain", way) for way in WAYS), ("deepagents", "remote")]
    for times, (name, way) in enumerate(days, start=1):
        told[f"{name} {way}"] = asyncio.run(day(MAKERS[name], way, times))
    told["without await"] = {way: without_await(way) for way in WAYS}
    told["looked"] = {name: asyncio.run(looked(make)) for name, make in MAKERS.items()}
    told["looked without await"] = looked_without_await()
    told["by themselves"] = {way: asyncio.run(by_themselves(way)) for way in WAYS}
    told["same name"] = asyncio.run(of_the_same_name())
    told["broken"] = asyncio.run(broken())
    report(told)


main()

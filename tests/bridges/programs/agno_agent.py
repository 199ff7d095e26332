# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""An agent of Agno with a model that has no network: what it is offered, calls and reads."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
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
    working_day,
)

from remit.bridges.agno import RemitToolkit, ToolsEachTurn
from remit.bridges.toolset import Toolset
from remit.library.waiting import waiting


class Scripted(Model):
    """Makes the calls it was told, one a turn, and then answers."""

    def __init__(self, *steps: Step) -> None:
        super().__init__(id="scripted")
        self.steps: list[Any] = list(steps)
        self.offered: list[list[str]] = []

    def _next(self, tools: Sequence[Any] | None) -> ModelResponse:
        self.offered.append([tool["function"]["name"] for tool in tools or []])
        if not self.steps:
            return ModelResponse(role="assistant", content="done")
        return ModelResponse(role="assistant", tool_calls=[_call(*self.steps.pop(0))])

    def invoke(self, *_: Any, tools: Any = None, **__: Any) -> ModelResponse:
        waiting(happen)(self.steps)
        return self._next(tools)

    async def ainvoke(self, *_: Any, tools: Any = None, **__: Any) -> ModelResponse:
        await happen(self.steps)
        return self._next(tools)

    def invoke_stream(self, *_: Any, tools: Any = None, **__: Any) -> Any:
        yield self.invoke(tools=tools)

    async def ainvoke_stream(self, *_: Any, tools: Any = None, **__: Any) -> Any:
        yield await self.ainvoke(tools=tools)

    def _parse_provider_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    _parse_provider_response_delta = _parse_provider_response


class Following(ToolsEachTurn, Scripted):
    """Sees what changes while its run goes on."""


class AllAtOnce(Scripted):
    """Calls every tool in its first turn."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__()
        self.arguments = arguments
        self.shown: dict[str, Any] = {}

    def _next(self, tools: Sequence[Any] | None) -> ModelResponse:
        if self.shown:
            return super()._next(tools)
        functions = [tool["function"] for tool in tools or []]
        self.shown = {one["name"]: one["parameters"] for one in functions}
        return ModelResponse(
            role="assistant",
            tool_calls=[_call(name, self.arguments[name]) for name in self.shown],
        )


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call {name}", "type": "function", "function": function}


def agent_of(toolkit: RemitToolkit, *steps: Step) -> Agent:
    return Agent(model=Scripted(*steps), tools=[toolkit], telemetry=False)


def heard_of(run: Any) -> list[list[Any]]:
    """Return what the model read of its calls, and whether as failed ones."""
    return [[one.content, one.tool_call_error] for one in run.messages if one.role == "tool"]


async def offered(toolkit: RemitToolkit) -> list[str]:
    agent = agent_of(toolkit)
    await agent.arun("What is there?")
    return agent.model.offered[0]


async def day(way: str, times: int) -> dict[str, Any]:
    """Go through everything that a bridge is held to."""
    told: dict[str, Any] = {}
    progress: list[Any] = []
    async with toolset("reader", way) as tools, toolset("writer", way) as others:
        toolkit = RemitToolkit(tools, on_progress=lambda *news: progress.append(news))
        told["reader"] = await offered(toolkit)
        told["writer"] = await offered(RemitToolkit(others))

        run = await agent_of(toolkit, *working_day(tools)).arun("Go on")
        told["heard"], told["last"] = heard_of(run), run.content
        told["progress"] = progress
        told["demoted"] = await offered(toolkit)
        await change("promoted", tools, new=["desk__read", "desk__write"])
        told["promoted"] = await offered(toolkit)
        await change("as before", tools, gone=["desk__write"])

        run = agent_of(toolkit, ("desk__slow", {})).arun("Wait")
        told["cancelled"] = await is_cut_short(run, "slow", times)
    return told


def looked(way: str) -> list[Any]:
    """Return what the model is given of a picture and a sound."""
    run = agent_of(RemitToolkit(toolset("reader", way)), ("desk__look", {})).run("Go on")
    answer, attached = run.messages[-3:-1]
    assert answer.role == "tool"
    return [
        answer.content,
        attached.role,
        *([one.mime_type, one.content.hex()] for one in attached.images),
        *([one.mime_type, one.format, one.content.hex()] for one in attached.audio),
    ]


HOW = {"arun": "remote", "arun streamed": "local", "run": "local", "run streamed": "remote"}


def within_a_run(how: str) -> dict[str, Any]:
    """Return what a run sees that tools are added to, and then taken from."""
    tools, hooked = toolset("reader", HOW[how]), []
    waiting(change)("as before", tools, new=["desk__read"], gone=["desk__write"])
    model = Following(
        lambda: change("promoted", tools, new=["desk__read", "desk__write"]),
        ("desk__read", {"of": how}),
        ("desk__write", {"of": "true"}),
        lambda: change("demoted", tools, gone=["desk__read", "desk__write"]),
        ("desk__read", {"of": "secret"}),
        ("desk__nothing", {}),
    )

    def hook(name: str, function: Any, arguments: dict[str, Any]) -> Any:
        hooked.append(name)
        return function(**arguments)

    own = [RemitToolkit(tools), nothing_of_remits]
    agent = Agent(model=model, tools=own, tool_hooks=[hook], telemetry=False)
    run = asyncio.run(awaited(agent, how)) if how.startswith("arun") else called(agent, how)
    return {"offered": model.offered, "heard": heard_of(run), "hooked": hooked}


async def awaited(agent: Agent, how: str) -> Any:
    if how == "arun":
        return await agent.arun("Go on")
    return [one async for one in agent.arun("Go on", stream=True, yield_run_output=True)][-1]


def called(agent: Agent, how: str) -> Any:
    if how == "run":
        return agent.run("Go on")
    return list(agent.run("Go on", stream=True, yield_run_output=True))[-1]


def nothing_of_remits() -> str:
    """Do nothing; the agent's own."""
    return "nothing"


def without_await(way: str) -> list[Any]:
    agent = agent_of(RemitToolkit(toolset("reader", way)), ("desk__read", {"of": "sync"}))
    return heard_of(agent.run("Go on"))


async def broken() -> dict[str, Any]:
    wrong = {
        "remote": Toolset.remote(GIVEN["url"], key="rmt_wrong"),
        "local": Toolset.local(GIVEN["config"], subject="role:nobody"),
        "away": Toolset.remote("http://127.0.0.1:9", key="rmt_wrong"),
    }
    told = {}
    for name, tools in wrong.items():
        run = await agent_of(RemitToolkit(tools)).arun("Go on")
        told[name] = [run.status, run.content]
    return told


async def broken_later() -> list[Any]:
    """Meet the broken set-up at a call, and not when the tools are listed."""
    run = await agent_of(RemitToolkit(one_tool("odd")), ("odd", {})).arun("Go on")
    return [run.status, run.tools[0].tool_call_error, run.tools[0].result]


def left_out() -> dict[str, str]:
    toolkit = RemitToolkit(one_tool("odd", "_agno_agent", "of"))
    return dict(toolkit.left_out) if toolkit.get_functions() == {} else {}


async def published() -> dict[str, Any]:
    """Call every tool that is published, all in one turn."""
    async with toolset("reader", "local") as tools:
        toolkit = RemitToolkit(tools)
        model = AllAtOnce(GIVEN["arguments"])
        run = await Agent(model=model, tools=[toolkit], telemetry=False).arun("Go on")
    answers = {one.tool_name: one.content for one in run.messages if one.role == "tool"}
    return {"offered": model.shown, "left_out": toolkit.left_out, "answers": answers}


def main() -> None:
    if "arguments" in GIVEN:
        report(asyncio.run(published()))
        return
    told: dict[str, Any] = {
        way: asyncio.run(day(way, times)) for times, way in enumerate(WAYS, start=1)
    }
    told["without await"] = {way: without_await(way) for way in WAYS}
    told["looked"] = {way: looked(way) for way in WAYS}
    told["within a run"] = {how: within_a_run(how) for how in HOW}
    told["left out"] = left_out()
    told["broken"] = asyncio.run(broken())
    told["broken later"] = asyncio.run(broken_later())
    report(told)


main()

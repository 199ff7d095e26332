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

from remit.bridges.agno import RemitToolkit
from remit.bridges.toolset import Toolset


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
        return self._next(tools)

    async def ainvoke(self, *_: Any, tools: Any = None, **__: Any) -> ModelResponse:
        await happen(self.steps)
        return self._next(tools)

    def invoke_stream(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    ainvoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke_stream


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
    told["left out"] = left_out()
    told["broken"] = asyncio.run(broken())
    report(told)


main()

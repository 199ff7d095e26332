# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""An agent of pydantic-ai with a model that has no network: what it is offered, calls and reads."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from inside import GIVEN, WAYS, Step, change, is_cut_short, report, toolset, working_day
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from remit.bridges.pydantic_ai import RemitProgress, RemitToolset
from remit.bridges.toolset import Toolset


class Script:
    """A model that makes the calls it was told, one a turn, and then answers."""

    def __init__(self, *steps: Step) -> None:
        self.steps: list[Any] = list(steps)
        self.offered: list[list[str]] = []
        self.heard: list[list[Any]] = []

    async def answer(self, messages: Any, info: Any) -> ModelResponse:
        self.offered.append([tool.name for tool in info.function_tools])
        for part in messages[-1].parts:
            if part.part_kind in {"tool-return", "retry-prompt"}:
                has_failed = isinstance(part, RetryPromptPart) or part.outcome != "success"
                self.heard.append([str(part.content), has_failed])
        while self.steps and callable(self.steps[0]):
            await self.steps.pop(0)()
        if not self.steps:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(*self.steps.pop(0))])

    async def stream(self, messages: Any, info: Any) -> AsyncIterator[Any]:
        for part in (await self.answer(messages, info)).parts:
            if isinstance(part, ToolCallPart):
                yield {0: DeltaToolCall(name=part.tool_name, json_args=part.args_as_json_str())}
            else:
                yield part.content

    def agent(self, tools: Toolset) -> Agent:
        model = FunctionModel(self.answer, stream_function=self.stream)
        return Agent(model, toolsets=[RemitToolset(tools, id="remit")], retries=2)


async def offered(tools: Toolset) -> list[str]:
    script = Script()
    await script.agent(tools).run("What is there?")
    return script.offered[0]


async def day(way: str, times: int) -> dict[str, Any]:
    """Go through everything that a bridge is held to."""
    told: dict[str, Any] = {}
    progress: list[Any] = []

    async def listen(_: Any, events: Any) -> None:
        async for event in events:
            if isinstance(event, RemitProgress):
                progress.append([event.tool_name, event.done, event.total, event.message])  # noqa: PERF401

    async with toolset("reader", way) as tools, toolset("writer", way) as others:
        told["reader"], told["writer"] = await offered(tools), await offered(others)

        script = Script(*working_day(tools))
        run = await script.agent(tools).run("Go on", event_stream_handler=listen)
        told |= {"heard": script.heard, "last": run.output, "progress": progress}
        # The same run saw the change: it asks before each model request.
        told["same run"] = [script.offered[0], script.offered[-1]]
        told["demoted"] = await offered(tools)
        await change("promoted", tools, new=["desk__read", "desk__write"])
        told["promoted"] = await offered(tools)
        await change("as before", tools, gone=["desk__write"])
        told["unheard"] = await unheard(tools)

        run = Script(("desk__slow", {})).agent(tools).run("Wait")
        told["cancelled"] = await is_cut_short(run, "slow", times)
    return told


async def unheard(tools: Toolset) -> list[list[Any]]:
    """Return what comes of progress that nobody listens to."""
    script = Script(("desk__steps", {}))
    await script.agent(tools).run("Go on")
    return script.heard


def without_await(way: str) -> list[Any]:
    script = Script(("desk__read", {"of": "sync"}))
    script.agent(toolset("reader", way)).run_sync("Go on")
    return script.heard


async def renamed() -> list[list[Any]]:
    """Return what comes of a call where the framework has put a prefix before the names."""
    script = Script(("my_desk__read", {"of": "prefixed"}))
    tools = RemitToolset(toolset("reader", "remote")).prefixed("my")
    await Agent(FunctionModel(script.answer), toolsets=[tools]).run("Go on")
    return script.heard


async def broken() -> dict[str, str]:
    wrong = {
        "remote": Toolset.remote(GIVEN["url"], key="rmt_wrong"),
        "local": Toolset.local(GIVEN["config"], subject="role:nobody"),
        "away": Toolset.remote("http://127.0.0.1:9", key="rmt_wrong"),
    }
    told = {}
    for name, tools in wrong.items():
        try:
            await Script().agent(tools).run("Go on")
        except Exception as error:  # noqa: BLE001 - which it is is what the test asks
            told[name] = f"{type(error).__name__}: {error}"
    return told


def main() -> None:
    told: dict[str, Any] = {
        way: asyncio.run(day(way, times)) for times, way in enumerate(WAYS, start=1)
    }
    told["without await"] = {way: without_await(way) for way in WAYS}
    told["renamed"] = asyncio.run(renamed())
    told["broken"] = asyncio.run(broken())
    report(told)


main()

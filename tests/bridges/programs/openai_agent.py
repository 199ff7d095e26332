# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""An agent of the OpenAI Agents SDK with a model that has no network."""

import asyncio
import json
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from inside import GIVEN, WAYS, Step, change, is_cut_short, report, toolset, working_day
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from remit.bridges.openai_agents import RemitServer
from remit.bridges.toolset import Toolset

CONFIG = RunConfig(tool_not_found_behavior="return_error_to_model", tracing_disabled=True)


class Script(Model):
    """Makes the calls it was told, one a turn, and then answers."""

    def __init__(self, *steps: Step) -> None:
        self.steps: list[Any] = list(steps)
        self.offered: list[list[str]] = []
        self.heard: list[list[Any]] = []
        self.failed: list[bool] = []

    async def get_response(self, *_: Any, tools: Any, **given: Any) -> ModelResponse:
        said = given["input"]
        self.offered.append([tool.name for tool in tools])
        if isinstance(said, list) and said[-1].get("type") == "function_call_output":
            text = _text_of(said[-1]["output"])
            has_failed = self.failed.pop() if self.failed else True  # else none of remit's tools
            self.heard.append([text, has_failed])
        while self.steps and callable(self.steps[0]):
            await self.steps.pop(0)()
        if not self.steps:
            return _response(_said("done"))
        name, arguments = self.steps.pop(0)
        call = ResponseFunctionToolCall(
            type="function_call",
            call_id=f"call{len(self.steps)}",
            name=name,
            arguments=json.dumps(arguments),
        )
        return _response(call)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def note(self, context: Any) -> None:
        self.failed.append(context.is_error)

    def agent(self, tools: Toolset, **options: Any) -> Agent:
        server = RemitServer(tools, custom_data_extractor=self.note, **options)
        return Agent("scripted", model=self, mcp_servers=[server])


def _response(item: Any) -> ModelResponse:
    return ModelResponse(output=[item], usage=Usage(), response_id=None)


def _said(text: str) -> ResponseOutputMessage:
    said = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="1", type="message", role="assistant", status="completed", content=[said]
    )


def _text_of(output: Any) -> str:
    if isinstance(output, str):
        return output
    return "".join(part["text"] for part in output)


async def run(agent: Agent) -> Any:
    return await Runner.run(agent, "Go on", run_config=CONFIG)


async def offered(tools: Toolset) -> list[str]:
    script = Script()
    await run(script.agent(tools))
    return script.offered[0]


async def day(way: str, times: int) -> dict[str, Any]:
    """Go through everything that a bridge is held to."""
    told: dict[str, Any] = {}
    progress: list[Any] = []
    async with toolset("reader", way) as tools, toolset("writer", way) as others:
        told["reader"], told["writer"] = await offered(tools), await offered(others)

        script = Script(*working_day(tools))
        done = await run(script.agent(tools, on_progress=lambda *news: progress.append(news)))
        told |= {"heard": script.heard, "last": done.final_output, "progress": progress}
        told["same run"] = [script.offered[0], script.offered[-1]]
        told["demoted"] = await offered(tools)
        await change("promoted", tools, new=["desk__read", "desk__write"])
        told["promoted"] = await offered(tools)
        await change("as before", tools, gone=["desk__write"])

        waiting = run(Script(("desk__slow", {})).agent(tools))
        told["cancelled"] = await is_cut_short(waiting, "slow", times)
    return told


def without_await(way: str) -> list[Any]:
    script = Script(("desk__read", {"of": "sync"}))
    Runner.run_sync(script.agent(toolset("reader", way)), "Go on", run_config=CONFIG)
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
            await run(Script().agent(tools))
        except Exception as error:  # noqa: BLE001 - which it is is what the test asks
            told[name] = f"{type(error).__name__}: {error}"
    return told


def main() -> None:
    told: dict[str, Any] = {
        way: asyncio.run(day(way, times)) for times, way in enumerate(WAYS, start=1)
    }
    told["without await"] = {way: without_await(way) for way in WAYS}
    told["broken"] = asyncio.run(broken())
    report(told)


main()

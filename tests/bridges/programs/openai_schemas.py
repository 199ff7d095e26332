# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Every published tool as one of the OpenAI Agents SDK: what is shown, and one call of each."""

import asyncio
import json
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from inside import GIVEN, report, toolset
from openai.types.responses import ResponseFunctionToolCall

from remit.bridges.openai_agents import RemitServer

AT_ONCE = 100


class Finished(Exception):
    """Everything was called."""


class Caller(Model):
    """Calls every tool, many a turn."""

    def __init__(self) -> None:
        self.waiting = list(GIVEN["arguments"].items())
        self.shown: dict[str, Any] = {}
        self.strict: list[str] = []
        self.answers: dict[str, str] = {}

    async def get_response(self, *_: Any, tools: Any, **given: Any) -> ModelResponse:
        said = given["input"]
        self.shown.update({tool.name: tool.params_json_schema for tool in tools})
        self.strict += [tool.name for tool in tools if tool.strict_json_schema]
        for item in said if isinstance(said, list) else ():
            if item.get("type") == "function_call_output":
                self.answers[item["call_id"]] = json.dumps(item["output"])
        turn = self.waiting[:AT_ONCE]
        del self.waiting[:AT_ONCE]
        if not turn:
            raise Finished
        calls = [
            ResponseFunctionToolCall(
                type="function_call", call_id=name, name=name, arguments=json.dumps(arguments)
            )
            for name, arguments in turn
        ]
        return ModelResponse(output=calls, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    caller = Caller()
    async with toolset("reader", "local") as tools:
        server = RemitServer(tools)
        agent = Agent("caller", model=caller, mcp_servers=[server])
        try:
            await Runner.run(agent, "Go on", run_config=RunConfig(tracing_disabled=True))
        except Finished:
            report(
                {
                    "offered": caller.shown,
                    "left_out": server.left_out,
                    "answers": caller.answers,
                    "strict": caller.strict,
                }
            )


asyncio.run(main())

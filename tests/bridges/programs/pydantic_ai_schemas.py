# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Every published tool as one of pydantic-ai: what the model is shown, and one call of each."""

import asyncio
from typing import Any

from inside import GIVEN, report, toolset
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from remit.bridges.pydantic_ai import RemitToolset

AT_ONCE = 100


async def main() -> None:
    shown: dict[str, Any] = {}
    answers: dict[str, str] = {}
    waiting = list(GIVEN["arguments"].items())

    async def answer(messages: Any, info: Any) -> ModelResponse:
        shown.update({tool.name: tool.parameters_json_schema for tool in info.function_tools})
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                answers[part.tool_name] = str(part.content)
        turn = waiting[:AT_ONCE]
        del waiting[:AT_ONCE]
        return ModelResponse(parts=[ToolCallPart(*call) for call in turn] or [TextPart("done")])

    async with toolset("reader", "local") as tools:
        await Agent(FunctionModel(answer), toolsets=[RemitToolset(tools)]).run("Go on")
    report({"offered": shown, "left_out": {}, "answers": answers})


asyncio.run(main())

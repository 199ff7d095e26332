# pyright: basic, reportMissingImports=false
# Frameworks are in environments of their own, which the type checker does not see.
"""An agent of pydantic-ai at work, by either way; the model is a script."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

sys.path.insert(0, str(Path(__file__).parent))
import inside

from remit.bridges.pydantic_ai import RemitProgress, RemitToolset


class Script:
    """A model that follows a list of steps, and notes what it is offered and what it reads."""

    def __init__(self, *steps: Any) -> None:
        self._steps = list(steps)
        self.offered: list[list[str]] = []
        self.read: list[list[str]] = []

    async def answer(self, messages: Any, info: Any) -> ModelResponse:
        self.offered.append(sorted(tool.name for tool in info.function_tools))
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                self.read.append([part.outcome, str(part.content)])
            elif isinstance(part, RetryPromptPart):
                self.read.append(["retry", str(part.content)])
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, tuple):
                return ModelResponse(parts=[ToolCallPart(*step)])
            await step()
        return ModelResponse(parts=[TextPart("done")])

    async def stream(self, messages: Any, info: Any) -> AsyncIterator[Any]:
        for part in (await self.answer(messages, info)).parts:
            if isinstance(part, ToolCallPart):
                yield {0: DeltaToolCall(name=part.tool_name, json_args=part.args_as_json_str())}
            else:
                yield part.content

    async def run(self, toolset: Any, **options: Any) -> dict[str, Any]:
        model = FunctionModel(self.answer, stream_function=self.stream)
        agent = Agent(model, toolsets=[RemitToolset(toolset)], retries=3)
        result = await agent.run("go", **options)
        return {"offered": self.offered, "read": self.read, "last": result.output}


async def at_work(turn: int, way: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    async with inside.toolset("reader", way) as reader, inside.toolset("writer", way) as writer:
        told["writer"] = await Script(("desk__write", {"by": way})).run(writer)
        told["reader"] = await Script(
            ("desk__read", {"of": way}),
            ("desk__read", {"of": 7}),
            ("desk__write", {"by": "nobody"}),
            ("desk__die", {}),
            ("desk__read", {"of": f"{way} again"}),
        ).run(reader)

        async def demote() -> None:
            await inside.change("demoted", reader, gone=["desk__read"])

        async def promote() -> None:
            await inside.change("promoted", reader, new=["desk__write"])

        # What was offered is denied when it is called; what is granted meanwhile is offered next.
        told["changing"] = await Script(
            demote,
            ("desk__read", {"of": "denied"}),
            promote,
            ("desk__steps", {}),
            ("desk__write", {"by": "promoted"}),
        ).run(reader)
        await inside.change("as before", reader, gone=["desk__write"])
        told["progress"] = await progress_of(reader)
        await cancelled(reader, turn)
    return told


async def progress_of(reader: Any) -> list[Any]:
    heard: list[Any] = []

    async def listen(_: Any, events: Any) -> None:
        heard.extend(
            [
                [event.tool_name, event.done, event.total, event.message]
                async for event in events
                if isinstance(event, RemitProgress)
            ]
        )

    await Script(("desk__steps", {})).run(reader, event_stream_handler=listen)
    await Script(("desk__steps", {})).run(reader)  # nobody listens, and nothing is the worse for it
    return heard


async def cancelled(reader: Any, turn: int) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Script(("desk__slow", {})).run, reader)
        await inside.until_ran("slow", times=turn)
        tasks.cancel_scope.cancel()


async def main() -> None:
    inside.report({way: await at_work(turn, way) for turn, way in enumerate(inside.WAYS, 1)})


anyio.run(main)

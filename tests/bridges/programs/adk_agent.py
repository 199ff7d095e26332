# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""An agent of Google's ADK whose model has no network: what it is offered, calls and reads."""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from inside import GIVEN, WAYS, Step, change, is_cut_short, report, toolset, working_day

from remit.bridges.adk import RemitToolset
from remit.bridges.toolset import Toolset
from remit.errors import RemitError


class Scripted(BaseLlm):
    """Makes the calls it was told, one a turn, and then answers."""

    model: str = "scripted"
    steps: list[Any]
    offered: list[dict[str, Any]]
    heard: list[list[Any]]

    async def generate_content_async(
        self,
        llm_request: Any,
        stream: bool = False,  # noqa: ARG002 - theirs
    ) -> AsyncGenerator[LlmResponse]:
        declared = [
            one for tool in llm_request.config.tools or [] for one in tool.function_declarations
        ]
        self.offered.append({one.name: one.parameters_json_schema for one in declared})
        for part in llm_request.contents[-1].parts:
            if part.function_response:
                [(kind, text)] = part.function_response.response.items()
                self.heard.append([text, kind == "error"])
        while self.steps and callable(self.steps[0]):
            happens: Any = self.steps.pop(0)
            await happens()
        calls = self.steps.pop(0) if self.steps else None
        parts = [types.Part(text="done")]
        if calls is not None:
            parts = [
                types.Part.from_function_call(name=name, args=arguments)
                for name, arguments in (calls if isinstance(calls, list) else [calls])
            ]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


async def run(bridge: RemitToolset, *steps: Step | list[Any]) -> tuple[Scripted, str]:
    """Return the model after its run, and the last that it said."""
    model = Scripted(steps=list(steps), offered=[], heard=[])
    runner = InMemoryRunner(LlmAgent(name="scripted", model=model, tools=[bridge]), app_name="x")
    session = await runner.session_service.create_session(app_name="x", user_id="u")
    said = ""
    asked = types.Content(role="user", parts=[types.Part(text="Go on")])
    events = runner.run_async(user_id="u", session_id=session.id, new_message=asked)
    async for event in events:
        said = "".join(part.text or "" for part in event.content.parts) if event.content else said
    return model, said


async def offered(bridge: RemitToolset) -> list[str]:
    return list((await run(bridge))[0].offered[0])


async def day(way: str, times: int) -> dict[str, Any]:
    """Go through everything that a bridge is held to."""
    told: dict[str, Any] = {}
    progress: list[Any] = []
    async with toolset("reader", way) as tools, toolset("writer", way) as others:
        bridge = RemitToolset(tools, on_progress=lambda *news: progress.append(news))
        told["reader"] = await offered(bridge)
        told["writer"] = await offered(RemitToolset(others))

        model, told["last"] = await run(bridge, *working_day(tools))
        told["heard"], told["progress"] = model.heard, progress
        told["same run"] = [list(model.offered[0]), list(model.offered[-1])]
        told["demoted"] = await offered(bridge)
        promoted = partial(change, "promoted", tools, new=["desk__read", "desk__write"])
        model, _ = await run(bridge, promoted, ("desk__look", {}), ("desk__write", {}))
        told["promoted"] = list(model.offered[-1])
        told["added"] = [list(model.offered[0]), model.heard[-1]]
        await change("as before", tools, gone=["desk__write"])

        prefixed = RemitToolset(tools, tool_name_prefix="my", tool_filter=["desk__read"])
        model, _ = await run(prefixed, ("my_desk__read", {"of": "prefixed"}))
        told["prefixed"] = [list(model.offered[0]), model.heard]

        told["cancelled"] = await is_cut_short(run(bridge, ("desk__slow", {})), "slow", times)
    return told


async def broken() -> dict[str, Any]:
    wrong = {
        "remote": Toolset.remote(GIVEN["url"], key="rmt_wrong"),
        "local": Toolset.local(GIVEN["config"], subject="role:nobody"),
        "away": Toolset.remote("http://127.0.0.1:9", key="rmt_wrong"),
    }
    told = {}
    for name, tools in wrong.items():
        try:
            await run(RemitToolset(tools))
        except RemitError as error:
            told[name] = str(error)
    return told


async def published() -> dict[str, Any]:
    """Call every tool that is published, all in one turn."""
    async with toolset("reader", "local") as tools:
        bridge = RemitToolset(tools)
        names = [tool.name for tool in await bridge.get_tools()]
        model, _ = await run(bridge, [(name, GIVEN["arguments"][name]) for name in names])
    answers = dict(zip(names, [text for text, _ in model.heard], strict=True))
    return {"offered": model.offered[0], "left_out": bridge.left_out, "answers": answers}


async def main() -> None:
    if "arguments" in GIVEN:
        report(await published())
        return
    told: dict[str, Any] = {way: await day(way, times) for times, way in enumerate(WAYS, start=1)}
    report(told | {"broken": await broken()})


asyncio.run(main())

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""An agent of CrewAI whose model has no network: what it is offered, calls and reads."""

import asyncio
import json
from typing import Any

from crewai import Agent, BaseLLM, Crew, Task
from crewai.events import crewai_event_bus
from crewai.hooks import HookAborted, register_before_llm_call_hook, unregister_before_llm_call_hook
from inside import GIVEN, Step, change, is_cut_short, report, toolset, until_ran, working_day

from remit.bridges.crewai import RemitTools
from remit.bridges.toolset import Toolset
from remit.errors import RemitError
from remit.library.waiting import waiting


class Scripted(BaseLLM):
    """Makes the calls it was told, one a turn, and then answers."""

    llm_type: str = "scripted"
    steps: list[Any]
    offered: list[dict[str, Any]]
    heard: list[str]

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, tools: Any = None, **_: Any) -> Any:
        functions = [tool["function"] for tool in tools or []]
        self.offered.append({one["name"]: one["parameters"] for one in functions})
        answers = [one for one in messages if one.get("role") == "tool"]
        self.heard[:] = [str(one["content"]) for one in answers]
        while self.steps and callable(self.steps[0]):
            happens: Any = self.steps.pop(0)
            waiting(happens)()
        calls = self.steps.pop(0) if self.steps else None
        if calls is None:
            return "done"
        return [
            {"id": f"{name}{number}", "type": "function", "function": function}
            for number, (name, arguments) in enumerate(
                calls if isinstance(calls, list) else [calls]
            )
            for function in [{"name": name, "arguments": json.dumps(arguments)}]
        ]


def agent_of(tools: list[Any], *steps: Any) -> Agent:
    llm = Scripted(model="scripted", steps=list(steps), offered=[], heard=[])
    told = {"role": "tester", "goal": "test", "backstory": "none"}
    return Agent(**told, llm=llm, tools=tools, max_iter=50, verbose=False)


def spelled(steps: list[Step]) -> list[Any]:
    """Return steps with the names that CrewAI gives its tools."""
    return [step if callable(step) else (step[0].replace("__", "_"), step[1]) for step in steps]


def offered(bridge: RemitTools) -> list[str]:
    agent = agent_of(bridge.tools())
    agent.kickoff("What is there?")
    return [name.replace("desk_", "desk__") for name in agent.llm.offered[0]]


def day() -> dict[str, Any]:
    """Go through everything that a bridge is held to."""
    told: dict[str, Any] = {}
    progress: list[Any] = []
    tools, others = toolset("reader", "remote"), toolset("writer", "remote")
    bridge = RemitTools(tools, on_progress=lambda *news: progress.append(news))
    told["reader"] = offered(bridge)
    told["writer"] = offered(RemitTools(others))

    agent = agent_of(bridge.tools(), *spelled(working_day(tools)))
    end = agent.kickoff("Go on")
    failed = {failure.message for failure in end.tool_failures}
    told["heard"] = [[text, text in failed] for text in agent.llm.heard]
    told["last"], told["progress"] = end.raw, progress
    told["demoted"] = offered(bridge)
    waiting(change)("promoted", tools, new=["desk__read", "desk__write"])
    told["promoted"] = offered(bridge)
    waiting(change)("as before", tools, gone=["desk__write"])

    told["within a run"] = [followed(tools, kind) for kind in ("kickoff", "crew")]
    told["twice"] = crew_of(bridge)
    waits = agent_of(bridge.tools(), ("desk_slow", {})).kickoff_async("Wait")
    told["cancelled"] = asyncio.run(is_cut_short(waits, "slow"))
    told["cut short"] = asyncio.run(cut_short(tools))
    told["again"] = [tool.name for tool in bridge.tools()]
    waiting(others.aclose)()
    return told


def followed(tools: Toolset, kind: str) -> dict[str, Any]:
    """Return what a run sees that tools are added to, and then taken from."""
    bridge = RemitTools(tools)
    agent = agent_of(
        bridge.tools(),
        lambda: change("promoted", tools, new=["desk__read", "desk__write"]),
        ("desk_read", {"of": f"a {kind}"}),
        ("desk_write", {}),
        lambda: change("demoted", tools, gone=["desk__read", "desk__write"]),
        ("desk_steps", {}),
    )
    register_before_llm_call_hook(bridge.follow)
    try:
        if kind == "kickoff":
            agent.kickoff("Go on")
        else:
            task = Task(description="Go on", expected_output="done", agent=agent)
            Crew(agents=[agent], tasks=[task], verbose=False).kickoff()
    finally:
        unregister_before_llm_call_hook(bridge.follow)
    waiting(change)("as before", tools, new=["desk__read"], gone=["desk__write"])
    return {"offered": [list(names) for names in agent.llm.offered], "heard": agent.llm.heard}


def followed_away() -> str:
    """Return how a run ends whose tools cannot be listed any more."""
    tools = toolset("reader", "remote")
    bridge, gone = RemitTools(tools), RemitTools(Toolset.remote("http://127.0.0.1:9", key="rmt_x"))
    made = bridge.tools()
    for tool in made:
        tool._toolset = gone._toolset  # noqa: SLF001
    register_before_llm_call_hook(gone.follow)
    try:
        return agent_of(made).kickoff("Go on").raw
    except HookAborted as aborted:
        return str(aborted)
    finally:
        unregister_before_llm_call_hook(gone.follow)


def crew_of(bridge: RemitTools) -> list[str]:
    """Return what a crew's model reads of the same call, made twice."""
    step = ("desk_read", {"of": "crew"})
    agent = agent_of(bridge.tools(), step, step)
    task = Task(description="Go on", expected_output="done", agent=agent)
    Crew(agents=[agent], tasks=[task], cache=True, verbose=False).kickoff()
    return agent.llm.heard


async def cut_short(tools: Toolset) -> list[str]:
    """Close the toolset while a call runs; return what the model reads of that."""
    agent = agent_of(await RemitTools(tools).atools(), ("desk_slow", {}))
    async with asyncio.TaskGroup() as group:
        group.create_task(agent.kickoff_async("Wait"))
        await until_ran("slow", 2)
        await tools.aclose()
    return agent.llm.heard


def broken() -> dict[str, str]:
    told = {}
    for name, wrong in {
        "remote": lambda: Toolset.remote(GIVEN["url"], key="rmt_wrong"),
        "away": lambda: Toolset.remote("http://127.0.0.1:9", key="rmt_wrong"),
        "local": lambda: Toolset.local(GIVEN["config"], subject="role:reader"),
    }.items():
        try:
            RemitTools(wrong()).tools()
        except (RemitError, ImportError) as error:
            told[name] = f"{type(error).__name__}: {error}"
    told["followed"] = followed_away()
    return told


def published() -> dict[str, Any]:
    """Call every tool that is published, a hundred in a run."""
    bridge = RemitTools(toolset("reader", "remote"))
    tools = bridge.tools()
    answers: dict[str, str] = {}
    shown: dict[str, Any] = {}
    for start in range(0, len(tools), 100):
        some = tools[start : start + 100]
        names = {tool.name: tool._tool.name for tool in some}  # noqa: SLF001
        calls = [(spelling, GIVEN["arguments"][name]) for spelling, name in names.items()]
        agent = agent_of(some, *calls)
        agent.max_iter = 200
        agent.kickoff("Go on")
        shown |= {names[one]: schema for one, schema in agent.llm.offered[0].items()}
        answers |= dict(zip(names.values(), agent.llm.heard, strict=True))
    return {"offered": shown, "left_out": bridge.left_out, "answers": answers}


told = published() if "arguments" in GIVEN else {"remote": day(), "broken": broken()}
crewai_event_bus.flush()  # its threads print, and would into the answer
report(told)

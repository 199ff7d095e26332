# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# Frameworks are in environments of their own, which the type checker does not see.
"""What a program in a framework's environment is given, and how it answers: imported by each."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine
from pathlib import Path
from typing import Any, cast

from remit.bridges.toolset import Toolset
from remit.client.tools import ToolDefinition
from remit.errors import GatewayUnreachable

GIVEN: dict[str, Any] = json.loads(
    os.environ.get("GIVEN") or Path(os.environ["GIVEN_FILE"]).read_text()
)
Step = tuple[str, dict[str, Any]] | Callable[[], Awaitable[Any]]
"""A call that a model makes in its turn, or what happens before that turn."""

WAYS = ("remote", "local")
_ENOUGH = 30.0


def toolset(role: str, way: str) -> Toolset:
    """Return the tools of a role, over the running gateway or in this process."""
    if way == "remote":
        return Toolset.remote(GIVEN["url"], key=GIVEN["keys"][role])
    return Toolset.local(GIVEN["config"], subject=f"role:{role}")


async def change(
    name: str, tools: Toolset, *, gone: Collection[str] = (), new: Collection[str] = ()
) -> None:
    """Change the declaration (`harness.CHANGES`) and return when *tools* knows."""
    Path(GIVEN["config"]).write_text(json.dumps(GIVEN["changes"][name]))
    await asyncio.to_thread(_apply)
    await until_listed(tools, gone=gone, new=new)


async def until_listed(
    tools: Toolset, *, gone: Collection[str] = (), new: Collection[str] = ()
) -> None:
    """Return when *tools* knows of a change, which another toolset may have waited for."""
    async with asyncio.timeout(_ENOUGH):
        while True:
            names = {tool.name for tool in await tools.tools()}
            if names.issuperset(new) and names.isdisjoint(gone):
                return
            await asyncio.sleep(0.1)


async def until_ran(name: str, times: int = 1) -> None:
    """Return when the server has begun as many calls of that tool."""
    async with asyncio.timeout(_ENOUGH):
        while True:
            if _count_file().count(f'"name": "{name}"') >= times:
                return
            await asyncio.sleep(0.05)


def working_day(tools: Toolset) -> list[Step]:
    """Return what a reader's model does in one run; see `harness.assert_day`."""
    return [
        ("desk__read", {"of": "shelf"}),
        ("desk__write", {}),
        ("desk__read", {}),
        ("desk__die", {}),
        ("desk__read", {"of": "again"}),
        ("desk__steps", {}),
        ("desk__measure", {}),
        lambda: change("demoted", tools, gone=["desk__read"]),
        ("desk__read", {"of": "secret"}),
    ]


async def happen(steps: list[Any]) -> None:
    """Let happen what comes before the next call."""
    while steps and callable(steps[0]):
        await steps.pop(0)()


async def is_cut_short(run: Coroutine[Any, Any, Any], tool: str, times: int = 1) -> bool:
    """Cancel a run once the server has begun its call; return whether that ended it."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run)
        await until_ran(tool, times)
        task.cancel()
    return task.cancelled()


class _OneTool:
    caller = "somebody"

    def __init__(self, name: str, *arguments: str) -> None:
        properties = {argument: {"type": "string"} for argument in arguments}
        self._tool = ToolDefinition(name=name, input_schema={"properties": properties})

    async def tools(self) -> tuple[ToolDefinition, ...]:
        return (self._tool,)

    async def begin(self, *_: Any) -> Any:
        raise GatewayUnreachable("the gateway has gone", sent=False)


def one_tool(name: str, *arguments: str) -> Toolset:
    """Return a toolset with a single tool, whose gateway is away at a call."""
    return Toolset(cast("Any", _OneTool(name, *arguments)))


def report(value: Any) -> None:
    """Print the program's one answer, which ends its output."""
    sys.stdout.write(f"\n{json.dumps(value)}\n")


def _apply() -> None:
    subprocess.run(GIVEN["apply"], check=True, stdout=subprocess.DEVNULL, timeout=_ENOUGH)


def _count_file() -> str:
    path = Path(GIVEN["config"]).parent / "ran.jsonl"
    return path.read_text() if path.exists() else ""

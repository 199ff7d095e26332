# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# Frameworks are in environments of their own, which the type checker does not see.
"""What a program in a framework's environment is given, and how it answers: imported by each."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from remit.bridges.toolset import Toolset

GIVEN: dict[str, Any] = json.loads(os.environ["GIVEN"])
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


def report(value: Any) -> None:
    """Print the program's one answer."""
    json.dump(value, sys.stdout)


def _apply() -> None:
    subprocess.run(GIVEN["apply"], check=True, stdout=subprocess.DEVNULL, timeout=_ENOUGH)


def _count_file() -> str:
    path = Path(GIVEN["config"]).parent / "ran.jsonl"
    return path.read_text() if path.exists() else ""

"""An agent without a framework or a model: it does what its prompt says, word by word.

python agent_program.py NAME PLACE    # PLACE: a JSON file with `url` and `keys` of the gateway
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import anyio

from remit.client import AsyncClient
from remit.errors import CallRefused
from remit.servers.agent import AgentServer, Ask, run_agent
from remit.servers.errors import ToolError

NAME, PLACE = sys.argv[1], Path(sys.argv[2])


async def call(ask: Ask, tool: str, arguments: dict[str, Any]) -> str:
    place = json.loads(PLACE.read_text())
    async with AsyncClient(place["url"], key=place["keys"][NAME], meta=ask.meta) as client:
        try:
            result = await client.call_tool(tool, arguments)
        except CallRefused as refusal:
            return f"{NAME} was refused {tool}: {refusal.reason}"
    return f"{NAME} could not {tool}: {result.text}" if result.is_error else result.text


async def leave() -> None:
    sys.exit(3)


class Panic(BaseException):
    """What extensions in Rust raise, for one."""


async def wait_for_what_was_cancelled() -> None:
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiting.cancel()
    await waiting


async def answer(ask: Ask) -> str:
    word, _, rest = ask.prompt.partition(" ")
    match word:
        case "use":
            await ask.tell(f"using {rest}")
            sys.stdout.write("what a framework prints\n")
            return await call(ask, rest, {})
        case "ask":
            other, _, prompt = rest.partition(" ")
            return await call(ask, f"{other}__ask", {"prompt": prompt})
        case "wait":
            await ask.tell("waiting")
            try:
                await anyio.sleep_forever()
            finally:
                Path(rest).write_text("cancelled")
            return "woken"
        case "tell":
            await ask.tell(json.loads(rest))
            return "told"
        case "return":
            return json.loads(rest)
        case _:
            return await fail(word, rest)


async def fail(word: str, rest: str) -> str:
    match word:
        case "refuse":
            raise ToolError(json.loads(rest) if rest.startswith('"') else rest)
        case "exit":
            sys.exit(rest)
        case "fork":
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(leave)
            return "left"
        case "panic":
            raise Panic("password=hunter2")
        case "cancel":
            await wait_for_what_was_cancelled()
            return "waited"
        case _:
            raise ValueError("password=hunter2")


if __name__ == "__main__":
    run_agent(AgentServer(NAME, answer, description=f"Asks {NAME}.", time_limit=3))

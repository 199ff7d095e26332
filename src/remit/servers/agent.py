"""An agent as a server: others ask it by a tool, and its own calls go through the gateway too.

    caller ─NAME__ask─▶ remit ─▶ this program ─▶ the agent's own loop ─its tools─▶ remit ─▶ servers

Framework and model are the program's; this is what every such program needs besides: a tool that
takes a prompt, progress, a time limit, errors with words, and what ties the calls that the agent
makes to the one that asked for them (S1.30).

    async def answer(ask: Ask) -> str: ...

    run_agent(AgentServer("researcher", answer, description="Finds out what the code says."))
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID, uuid4

import anyio
import mcp_types as types
from mcp.server import ServerRequestContext

from remit.servers import stdio
from remit.servers.arguments import ArgumentCheck
from remit.servers.errors import ToolError
from remit.servers.shapes import LONGEST_TEXT, Schema, given, text
from remit.servers.toolbox import failed

log = logging.getLogger(__name__)  # to standard error; standard output is the protocol's

TOOL: Final = "ask"

MEMBER: Final = "remit/member"
"""In `_meta`: the acting member, which the record has (S0.23)."""

AGENTS: Final = "remit/agents"
"""In `_meta`: names of the agents that were asked on the way here, the first one first."""

MOST_AGENTS: Final = 4
"""Agents that may be asked one through the other."""

_PASSED_ON: Final = ("traceparent", "tracestate", "baggage")

_HALFWAY: Final = "what it did until then is done, so look before you ask again"

_TAKES: Final[Schema] = given(
    {"prompt": text("What to do or to find out, with all that must be known for it", LONGEST_TEXT)},
    ["prompt"],
)

Tell = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What an agent was asked.

    Attributes:
        member: UUID of the member that acts: the one that the caller named, else one of its own.
        meta: What has to be in the `_meta` of each call that the agent makes for this: the member,
            the trace, and which agents are at work. Without it nothing keeps agents from asking one
            another in a circle but their rights and the time.
        tell: Says in a few words how far it is; the caller hears it as progress.
    """

    prompt: str
    member: str
    meta: Mapping[str, Any]
    tell: Tell


class AgentServer:
    """One agent, asked by the tool `ask`; several may ask it at once.

    Args:
        name: Of the agent, the same as in `mcp_servers`.
        answer: Answers one ask; cancelled when the caller is gone. A `ToolError` that it raises is
            told word for word, of any other exception only its kind: what it says may be anything.
        description: For the models that may ask it: what it can do, and what to tell it.
        time_limit: Seconds for an answer; less than the `timeout` of the server's entry, so that a
            caller is told of it in words.
    """

    version = "0.1.0"

    def __init__(
        self,
        name: str,
        answer: Callable[[Ask], Awaitable[str]],
        *,
        description: str,
        time_limit: float = 28.0,
    ) -> None:
        self.name = name
        self._answer = answer
        self._description = description
        self._time_limit = time_limit
        self._check = ArgumentCheck(TOOL, _TAKES)

    def tools(self) -> Sequence[Mapping[str, object]]:
        """Return the one tool in wire format."""
        return [
            {
                "name": TOOL,
                "title": f"Ask {self.name}",
                "description": self._description,
                "inputSchema": _TAKES,
                "annotations": {"openWorldHint": True},
            }
        ]

    async def call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> Mapping[str, object]:
        """Answer one call; a failure is an `isError` result.

        Raises:
            KeyError: If there is no such tool.
        """
        if params.name != TOOL:
            raise KeyError(params.name)
        told = 0

        async def tell(news: str) -> None:
            nonlocal told
            told += 1
            await context.session.report_progress(told, None, _sendable(news))

        try:
            prompt = self._check(params.arguments or {}).text("prompt")
            ask = self._ask(prompt, cast("Mapping[str, object]", context.meta or {}), tell)
            with anyio.move_on_after(self._time_limit):
                return self._answered(await self._answer(ask), ask)
        except ToolError as error:
            return failed(_sendable(str(error)))
        except BaseException as error:  # programs and their extensions raise anything
            if _is_more_than_a_failure(error):
                raise
            log.exception("the agent failed")
            return failed(f"{self.name} failed ({type(error).__name__}); {_HALFWAY}")
        limit = f"{self._time_limit:g} s"
        return failed(f"{self.name} was stopped after {limit}; {_HALFWAY}")

    async def aclose(self) -> None:
        """Let go of nothing: what an agent holds, it holds for one ask."""

    def _answered(self, answer: object, ask: Ask) -> Mapping[str, object]:
        if not isinstance(answer, str):  # the program is anybody's, and may not be type-checked
            kind = type(answer).__name__
            log.error("the agent failed: it returned %s, not text", kind)
            return failed(f"{self.name} failed (it returned {kind}, not text); {_HALFWAY}")
        content = [{"type": "text", "text": _sendable(answer)}]
        return {"content": content, "_meta": {MEMBER: ask.member}}

    def _ask(self, prompt: str, said: Mapping[str, object], tell: Tell) -> Ask:
        """Return what is asked, by the request's `_meta`.

        Raises:
            ToolError: The agent is at work on this already, or too many are.
        """
        before = said.get(AGENTS)
        asked = [str(one) for one in cast("list[object]", before)] if _is_list(before) else []
        way = " → ".join([*asked, self.name])
        if self.name in asked:
            raise ToolError(
                f"{self.name} is at work on this already ({way}), and agents are not asked in a"
                " circle; do without it"
            )
        if len(asked) >= MOST_AGENTS:
            raise ToolError(
                f"{len(asked)} agents ask one another already ({way}), which is the most; do"
                f" without {self.name}"
            )
        named = said.get(MEMBER)
        member = str(uuid4()) if named is None else str(UUID(str(named)))  # remit has checked it
        kept = {name: said[name] for name in _PASSED_ON if name in said}
        meta = {**kept, MEMBER: member, AGENTS: [*asked, self.name]}
        return Ask(prompt=prompt, member=member, meta=meta, tell=tell)


def run_agent(server: AgentServer) -> None:
    """Serve the agent over stdio until the client hangs up."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        serving = loop.create_task(stdio.serve(server, server.call_tool))
        while not serving.done():
            try:
                loop.run_until_complete(serving)
            except SystemExit:
                # asyncio lets that of any task end the loop; here it is the end of one ask alone.
                if serving.done():
                    raise


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _sendable(text: str) -> str:
    """Return *text* with `?` for half of a surrogate pair, which no text on the wire can hold.

    Models cut emojis in two, and one such answer would end the server, and with it every ask.
    """
    return text.encode(errors="replace").decode()


def _is_more_than_a_failure(error: BaseException) -> bool:
    """Whether it ends more than the ask, or is the ask's own end, be it within a group."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return any(map(_is_more_than_a_failure, group.exceptions))
    if isinstance(error, asyncio.CancelledError):
        # What the agent cancelled itself, and then waited for, is a failure like any other.
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)

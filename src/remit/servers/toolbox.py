"""A bundled server: tools over one place, the same in the gateway's process and on stdio."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import anyio

from remit.servers.arguments import ArgumentCheck, Arguments
from remit.servers.errors import ToolError
from remit.servers.shapes import Schema

ERROR: Final = "remit/error"
"""In the `_meta` of a failed result: `{"code": ...}`, for tools that have such codes."""

Place = TypeVar("Place")
Run = Callable[[Place, Arguments], Awaitable[dict[str, object]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What a tool says of itself (MCP: `annotations`); every one of them is true.

    Attributes:
        read_only: It changes nothing.
        destructive: It may take something away, other than by adding to it.
        idempotent: A second call with the same arguments changes nothing more.
        open_world: It talks to something outside of this machine.
    """

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False

    def on_wire(self, title: str) -> dict[str, object]:
        """Return them in wire format."""
        return {
            "title": title,
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[Place]):
    """One tool.

    Attributes:
        takes: Its input schema.
        gives: The schema of its structured result.
        run: Does it, at a place; what it returns fits `gives`.
    """

    name: str
    title: str
    description: str
    takes: Schema
    gives: Schema
    hints: Hints
    run: Run[Place]

    def on_wire(self) -> Mapping[str, object]:
        """Return the tool as `tools/list` has it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.takes,
            "outputSchema": self.gives,
            "annotations": self.hints.on_wire(self.title),
        }


@dataclass(frozen=True, slots=True)
class ToolMaker:
    """Puts a server's tools together, each with the schemas of its name.

    Attributes:
        takes: Input schemas.
        gives: Those of structured results.
    """

    takes: Mapping[str, Schema]
    gives: Mapping[str, Schema]

    def __call__(
        self, name: str, title: str, description: str, hints: Hints, run: Run[Place]
    ) -> Tool[Place]:
        """Return a tool."""
        return Tool(
            name=name,
            title=title,
            description=description,
            takes=self.takes[name],
            gives=self.gives[name],
            hints=hints,
            run=run,
        )


class ToolServer(Generic[Place]):
    """Tools that are called one by one, each within a time limit.

    Args:
        name: Of the server.
        tools: In the order in which they are listed.
        enter: Opens the place of one call, such as a repository; waiting for a turn included.
        time_limit: Seconds a call may take, entering included.
        read_only: Leaves out every tool that may change something.
        after_limit: What a caller should do after a call that was stopped.
    """

    version = "0.1.0"

    def __init__(
        self,
        name: str,
        tools: Sequence[Tool[Place]],
        enter: Callable[[Tool[Place], Arguments], AbstractAsyncContextManager[Place]],
        *,
        time_limit: float = 30.0,
        read_only: bool = False,
        after_limit: str = "ask for less at once or try again",
    ) -> None:
        self.name = name
        self._tools = {
            tool.name: (tool, ArgumentCheck(tool.name, tool.takes))
            for tool in tools
            if tool.hints.read_only or not read_only
        }
        self._enter = enter
        self._time_limit = time_limit
        self._after_limit = after_limit

    def tools(self) -> Sequence[Mapping[str, object]]:
        """Return the tools in wire format."""
        return [tool.on_wire() for tool, _ in self._tools.values()]

    async def call_tool(self, name: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Call a tool and return its result in wire format; a failure is an `isError` result.

        Raises:
            KeyError: If there is no such tool.
        """
        return await self.call_at(self._enter, name, arguments)

    async def call_at(
        self,
        enter: Callable[[Tool[Place], Arguments], AbstractAsyncContextManager[Place]],
        name: str,
        arguments: Mapping[str, object],
    ) -> Mapping[str, object]:
        """Do what `call_tool` does, at the place that *enter* opens.

        Raises:
            KeyError: If there is no such tool.
        """
        tool, check = self._tools[name]
        with anyio.move_on_after(self._time_limit):
            try:
                checked = check(arguments)
                async with enter(tool, checked) as place:
                    structured = await tool.run(place, checked)
            except ToolError as error:
                return self.told_of(error)
            # Clients without structured results read the same as JSON (MCP §tools/call).
            shown = json.dumps(structured, ensure_ascii=False)
            return {
                "content": [{"type": "text", "text": shown}],
                "structuredContent": structured,
                "isError": False,
            }
        stopped = f"{name} was stopped after {self._time_limit:g} s; {self._after_limit}"
        return self.told_of(ToolError(stopped))

    def told_of(self, error: ToolError) -> Mapping[str, object]:
        """Return the result of a call that failed; a server with words of its own overrides it."""
        return failed(str(error), error.code)

    async def aclose(self) -> None:
        """Let go of what the server holds; a server that holds something overrides this."""


def admit_nobody(_tool: Tool[Place], _arguments: Arguments) -> AbstractAsyncContextManager[Place]:
    """Refuse everybody: the `enter` of a server that is told who calls, and knows nobody else.

    Raises:
        ToolError: Always.
    """
    raise ToolError("this server has to know who calls: it is reached through a gateway alone")


def failed(message: str, code: str = "") -> Mapping[str, object]:
    """Return the result of a tool that failed, in words for the model."""
    meta = {"_meta": {ERROR: {"code": code}}} if code else {}
    return {"content": [{"type": "text", "text": message}], "isError": True, **meta}

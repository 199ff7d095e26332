# pyright: basic, reportMissingImports=false
# LangChain is in an environment of its own, which the type checker does not see.
"""Tools of a principal for agents of LangChain, LangGraph and deepagents.

    turn of the model ─wrap_model_call─▶ tools as of now ─wrap_tool_call─▶ Toolset.call

`create_agent` fixes its tools when it is made; a middleware may offer others at every turn of the
model, as long as it also runs them.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from remit.bridges.frameworks import LeftOut, not_installed
from remit.bridges.toolset import Toolset
from remit.client.tools import CallResult, ToolDefinition
from remit.library.waiting import waiting

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ToolCallRequest
    from langgraph.config import get_stream_writer

    from remit.library.langchain_tools import McpTool, langchain_tool
except ModuleNotFoundError as missing:
    raise not_installed("langchain", missing) from missing


async def langchain_tools(toolset: Toolset) -> list[McpTool]:
    """Return the tools as of now, for a graph of your own; they stay these, whatever changes.

    Raises:
        RemitError: As `Toolset.tools` says.
    """
    return [_tool(toolset, tool) for tool in await toolset.tools()]


class RemitMiddleware(AgentMiddleware):
    """Gives an agent what a principal may use, anew at every turn of the model.

    `create_agent(model, middleware=[RemitMiddleware(toolset)])`, and `create_deep_agent` likewise.
    A run whose tools cannot be listed fails and says why; that the principal has none is logged.
    The toolset stays its owner's to close.

    Attributes:
        left_out: Tools that the model is not offered, and why.
    """

    def __init__(self, toolset: Toolset) -> None:
        super().__init__()
        self.tools: Sequence[Any] = ()
        self.left_out = LeftOut("an agent of LangChain")
        self._toolset = toolset
        self._offered: set[str] = set()

    @property
    def name(self) -> str:
        """Its name among the middleware of an agent, another one for each toolset."""
        return f"RemitMiddleware({self._toolset})"

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        """Offer the tools of this moment beside the agent's own."""
        return await handler(await self._with_tools(request))

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Do the same for an agent that does not await."""
        return handler(waiting(self._with_tools)(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Run a tool that was offered here; one taken away since is refused by remit."""
        return await handler(await self._with_tool(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        """Do the same for an agent that does not await."""
        return handler(waiting(self._with_tool)(request))

    async def _with_tools(self, request: ModelRequest) -> ModelRequest:
        taken = {_name_of(tool) for tool in request.tools}
        made: list[Any] = []
        for tool in await langchain_tools(self._toolset):
            if tool.name in taken:
                self.left_out.note(tool.name, "the agent has another tool of this name")
            else:
                made.append(_whole(tool))
                self._offered.add(tool.name)
        return request.override(tools=[*request.tools, *made])

    async def _with_tool(self, request: ToolCallRequest) -> ToolCallRequest:
        name = request.tool_call["name"]
        if request.tool is not None or not await self._is_known(name):
            return request  # the agent's own, another middleware's, or nobody's
        return request.override(
            tool=_tool(self._toolset, ToolDefinition(name=name, input_schema={}))
        )

    async def _is_known(self, name: str) -> bool:
        """Whether it was ever offered here, be it by another process that stopped since."""
        return name in self._offered or any(
            tool.name == name for tool in await self._toolset.tools()
        )


def _tool(toolset: Toolset, tool: ToolDefinition) -> McpTool:
    async def answer(arguments: dict[str, Any]) -> CallResult:
        return await toolset.call(tool.name, arguments, progress=_telling(tool.name))

    return langchain_tool(
        tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        answer=answer,
    )


def _telling(name: str) -> Callable[[float, float | None, str], None] | None:
    """Return who tells of progress in the stream of the graph (`stream_mode="custom"`)."""
    with suppress(RuntimeError, KeyError):  # outside a graph, or outside any run
        write = get_stream_writer()

        def tell(done: float, total: float | None, message: str) -> None:
            write({"tool": name, "progress": done, "total": total, "message": message})

        return tell
    return None


def _whole(tool: McpTool) -> Any:
    """Return what a model is offered of a tool.

    LangChain writes definitions out where they are used, and one that uses itself becomes
    "anything"; it leaves alone what is in the form that models are sent.
    """
    if '"$ref"' not in json.dumps(tool.args_schema):
        return tool
    function = {"name": tool.name, "description": tool.description, "parameters": tool.args_schema}
    return {"type": "function", "function": function}


def _name_of(tool: Any) -> str:
    """Return the name of a tool, be it in the form that a model is sent."""
    if not isinstance(tool, dict):
        return tool.name
    return tool.get("name") or (tool.get("function") or {}).get("name", "")

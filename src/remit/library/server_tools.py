"""Tools of connected servers, as objects: to be summed up for a prompt, and to be called."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from remit.client.tools import CallResult
from remit.errors import RemitError, UpstreamError


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """One tool of a connected server.

    Attributes:
        name: The server's own name for it.
        published: Its name among the tools of all servers, `{server}__{tool}` (R2, R3).
        input_schema: As the server gave it.
        call: Makes the call and returns the MCP result.
    """

    server: str
    name: str
    published: str
    description: str
    input_schema: Mapping[str, Any]
    call: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]] = field(repr=False)

    async def ainvoke(self, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call it and return the MCP result; `isError` says that the tool itself failed.

        Raises:
            PermissionError: It may not be used any more.
            RemitError: As `AgentMCPService.execute_tool` says.
        """
        return await self.call(arguments or {})


def format_tool_summary(
    mcp_tools_by_server: Mapping[str, Iterable[object]], builtin_tools: Iterable[object] = ()
) -> str:
    """Return a list of all tools for a system prompt: a line each, by the names a model calls.

    Args:
        mcp_tools_by_server: As `MCPServerManager.get_tools_by_server` gives them, or any objects
            with `name` and `description`.
        builtin_tools: Likewise, the program's own; functions will do, too.
    """
    parts = [("Built-in tools", list(builtin_tools))]
    parts += [
        (f"Tools of the server {name}", list(tools)) for name, tools in mcp_tools_by_server.items()
    ]
    blocks = [
        "\n".join([f"{title}:", *(f"- {_line_of(tool)}" for tool in tools)])
        for title, tools in parts
        if tools
    ]
    return "\n\n".join(blocks) or "No tools are available."


def _line_of(tool: object) -> str:
    name = next(
        (
            found
            for attribute in ("published", "name", "__name__")
            if isinstance(found := getattr(tool, attribute, None), str) and found
        ),
        type(tool).__name__,
    )
    documented = tool.__doc__ if callable(tool) else None
    described = getattr(tool, "description", documented)
    first = str(described or "").strip().partition("\n")[0].strip()
    return f"{name}: {first}" if first else name


def langchain_tools(tools: Sequence[ServerTool]) -> list[Any]:
    """Return *tools* as tools of LangChain, under their published names (R31).

    A failure is an answer that the model reads.

    Raises:
        ModuleNotFoundError: LangChain is not installed; the text says how.
    """
    try:
        maker = import_module("remit.library.langchain_tools")
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "get_tools() makes LangChain tools, and langchain-core is not installed:"
            " pip install 'remit[langchain]', or use get_tools_by_server()",
            name="langchain_core",
        ) from missing
    return [
        maker.langchain_tool(
            tool.published,
            description=tool.description,
            input_schema=tool.input_schema,
            answer=_answering(tool),
        )
        for tool in tools
    ]


def _answering(
    tool: ServerTool,
) -> Callable[[dict[str, Any]], Coroutine[Any, Any, CallResult]]:
    async def answer(arguments: dict[str, Any]) -> CallResult:
        try:
            return CallResult.of(await tool.call(arguments))
        except (PermissionError, RemitError) as error:
            return CallResult(content=[{"type": "text", "text": _told(error)}], is_error=True)

    return answer


def _told(error: Exception) -> str:
    if isinstance(error, UpstreamError) and error.is_outcome_unknown:
        return f"{error}; whether it took effect is unknown"
    return str(error)

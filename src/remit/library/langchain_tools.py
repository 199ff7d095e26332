# pyright: basic, reportMissingImports=false
# LangChain is in an environment of its own, which the type checker does not see.
"""The one maker of LangChain tools, for servers of a program and for a principal's tools."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from remit.library.waiting import waiting

Answer = Callable[[dict[str, Any]], Awaitable[tuple[str, bool]]]
"""Makes a call and returns what the model reads of it, and whether it failed."""


class McpTool(BaseTool):
    """A tool with the schema of its server, callable with and without `await`.

    A failed call is an answer that the model reads, marked as an error. Unlike a
    `StructuredTool`, whose function LangChain looks into, it takes an argument of any name.
    """

    handle_tool_error: bool = True
    _answer: Answer = PrivateAttr()

    async def _arun(self, /, **arguments: Any) -> str:
        text, has_failed = await self._answer(arguments)
        if has_failed:
            raise ToolException(text)
        return text

    def _run(self, /, **arguments: Any) -> str:
        return waiting(self._arun)(**arguments)


def langchain_tool(
    name: str, *, description: str, input_schema: Mapping[str, Any], answer: Answer
) -> McpTool:
    """Return a tool that *answer* answers for."""
    schema = {"properties": {}, **input_schema}
    tool = McpTool(name=name, description=description or name, args_schema=schema)
    tool._answer = answer  # noqa: SLF001 - of our own class; pydantic takes no private one before
    return tool

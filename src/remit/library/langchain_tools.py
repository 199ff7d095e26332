# pyright: basic, reportMissingImports=false
# LangChain is in an environment of its own, which the type checker does not see.
"""The one maker of LangChain tools, for servers of a program and for a principal's tools."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from remit.client.tools import CallResult
from remit.library.waiting import waiting

Answer = Callable[[dict[str, Any]], Awaitable[CallResult]]
"""Makes a call."""


class McpTool(BaseTool):
    """A tool with the schema of its server, callable with and without `await`.

    A failed call is an answer that the model reads, marked as an error. Unlike a
    `StructuredTool`, whose function LangChain looks into, it takes an argument of any name.
    Pictures are content blocks of LangChain, between texts. It takes no sounds in the message of a
    tool: they are named there, and all blocks of such a result are its `artifact`.
    """

    handle_tool_error: bool = True
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    _answer: Answer = PrivateAttr()

    async def _arun(self, /, **arguments: Any) -> tuple[Any, Any]:
        result = await self._answer(arguments)
        if result.is_error:
            raise ToolException(result.text)
        blocks = [_block_of(block) for block in result.content]
        kinds = {block["type"] for block in blocks}
        content = blocks if "image" in kinds else result.text
        return content, result.content if any(map(_is_sound, result.content)) else None

    def _run(self, /, **arguments: Any) -> tuple[Any, Any]:
        return waiting(self._arun)(**arguments)


def _block_of(block: Mapping[str, Any]) -> dict[str, Any]:
    kind, data, mime_type = (block.get(key) for key in ("type", "data", "mimeType"))
    if kind == "image" and data and mime_type:
        return {"type": "image", "base64": data, "mime_type": mime_type}
    return {"type": "text", "text": CallResult(content=[block]).text}


def _is_sound(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "audio"


def langchain_tool(
    name: str, *, description: str, input_schema: Mapping[str, Any], answer: Answer
) -> McpTool:
    """Return a tool that *answer* answers for."""
    schema = {"properties": {}, **input_schema}
    tool = McpTool(name=name, description=description or name, args_schema=schema)
    tool._answer = answer  # noqa: SLF001 - of our own class; pydantic takes no private one before
    return tool

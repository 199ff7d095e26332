# pyright: basic, reportMissingImports=false
# Frameworks are in environments of their own, which the type checker does not see.
"""pydantic-ai 2: the tools of one principal as a toolset, listed anew before each model request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from remit.bridges.answers import media_of
from remit.bridges.frameworks import not_installed
from remit.bridges.toolset import Toolset
from remit.client.tools import CallResult

try:
    from pydantic_ai import BinaryContent, CustomEvent, RunContext, ToolFailed
    from pydantic_ai import ToolDefinition as Definition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ModuleNotFoundError as missing:
    raise not_installed("pydantic-ai", missing) from missing

_ANY_OBJECT: Final = SchemaValidator(
    core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
)
"""What arguments have to be here; the tool's own schema is asked at the gateway."""


@dataclass(kw_only=True)
class RemitProgress(CustomEvent):
    """How far a call is, in the event stream of the run.

    Attributes:
        done: How much is done.
        total: Of how much, or None where that is not known.
        message: A word on it, or empty.
    """

    done: float
    total: float | None = None
    message: str = ""


class RemitToolset(AbstractToolset[Any]):
    """The tools that one principal may use, for `Agent(toolsets=[...])`.

    A change of policy is seen by the next model request of a run. What was refused or failed is a
    failed tool result that the model reads, and uses up no retries. The toolset stays open after a
    run: whoever made it closes it.

    Args:
        toolset: Of the principal.
        id: Unique among the toolsets of an agent; durable execution wants one.
    """

    def __init__(self, toolset: Toolset, *, id: str | None = None) -> None:  # noqa: A002 - theirs
        self._toolset = toolset
        self._id = id

    @property
    def id(self) -> str | None:
        """What it was given."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools as of now.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=Definition(
                    name=tool.name,
                    description=tool.description or tool.title or None,
                    parameters_json_schema=dict(tool.input_schema),
                    metadata={"title": tool.title, "annotations": dict(tool.annotations)},
                    return_schema=None if tool.output_schema is None else dict(tool.output_schema),
                ),
                max_retries=ctx.max_retries,
                args_validator=_ANY_OBJECT,
            )
            for tool in await self._toolset.tools()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a tool; its progress goes to the run's event stream as `RemitProgress`.

        Raises:
            ToolFailed: It was refused or failed; the text says what to do.
            RemitError: As `Toolset.tools` says.
        """

        async def emit(done: float, total: float | None, message: str) -> None:
            await ctx.emit(RemitProgress(done=done, total=total, message=message))

        result = await self._toolset.call(name, tool_args, progress=emit)
        if result.is_error:
            raise ToolFailed(result.text)
        return _content_of(result)


def _content_of(result: CallResult) -> Any:
    """Return texts as they are, pictures and sounds as such, everything else as JSON."""
    parts = [_part_of(block) for block in result.content]
    if not any(isinstance(part, BinaryContent) for part in parts):
        return result.text
    return parts[0] if len(parts) == 1 else parts


def _part_of(block: Mapping[str, Any]) -> Any:
    media = media_of(block)
    if media is None:
        return CallResult(content=[block]).text
    return BinaryContent(data=media.data, media_type=media.mime_type)

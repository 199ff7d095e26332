# pyright: basic, reportMissingImports=false
# Frameworks are in environments of their own, which the type checker does not see.
"""OpenAI Agents SDK: the tools of one principal as an MCP server that is listed at each turn."""

from typing import Any

from remit.bridges.answers import blocks_of
from remit.bridges.frameworks import LeftOut, ToolProgress, not_installed, progress_of
from remit.bridges.toolset import Toolset

try:
    from agents import UserError
    from agents.mcp import MCPServer
    from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult
    from mcp.types import Tool as Definition
    from pydantic import ValidationError
except ModuleNotFoundError as missing:
    raise not_installed("openai-agents", missing) from missing


class RemitServer(MCPServer):
    """The tools that one principal may use, for `Agent(mcp_servers=[...])`.

    The SDK lists them before each turn, so that a change of policy is seen by the next one. What
    was refused or failed is a result that the model reads. There is nothing to connect, and the
    toolset stays open: whoever made it closes it.

    Attributes:
        left_out: Tools that cannot be the SDK's, with the reason.
    """

    def __init__(
        self,
        toolset: Toolset,
        *,
        name: str = "remit",
        on_progress: ToolProgress | None = None,
        **options: Any,
    ) -> None:
        """Ask nobody yet.

        Args:
            toolset: Of the principal.
            name: For people, and for names with `include_server_in_tool_names`.
            on_progress: Is told how far calls are; the SDK has no place for it.
            options: Those of `agents.mcp.MCPServer`, such as `require_approval`.
        """
        super().__init__(**options)
        self._toolset = toolset
        self._name = name
        self._on_progress = on_progress
        self.left_out = LeftOut("the OpenAI Agents SDK")

    @property
    def name(self) -> str:
        """What it was called."""
        return self._name

    async def connect(self) -> None:
        """Do nothing: the toolset opens itself."""

    async def cleanup(self) -> None:
        """Do nothing: the toolset is closed by whoever made it."""

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[Definition]:
        """Return the tools as of now, whoever's turn it is.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        found: list[Definition] = []
        for tool in await self._toolset.tools():
            told = {
                "name": tool.name,
                "title": tool.title or None,
                "description": tool.description or None,
                "inputSchema": dict(tool.input_schema),
                "outputSchema": None if tool.output_schema is None else dict(tool.output_schema),
                "annotations": dict(tool.annotations) or None,
            }
            try:
                found.append(Definition.model_validate(told))
            except ValidationError as error:
                self.left_out.note(tool.name, f"its definition is no MCP: {_first(error)}")
        return found

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        """Call a tool; *meta* is between the SDK and its servers, and goes no further.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        progress = progress_of(self._on_progress, tool_name)
        result = await self._toolset.call(tool_name, arguments or {}, progress=progress)
        told = {
            "content": blocks_of(result),
            "structuredContent": result.structured,
            "isError": result.is_error,
        }
        try:
            return CallToolResult.model_validate(told)
        except ValidationError:  # a block of a kind that the SDK's protocol library does not know
            text = [{"type": "text", "text": result.text}]
            return CallToolResult.model_validate({"content": text, "isError": result.is_error})

    async def list_prompts(self) -> ListPromptsResult:
        """Return none: a toolset has tools alone."""
        return ListPromptsResult(prompts=[])

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None
    ) -> GetPromptResult:
        """Return none.

        Raises:
            UserError: Always.
        """
        raise UserError(f"there is no prompt {name!r}: a toolset has tools alone")


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"

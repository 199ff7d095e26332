# pyright: basic, reportMissingImports=false
# Google's ADK is in an environment of its own, which the type checker does not see.
"""Google's ADK: the tools of one principal, listed anew before each model call."""

import re
from typing import Any, Final

from remit.bridges.frameworks import LeftOut, ToolProgress, not_installed, progress_of
from remit.bridges.toolset import Toolset
from remit.client.tools import ToolDefinition
from remit.errors import RemitError

try:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.base_toolset import BaseToolset
    from google.genai.types import FunctionDeclaration
except ModuleNotFoundError as missing:
    raise not_installed("adk", missing) from missing

_FUNCTION: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
"""Names that Gemini takes; one other fails the whole request."""

_OWN: Final = frozenset(
    {
        "adk_request_confirmation",
        "adk_request_credential",
        "adk_request_input",
        "set_model_response",
        "transfer_to_agent",
    }
)
"""Functions of ADK itself."""


class RemitToolset(BaseToolset):
    """The tools that one principal may use, for `LlmAgent(tools=[...])`.

    A change of policy is seen by the next model call of a run. What was refused or failed is a
    result `{"error": ...}` that the model reads. The toolset stays open when the runner closes:
    whoever made it closes it.

    Attributes:
        left_out: Tools that ADK cannot take, with the reason.
    """

    def __init__(
        self, toolset: Toolset, *, on_progress: ToolProgress | None = None, **options: Any
    ) -> None:
        """Ask nobody yet.

        Args:
            toolset: Of the principal.
            on_progress: Is told how far calls are; ADK has no place for it.
            options: Those of `BaseToolset`: `tool_filter`, `tool_name_prefix`.
        """
        super().__init__(**options)
        self._use_invocation_cache = False  # else a run keeps the tools of its first model call
        self._toolset = toolset
        self._on_progress = on_progress
        self.left_out = LeftOut("ADK")

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        """Return the tools as of now.

        ADK goes on without a toolset that raises, as if there had never been one. So what
        `Toolset.tools` raises comes back as a tool that raises it when the model is to be asked.
        """
        try:
            listed = await self._toolset.tools()
        except RemitError as error:
            return [_Broken(error)]
        made = [self._tool(tool) for tool in listed if self._is_taken(tool)]
        return [tool for tool in made if self._is_tool_selected(tool, readonly_context)]

    def _is_taken(self, tool: ToolDefinition) -> bool:
        name = f"{self.tool_name_prefix}_{tool.name}" if self.tool_name_prefix else tool.name
        if name in _OWN:
            self.left_out.note(tool.name, "ADK has a function of this name")
        elif _FUNCTION.fullmatch(name) is None:
            reason = (
                "a function's name begins with a letter or an underscore, and has 64 characters"
            )
            self.left_out.note(tool.name, reason)
        else:
            return True
        return False

    def _tool(self, tool: ToolDefinition) -> "RemitTool":
        return RemitTool(self._toolset, tool, self._on_progress)


class RemitTool(BaseTool):
    """One tool of a `RemitToolset`."""

    def __init__(
        self, toolset: Toolset, tool: ToolDefinition, on_progress: ToolProgress | None
    ) -> None:
        """Take a tool as it was listed."""
        super().__init__(
            name=tool.name,
            description=tool.description or tool.title or tool.name,
            custom_metadata={"title": tool.title, "annotations": dict(tool.annotations)},
        )
        self._toolset = toolset
        self._tool = tool
        self._on_progress = on_progress

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=dict(self._tool.input_schema),
        )

    async def run_async(self, *, args: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Call the tool, by the name that it has at the gateway.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        tell = progress_of(self._on_progress, self._tool.name)
        result = await self._toolset.call(self._tool.name, args, progress=tell)
        return {"error" if result.is_error else "result": result.text}


class _Broken(BaseTool):
    """Stands for tools that cannot be listed: raises why, where ADK lets it through."""

    def __init__(self, error: RemitError) -> None:
        super().__init__(name="remit", description=str(error))
        self._error = error

    async def process_llm_request(self, **_: Any) -> None:
        raise self._error

# pyright: basic, reportMissingImports=false
# CrewAI is in an environment of its own, which the type checker does not see.
"""CrewAI: the tools of one principal as CrewAI tools, over a running gateway.

CrewAI cannot be where remit's own dependencies are, so nothing here needs more of remit than what
talks to a gateway.
"""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from hashlib import sha256
from typing import Any, Final

from remit.bridges.frameworks import LeftOut
from remit.bridges.strict_schema import StrictSchema
from remit.bridges.toolset import Toolset
from remit.client.tools import CallResult, ToolDefinition
from remit.library.waiting import waiting

try:
    from crewai.tools import BaseTool
    from crewai.tools.tool_failure import ToolFailure, ToolFailureReason
    from crewai.utilities.string_utils import sanitize_tool_name
    from pydantic import BaseModel, PrivateAttr, RootModel
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"remit's bridge to CrewAI needs {missing.name}, which is not installed; CrewAI cannot be"
        " beside remit's own dependencies, and docs/bridge-crewai.md says how to have both",
        name=missing.name,
    ) from missing

Heard = Callable[[str, float, float | None, str], None]
"""Takes a tool's name at the gateway, what is done, of how much if known, and a text or nothing."""

_LONGEST: Final = 64
_DIGITS: Final = 8
_TAKEN: Final = "self"
"""An argument that no CrewAI tool can be given: its methods have one of that name."""

_ADDED: Final = "security_context"
"""What CrewAI itself adds to the arguments of a text-based call."""


class RemitTools:
    """The tools that one principal may use, for `Agent(tools=remit.tools())`.

    CrewAI keeps the tools that an agent or a task has when it starts: ask again for the next one.
    One that was taken away meanwhile is refused when it is called. The toolset stays open: whoever
    made it closes it.

    Attributes:
        left_out: Tools that CrewAI cannot take, with the reason.
    """

    def __init__(self, toolset: Toolset, *, on_progress: Heard | None = None) -> None:
        """Ask nobody yet.

        Args:
            toolset: Of the principal.
            on_progress: Hears how far calls are; CrewAI has no place for it.
        """
        self.left_out = LeftOut("CrewAI")
        self._toolset = toolset
        self._on_progress = on_progress

    def tools(self) -> list[BaseTool]:
        """Return the tools as of now, for a program that does not await.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        return waiting(self.atools)()

    async def atools(self) -> list[BaseTool]:
        """Return the tools as of now.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        listed = await self._toolset.tools()
        spelled = Counter(sanitize_tool_name(tool.name) for tool in listed)
        return [
            self._tool(tool, is_alone=spelled[sanitize_tool_name(tool.name)] == 1)
            for tool in listed
            if self._is_taken(tool)
        ]

    def _is_taken(self, tool: ToolDefinition) -> bool:
        if _TAKEN in (tool.input_schema.get("properties") or {}):
            self.left_out.note(tool.name, f"CrewAI keeps the argument {_TAKEN!r} for itself")
            return False
        return True

    def _tool(self, tool: ToolDefinition, *, is_alone: bool) -> BaseTool:
        name = sanitize_tool_name(tool.name)
        if not is_alone:
            # CrewAI would number them by their order, and then not find the tool.
            mark = f"_{sha256(tool.name.encode()).hexdigest()[:_DIGITS]}"
            name = f"{name[: _LONGEST - len(mark)].rstrip('_')}{mark}"
        return RemitTool(self._toolset, tool, name, self._on_progress)


class RemitTool(BaseTool):
    """One tool of a principal; its name is spelled as CrewAI does, in small letters."""

    _toolset: Toolset = PrivateAttr()
    _tool: ToolDefinition = PrivateAttr()
    _schema: StrictSchema = PrivateAttr()
    _on_progress: Heard | None = PrivateAttr()

    def __init__(
        self, toolset: Toolset, tool: ToolDefinition, name: str, on_progress: Heard | None
    ) -> None:
        """Take a tool as it was listed."""
        schema = StrictSchema(tool.input_schema)
        super().__init__(
            name=name,
            description=tool.description or tool.title or tool.name,
            args_schema=_arguments_of(name, schema),
            cache_function=_never,
        )
        self._toolset = toolset
        self._tool = tool
        self._schema = schema
        self._on_progress = on_progress

    def _run(self, **arguments: Any) -> Any:
        return waiting(self._arun)(**arguments)

    async def _arun(self, **arguments: Any) -> Any:
        if _ADDED not in (self._tool.input_schema.get("properties") or {}):
            arguments.pop(_ADDED, None)
        progress = None if self._on_progress is None else self._hear
        meant = self._schema.read(arguments)
        return _read(await self._toolset.call(self._tool.name, meant, progress=progress))

    def _hear(self, done: float, total: float | None, message: str) -> None:
        if self._on_progress is not None:
            self._on_progress(self._tool.name, done, total, message)


def _never(*_: Any) -> bool:
    """Keep no result: each call is made, and so checked and recorded."""
    return False


def _arguments_of(name: str, schema: StrictSchema) -> type[BaseModel]:
    """Return the class that CrewAI asks for a schema; what fits it is the gateway's to say."""

    class Arguments(RootModel[dict[str, Any]]):
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return deepcopy(schema.shown())

    Arguments.__name__ = Arguments.__qualname__ = name
    return Arguments


def _read(result: CallResult) -> Any:
    if result.is_error:
        return ToolFailure(message=result.text, reason=ToolFailureReason.TOOL_REPORTED)
    return result.text

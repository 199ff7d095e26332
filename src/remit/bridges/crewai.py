# pyright: basic, reportMissingImports=false
# CrewAI is in an environment of its own, which the type checker does not see.
"""CrewAI: the tools of one principal as CrewAI tools, over a running gateway.

CrewAI cannot be where remit's own dependencies are, so nothing here needs more of remit than what
talks to a gateway.

    agent's run ─tools()─▶ tools as of now ─model calls one─▶ Toolset.call
       request of the model ─follow()─▶ tools as of now
"""

from collections import Counter
from copy import deepcopy
from hashlib import sha256
from typing import Any, Final

from remit.bridges.frameworks import LeftOut, ToolProgress, progress_of
from remit.bridges.strict_schema import StrictSchema
from remit.bridges.toolset import Toolset
from remit.client.tools import CallResult, ToolDefinition
from remit.errors import RemitError
from remit.library.waiting import waiting

try:
    from crewai.agents.agent_executor import AgentExecutor
    from crewai.hooks import HookAborted
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

_LONGEST: Final = 64
_DIGITS: Final = 8
_TAKEN: Final = "self"
"""An argument that no CrewAI tool can be given: its methods have one of that name."""

_ADDED: Final = "security_context"
"""What CrewAI itself adds to the arguments of a text-based call."""


class RemitTools:
    """The tools that one principal may use, for `Agent(tools=remit.tools())`.

    CrewAI keeps the tools that an agent or a task has when it starts: ask again for the next one,
    or have the runs `follow`. One that was taken away meanwhile is refused when it is called. The
    toolset stays open: whoever made it closes it.

    Attributes:
        left_out: Tools that CrewAI cannot take, with the reason.
    """

    def __init__(self, toolset: Toolset, *, on_progress: ToolProgress | None = None) -> None:
        """Ask nobody yet.

        Args:
            toolset: Of the principal.
            on_progress: Hears how far calls are; CrewAI has no place for it.
        """
        self.left_out = LeftOut("CrewAI")
        self._toolset = toolset
        self._on_progress = on_progress

    def tools(self) -> list["RemitTool"]:
        """Return the tools as of now, for a program that does not await.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        return waiting(self.atools)()

    async def atools(self) -> list["RemitTool"]:
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

    def follow(self, context: Any) -> None:
        """Give a run the tools of now, before a request of its model.

        For `crewai.hooks.register_before_llm_call_hook(remit.follow)`. Of all runs, those that have
        tools of this toolset are followed; of those, whose model is handed tools and not told of
        them in its prompt.

        Raises:
            HookAborted: They cannot be listed; the text is that of `Toolset.tools`. It ends the
                run, where CrewAI would go on after an error of any other kind.
        """
        executor = context.executor
        if not isinstance(executor, AgentExecutor) or not executor.state.use_native_tools:
            return
        held = [tool for tool in executor.original_tools if self._is_own(tool)]
        if not held:
            return
        try:
            made = self.tools()
        except RemitError as error:
            raise HookAborted(str(error), source="remit") from error
        if [tool.definition for tool in held] != [tool.definition for tool in made]:
            self._replace(executor, made)

    def _replace(self, executor: AgentExecutor, made: list["RemitTool"]) -> None:
        """Do what an executor itself does to add a tool while it runs."""
        others = [tool for tool in executor.original_tools if not self._is_own(tool)]
        executor.original_tools = [*others, *made]
        executor.tools = [
            *(tool for tool in executor.tools if not self._is_own(_tool_behind(tool))),
            *(tool.to_structured_tool() for tool in made),
        ]
        about_to_be_sent = executor._openai_tools  # noqa: SLF001 - it has no public way to it
        if not executor.original_tools:
            about_to_be_sent.clear()  # it would keep the last ones
            return
        executor._setup_native_tools()  # noqa: SLF001 - likewise
        about_to_be_sent[:] = executor._openai_tools  # noqa: SLF001 - likewise

    def _is_own(self, tool: Any) -> bool:
        return isinstance(tool, RemitTool) and tool.toolset is self._toolset

    def _is_taken(self, tool: ToolDefinition) -> bool:
        if _TAKEN in (tool.input_schema.get("properties") or {}):
            self.left_out.note(tool.name, f"CrewAI keeps the argument {_TAKEN!r} for itself")
            return False
        return True

    def _tool(self, tool: ToolDefinition, *, is_alone: bool) -> "RemitTool":
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
    _on_progress: ToolProgress | None = PrivateAttr()

    def __init__(
        self, toolset: Toolset, tool: ToolDefinition, name: str, on_progress: ToolProgress | None
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

    @property
    def toolset(self) -> Toolset:
        """Whose tool it is."""
        return self._toolset

    @property
    def definition(self) -> ToolDefinition:
        """What it was listed as."""
        return self._tool

    def _run(self, **arguments: Any) -> Any:
        return waiting(self._arun)(**arguments)

    async def _arun(self, **arguments: Any) -> Any:
        if _ADDED not in (self._tool.input_schema.get("properties") or {}):
            arguments.pop(_ADDED, None)
        progress = progress_of(self._on_progress, self._tool.name)
        meant = self._schema.read(arguments)
        return _read(await self._toolset.call(self._tool.name, meant, progress=progress))


def _tool_behind(tool: Any) -> Any:
    """Return what CrewAI made a tool of its own form from."""
    return getattr(tool, "_original_tool", None)


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

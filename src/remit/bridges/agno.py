# pyright: basic, reportMissingImports=false
# Agno is in an environment of its own, which the type checker does not see.
"""Tools of a principal for agents of Agno 3.

    agent's run ─get_functions()─▶ tools as of now ─model calls one─▶ Toolset.call
                        each request of a ToolsEachTurn ─▶ tools as of now

Agno asks a toolkit for its functions at the beginning of every run and keeps them in local names
of its loop, so each run has the tools of its moment; what was taken away meanwhile is refused when
it is called. What the loop hands to a model at each request, and asks it what to run, are methods
of the model: there `ToolsEachTurn` puts the tools of that request.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from remit.bridges.answers import media_of
from remit.bridges.frameworks import LeftOut, ToolProgress, not_installed, progress_of
from remit.bridges.toolset import Toolset
from remit.client.tools import CallResult, ToolDefinition
from remit.library.waiting import waiting

try:
    from agno.exceptions import AgentRunException
    from agno.media import Audio, Image
    from agno.tools import Function, Toolkit
    from agno.tools.function import ToolResult
    from pydantic import Field
except ModuleNotFoundError as missing:
    raise not_installed("agno", missing) from missing

_AGNOS: Final = frozenset({"_agno_agent", "_agno_team", "_agno_run_context"})
"""Arguments that Agno drops whatever a schema says."""

_READ: Final = {"none": None, "null": None, "true": True, "false": False}

_ITS_OWN: Final = ("name", "title", "description", "parameters", "annotations", "entrypoint")
"""What one function of a toolkit has apart from the others; the rest is of their run."""

_FORMATS: Final = {"mpeg": "mp3", "x-wav": "wav"}
"""What Agno calls kinds of sound, where that is not what MCP calls them."""


class RemitToolkit(Toolkit):
    """What a principal may use, as an Agno toolkit: `Agent(tools=[RemitToolkit(toolset)])`.

    Works with `run` and `arun`. A run whose tools cannot be listed fails and says why; that the
    principal has none is logged. The toolset stays its owner's to close.

    Attributes:
        left_out: Tools that Agno cannot take, and why.
    """

    def __init__(
        self, toolset: Toolset, *, name: str = "remit", on_progress: ToolProgress | None = None
    ) -> None:
        """Take the tools of *toolset*; nothing is asked before the first run.

        Args:
            toolset: Whose tools.
            name: Of the toolkit, for people.
            on_progress: Hears how far a call is; Agno itself has no place for that in a call that
                can be cancelled.
        """
        super().__init__(name=name)
        self.left_out = LeftOut("Agno")
        self._toolset = toolset
        self._on_progress = on_progress
        self._listed: dict[str, ToolDefinition] = {}

    def get_functions(self) -> dict[str, Function]:
        """Return the tools as of now, for an agent that does not await.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        return waiting(self._functions)(waits=True)

    def get_async_functions(self) -> dict[str, Function]:
        """Return the tools as of now; Agno has no place to await here, so its loop waits.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        return waiting(self._functions)(waits=False)

    async def _functions(self, *, waits: bool) -> dict[str, Function]:
        made: dict[str, Function] = {}
        for tool in await self._toolset.tools():
            if taken := sorted(_AGNOS & set(tool.input_schema.get("properties") or {})):
                reason = f"Agno keeps the arguments {', '.join(taken)} for itself"
                self.left_out.note(tool.name, reason)
            else:
                self._listed[tool.name] = tool
                made[tool.name] = self._function(tool, waits=waits)
        return made

    def _function(self, tool: ToolDefinition, *, waits: bool) -> "RemitFunction":
        call = self._calling(tool.name)

        async def functions() -> dict[str, Function]:
            return await self._functions(waits=waits)

        def listed(name: str) -> Function | None:
            known = self._listed.get(name)
            return None if known is None else self._function(known, waits=waits)

        return RemitFunction(
            name=tool.name,
            title=tool.title or None,
            description=tool.description or tool.name,
            parameters={"properties": {}, **tool.input_schema},
            annotations=_hints(tool),
            entrypoint=waiting(call) if waits else call,
            skip_entrypoint_processing=True,
            strict=False,  # else Agno writes the schema anew for models with structured output
            toolkit=id(self),
            functions=functions,
            listed=listed,
        )

    def _calling(self, name: str) -> Callable[..., Any]:
        progress = progress_of(self._on_progress, name)

        async def call(_agno_run_context: Any = None, **arguments: Any) -> Any:
            written = _as_written(name, arguments, _agno_run_context)
            return _read(await self._toolset.call(name, written, progress=progress))

        return call


class RemitFunction(Function):
    """A tool of a `RemitToolkit`, which finds the others of its run."""

    # Not private: Agno makes a copy for every run, and that keeps what is public.
    toolkit: int = Field(exclude=True, repr=False)
    functions: Any = Field(exclude=True, repr=False)
    listed: Any = Field(exclude=True, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what a model is shown."""
        return _Shown(super().to_dict(), self)

    async def all_now(self) -> list[Function]:
        """Return what the toolkit has now, as functions of the same run."""
        return [self._beside(function) for function in (await self.functions()).values()]

    def another(self, name: str) -> Function | None:
        """Return one that the toolkit has or had, likewise."""
        function = self.listed(name)
        return None if function is None else self._beside(function)

    def _beside(self, function: Function) -> Function:
        """Return *function* in this one's run: with its agent, its hooks, and its messages."""
        copied = self.model_copy()
        for part in _ITS_OWN:
            setattr(copied, part, getattr(function, part))
        return copied


class _Shown(dict[str, Any]):
    """What a model is shown of a function, and which one that is."""

    def __init__(self, shown: dict[str, Any], function: RemitFunction) -> None:
        super().__init__(shown)
        self.function = function


class ToolsEachTurn:
    """Has a model see the tools of a `RemitToolkit` as of each request, and not as of its run.

    Goes before a model of Agno: `class Chat(ToolsEachTurn, OpenAIChat): ...`. A tool that was
    added meanwhile is offered and can be called; one that was taken away is not offered any more.
    """

    def invoke(self, *args: Any, tools: Any = None, **options: Any) -> Any:
        """Ask the model, with the tools of now."""
        model: Any = super()
        return model.invoke(*args, tools=waiting(_as_of_now)(tools), **options)

    async def ainvoke(self, *args: Any, tools: Any = None, **options: Any) -> Any:
        """Do the same with `await`."""
        model: Any = super()
        return await model.ainvoke(*args, tools=await _as_of_now(tools), **options)

    def invoke_stream(self, *args: Any, tools: Any = None, **options: Any) -> Iterator[Any]:
        """Do the same, answered piece by piece."""
        model: Any = super()
        yield from model.invoke_stream(*args, tools=waiting(_as_of_now)(tools), **options)

    async def ainvoke_stream(
        self, *args: Any, tools: Any = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Do the same with `await`, piece by piece."""
        model: Any = super()
        async for piece in model.ainvoke_stream(*args, tools=await _as_of_now(tools), **options):
            yield piece

    def get_function_calls_to_run(
        self, assistant_message: Any, messages: Any, functions: Any = None
    ) -> Any:
        """Find what the model called, also among what the run did not begin with."""
        known = dict(functions or {})
        for kin in _one_of_each(known.values()):
            for call in assistant_message.tool_calls or ():
                name = (call.get("function") or {}).get("name")
                if name in known or not isinstance(name, str):
                    continue
                if (found := kin.another(name)) is not None:
                    known[name] = found
        model: Any = super()
        return model.get_function_calls_to_run(assistant_message, messages, known)


async def _as_of_now(tools: Sequence[Any] | None) -> Any:
    """Return what a request shows of *tools*, which are those that the run began with."""
    shown = [(tool, tool.get("function")) for tool in tools or ()]
    others = [tool for tool, function in shown if not isinstance(function, _Shown)]
    taken = {_name_of(tool) for tool in others}
    made = [
        {"type": "function", "function": function.to_dict()}
        for kin in _one_of_each(one.function for _, one in shown if isinstance(one, _Shown))
        for function in await kin.all_now()
        if function.name not in taken
    ]
    # In the order that Agno shows them in, so that a provider's cache of prompts holds.
    return sorted([*others, *made], key=_name_of)


def _one_of_each(functions: Iterable[Any]) -> list[RemitFunction]:
    """Return one function of each toolkit of remit."""
    found = {one.toolkit: one for one in functions if isinstance(one, RemitFunction)}
    return list(found.values())


def _name_of(tool: dict[str, Any]) -> str:
    function = tool.get("function")
    return str((function if isinstance(function, dict) else tool).get("name", ""))


def _as_written(name: str, arguments: dict[str, Any], run: Any) -> dict[str, Any]:
    """Return the arguments as the model wrote them.

    Agno makes null of the texts "none" and "null", and booleans of "true" and "false", whatever
    the schema says; what was written is in the messages of the run.
    """
    messages: list[Any] = [] if run is None else run.messages or []
    for message in reversed(messages):
        for made in message.tool_calls or ():
            function = made.get("function") or {}
            if function.get("name") == name:
                written = _object(function.get("arguments"))
                if {key: _as_agno_reads(value) for key, value in written.items()} == arguments:
                    return written
        if message.tool_calls:
            break
    return arguments


def _object(text: Any) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _as_agno_reads(value: Any) -> Any:
    return _READ.get(value.strip().lower(), value) if isinstance(value, str) else value


def _read(result: CallResult) -> Any:
    if result.is_error:
        # Agno's own kind goes to the model as a failed call; others leave a traceback in the log.
        raise AgentRunException(result.text)
    media = [media for block in result.content if (media := media_of(block)) is not None]
    images = [Image(content=one.data, mime_type=one.mime_type) for one in media if one.is_image]
    audios = [
        Audio(
            content=one.data, mime_type=one.mime_type, format=_FORMATS.get(one.format, one.format)
        )
        for one in media
        if not one.is_image
    ]
    if not media:
        return result.text
    return ToolResult(content=result.text, images=images or None, audios=audios or None)


def _hints(tool: ToolDefinition) -> dict[str, Any] | None:
    """Return the hints that Agno knows; one that it does not would fail the tool."""
    known = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    found = {name: tool.annotations.get(name) for name in known}
    return {name: hint for name, hint in found.items() if isinstance(hint, bool)} or None

# pyright: basic, reportMissingImports=false
# Agno is in an environment of its own, which the type checker does not see.
"""Tools of a principal for agents of Agno 3.

    agent's run ─get_functions()─▶ tools as of now ─model calls one─▶ Toolset.call

Agno asks a toolkit for its functions at the beginning of every run, so each run has the tools of
its moment; what was taken away meanwhile is refused when it is called.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from remit.bridges.frameworks import LeftOut, not_installed
from remit.bridges.toolset import Toolset
from remit.client.tools import CallResult, ToolDefinition
from remit.library.waiting import waiting

try:
    from agno.exceptions import AgentRunException
    from agno.tools import Function, Toolkit
except ModuleNotFoundError as missing:
    raise not_installed("agno", missing) from missing

Heard = Callable[[str, float, float | None, str], None]
"""Takes a tool's name, what is done, of how much if that is known, and a text or nothing."""

_AGNOS: Final = frozenset({"_agno_agent", "_agno_team", "_agno_run_context"})
"""Arguments that Agno drops whatever a schema says."""


_READ: Final = {"none": None, "null": None, "true": True, "false": False}


class RemitToolkit(Toolkit):
    """What a principal may use, as an Agno toolkit: `Agent(tools=[RemitToolkit(toolset)])`.

    Works with `run` and `arun`. A run whose tools cannot be listed fails and says why; that the
    principal has none is logged. The toolset stays its owner's to close.

    Attributes:
        left_out: Tools that Agno cannot take, and why.
    """

    def __init__(
        self, toolset: Toolset, *, name: str = "remit", on_progress: Heard | None = None
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

    def get_functions(self) -> dict[str, Function]:
        """Return the tools as of now, for an agent that does not await.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        return self._functions(waits=True)

    def get_async_functions(self) -> dict[str, Function]:
        """Return the tools as of now; Agno has no place to await here, so its loop waits.

        Raises:
            RemitError: As `Toolset.tools` says.
        """
        return self._functions(waits=False)

    def _functions(self, *, waits: bool) -> dict[str, Function]:
        made: dict[str, Function] = {}
        for tool in waiting(self._toolset.tools)():
            if taken := sorted(_AGNOS & set(tool.input_schema.get("properties") or {})):
                reason = f"Agno keeps the arguments {', '.join(taken)} for itself"
                self.left_out.note(tool.name, reason)
            else:
                made[tool.name] = self._function(tool, waits=waits)
        return made

    def _function(self, tool: ToolDefinition, *, waits: bool) -> Function:
        call = self._calling(tool.name)
        return Function(
            name=tool.name,
            title=tool.title or None,
            description=tool.description or tool.name,
            parameters={"properties": {}, **tool.input_schema},
            annotations=_hints(tool),
            entrypoint=waiting(call) if waits else call,
            skip_entrypoint_processing=True,
            strict=False,  # else Agno writes the schema anew for models with structured output
        )

    def _calling(self, name: str) -> Callable[..., Any]:
        heard = self._on_progress

        def hear(done: float, total: float | None, message: str) -> None:
            if heard is not None:
                heard(name, done, total, message)

        async def call(_agno_run_context: Any = None, **arguments: Any) -> str:
            progress = None if heard is None else hear
            written = _as_written(name, arguments, _agno_run_context)
            return _read(await self._toolset.call(name, written, progress=progress))

        return call


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


def _read(result: CallResult) -> str:
    if result.is_error:
        # Agno's own kind goes to the model as a failed call; others leave a traceback in the log.
        raise AgentRunException(result.text)
    return result.text


def _hints(tool: ToolDefinition) -> dict[str, Any] | None:
    """Return the hints that Agno knows; one that it does not would fail the tool."""
    known = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    found = {name: tool.annotations.get(name) for name in known}
    return {name: hint for name, hint in found.items() if isinstance(hint, bool)} or None

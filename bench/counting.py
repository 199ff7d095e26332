"""Counts the bytecode instructions that a thread executes, step by step of a call's way.

A frame belongs to the step of its module; one that no step names to the step of its caller. What
begins at the event loop counts when it begins at the door or in the relay; anything else that the
loop runs is `BACKGROUND`: watchers, timers of others, the way of the record into the database.
"""

import sys
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Final

BACKGROUND: Final = "background"

STEPS: Mapping[str, str] = {
    "door": "bytes in, what the head says, the message, and whatever else the door does",
    "authenticate": "the key, found among those that were verified before",
    "authorize": "alias, and the permit that is remembered while rules and catalogue are in force",
    "validate": "the arguments, by the tool's own schema",
    "limits": "the call counted against one limit, in memory",
    "record": "two events, redacted and capped (R28)",
    "journal": "two lines, each in a completed write (R29)",
    "invoke": "the time limit, and what becomes of a failure",
    "relay": "request and answer on a kept connection to the server",
    "answer": "the result made an answer, in one write",
    "pipeline": "the order of the steps, and what no step names",
}
"""What a call pays for, in the order in which it does."""

MODULES: Mapping[str, str] = {
    "remit.doors": "door",
    "remit.doors.credentials": "authenticate",
    "remit.identity": "authenticate",
    "remit.doors.mcp.answers": "answer",
    "remit.doors.mcp.results": "answer",
    "remit.calls": "pipeline",
    "remit.calls.authorize": "authorize",
    "remit.calls.directory": "authorize",
    "remit.calls.inforce": "authorize",
    "remit.policy": "authorize",
    "remit.calls.validate": "validate",
    "remit.calls.limit": "limits",
    "remit.calls.allowances": "limits",
    "remit.storage.limits": "limits",
    "remit.calls.record": "record",
    "remit.calls.redact": "record",
    "remit.calls.tally": "record",
    "remit.calls.words": "record",
    "remit.storage": "journal",
    "remit.calls.invoke": "invoke",
    "remit.upstreams": "relay",
}
"""Modules, or packages, to the step that their code belongs to; the longest name counts."""

METHODS: Mapping[str, str] = {"respond": "answer", "begin": "answer", "end": "answer"}
"""Functions of the door that are another step's."""

DOOR: Final = "remit.doors"
FOREGROUND: Final = (DOOR, "remit.upstreams.relay")
"""Where what the loop runs for a call begins."""

ARRIVALS: Final = frozenset({"data_received", "buffer_updated"})
"""What asyncio calls when bytes of a client have come: the next call begins."""


class _StepTrace:
    """Counts the instructions of frames of one step."""

    def __init__(self, step: str, counter: "InstructionCounter") -> None:
        self.step = step
        self._counter = counter

    def __call__(self, frame: FrameType, event: str, arg: object) -> "_StepTrace":
        del frame, arg
        if event == "opcode":
            self._counter.instructions[self.step] += 1
        return self


class InstructionCounter:
    """Counts what this thread executes while it is switched on, call by call.

    Attributes:
        instructions: Step to instructions, since the last call began.
        functions: Step to Python functions that were entered or resumed.
        calls: Both, of every call that has ended.
    """

    def __init__(self) -> None:
        self.instructions = Counter[str]()
        self.functions = Counter[str]()
        self.calls: list[tuple[Counter[str], Counter[str]]] = []
        self._traces = {step: _StepTrace(step, self) for step in (*STEPS, BACKGROUND)}
        self._steps: dict[CodeType, str | None] = {}

    @contextmanager
    def counting(self) -> Generator[None]:
        """Count while entered."""
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(None)
            self._next_call()

    def _enter(self, frame: FrameType, event: str, arg: object) -> _StepTrace:
        del event, arg
        step = self._step_of(frame)
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        self.functions[step] += 1
        return self._traces[step]

    def _step_of(self, frame: FrameType) -> str:
        own = self._own_step(frame.f_code, frame)
        caller = frame.f_back.f_trace if frame.f_back is not None else None
        if not isinstance(caller, _StepTrace):
            module = str(frame.f_globals.get("__name__", ""))
            if not module.startswith(FOREGROUND):
                return BACKGROUND
            if module.startswith(DOOR) and frame.f_code.co_name in ARRIVALS:
                self._next_call()
            return own or BACKGROUND
        if caller.step == BACKGROUND:
            return BACKGROUND
        return own or caller.step

    def _own_step(self, code: CodeType, frame: FrameType) -> str | None:
        if code not in self._steps:
            module = str(frame.f_globals.get("__name__", ""))
            self._steps[code] = step_named(module, code.co_name)
        return self._steps[code]

    def _next_call(self) -> None:
        if self.instructions:
            self.calls.append((self.instructions, self.functions))
        self.instructions, self.functions = Counter[str](), Counter[str]()


def step_named(module: str, function: str) -> str | None:
    """Return the step that a function is named for, or None."""
    if module.startswith(DOOR) and function in METHODS:
        return METHODS[function]
    while module:
        if module in MODULES:
            return MODULES[module]
        module = module.rpartition(".")[0]
    return None

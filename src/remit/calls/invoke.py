"""From a recorded call to its outcome: the upstream runs it within its time limit."""

import re
import time
from typing import Protocol

import msgspec

from remit.calls.states import States
from remit.model.calls import Outcome, OutcomeKind, RecordedCall
from remit.model.conversation import Extras
from remit.model.principals import Principal
from remit.model.tools import ToolId


class Upstreams(Protocol):
    """The servers behind us."""

    async def invoke(
        self,
        tool: ToolId,
        *,
        arguments: bytes,
        meta: bytes,
        principal: Principal,
        timeout: float,  # noqa: ASYNC109 - the port states the limit, its adapter keeps it
        extras: Extras | None = None,
    ) -> bytes:
        """Run *tool* and return its `result` as raw JSON, as the server sent it.

        Raises:
            UpstreamError: The server failed, or did not answer within *timeout* seconds.
        """
        ...


class _Flag(msgspec.Struct):
    """The one field of a result that the record needs."""

    isError: bool = False  # noqa: N815 - the protocol's spelling


_flags = msgspec.json.Decoder(_Flag)
_says_error = re.compile(rb'"isError"\s*:\s*true')


def is_tool_error(result: bytes) -> bool:
    """Whether a raw `tools/call` result says that the tool failed."""
    if b'"isError"' not in result:
        return False
    try:
        return _flags.decode(result).isError
    except (msgspec.DecodeError, RecursionError):  # JSON that the fast parser does not take
        return _says_error.search(result) is not None


class Invoker:
    """Hands the call to its upstream and times it."""

    def __init__(self, upstreams: Upstreams, states: States) -> None:
        self._upstreams = upstreams
        self._states = states

    async def __call__(self, recorded: RecordedCall) -> Outcome:
        """Return how the call ended.

        Raises:
            UpstreamError: The server failed, or did not answer in time.
        """
        valid = recorded.valid
        call = valid.call
        started = time.perf_counter()
        result = await self._upstreams.invoke(
            valid.tool.id,
            arguments=call.arguments,
            meta=call.meta,
            principal=call.principal,
            timeout=valid.timeout,
            extras=valid.extras,
        )
        result = self._states.sealed(result, valid.authorized)
        return Outcome(
            kind=OutcomeKind.TOOL_ERROR if is_tool_error(result) else OutcomeKind.OK,
            result=result,
            ms=(time.perf_counter() - started) * 1000,
        )

"""From a recorded call to its outcome: the upstream runs it within its time limit."""

import re
import time
from typing import Protocol

import msgspec

from remit.model.calls import Outcome, OutcomeKind, RecordedCall
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
        method: str,
    ) -> bytes:
        """Ask *method* about *tool*, and return the `result` as raw JSON, as the server sent it.

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

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams

    async def __call__(self, recorded: RecordedCall) -> Outcome:
        """Return how the call ended.

        Raises:
            UpstreamError: The server failed, or did not answer in time.
        """
        valid = recorded.valid
        call = valid.call
        started = time.perf_counter()
        result = await self._upstreams.invoke(
            valid.authorized.tool_id,
            arguments=call.arguments,
            meta=call.meta,
            principal=call.principal,
            timeout=valid.timeout,
            method=call.method,
        )
        return Outcome(
            kind=OutcomeKind.TOOL_ERROR if is_tool_error(result) else OutcomeKind.OK,
            result=result,
            ms=(time.perf_counter() - started) * 1000,
        )

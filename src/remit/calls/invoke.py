"""From a recorded call to its outcome: the upstream runs it within its time limit.

attempt ──answer──▶ Outcome
   │
   └─failure─▶ transient, and it never left or may be repeated, and there is time ─▶ recorded,
          a pause, attempt again, three in all (R23)
          └─▶ anything else: the failure
"""

import re
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol

import anyio
import msgspec
import structlog

from remit.calls.states import States
from remit.errors import AuditUnavailable, Refused, UpstreamError, UpstreamProtocolError
from remit.model.calls import AuthorizedCall, Outcome, OutcomeKind, RecordedCall, ValidCall
from remit.model.contents import Kind
from remit.model.conversation import Extras
from remit.model.principals import Principal
from remit.model.protocol import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from remit.model.tools import Hints, Tool, ToolId

log = structlog.get_logger(__name__)

MOST_ATTEMPTS: Final = 3
"""Of one call, the first included (R23)."""

PAUSE: Final = 1.0
"""Seconds between two attempts (R23)."""

KEY: Final = "remit/idempotencyKey"
"""What a caller puts into `_meta` with a text of its own, to say that repeating does no harm."""


_PASSING: Final = re.compile(
    r"timeout|timed out|connection|network|temporar|ECONNREFUSED|ETIMEDOUT|ENOTFOUND", re.IGNORECASE
)
"""How servers word an error of theirs that may pass (S3.25)."""

_OF_THE_REQUEST: Final = frozenset({PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS})
"""Codes of errors that the same request meets again, whatever their words."""


class Upstreams(Protocol):
    """The servers behind us."""

    def invoke(
        self,
        tool: ToolId,
        *,
        arguments: bytes,
        meta: bytes,
        principal: Principal,
        timeout: float,
        method: str,
        extras: Extras | None = None,
        confirm: Callable[[], Awaitable[None]] | None = None,
    ) -> Awaitable[bytes]:
        """Ask *method* about *tool*; gives the `result` as raw JSON, as the server sent it.

        A call that had to wait is confirmed just before it is sent: what that raises ends it.

        Raises:
            UpstreamError: The server failed, or did not answer within *timeout* seconds.
        """
        ...


class AttemptRecord(Protocol):
    """The record of attempts that failed."""

    async def attempted(self, call: RecordedCall, failure: UpstreamError, number: int) -> None:
        """Record an attempt after which another one will be made.

        Raises:
            AuditUnavailable: Then that one must not be made.
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
    """Hands the call to its upstream, again where that is safe.

    Args:
        upstreams: The servers behind us.
        attempts: Where attempts that failed are recorded.
        states: Seals what a caller keeps for the server between two rounds.
        confirm: Looks once more at a call that had to wait, before it is sent (R17).
        pause: Seconds between two attempts, unless the server asks for more.
    """

    def __init__(
        self,
        upstreams: Upstreams,
        attempts: AttemptRecord,
        states: States,
        confirm: Callable[[AuthorizedCall], Awaitable[None]],
        *,
        pause: float = PAUSE,
    ) -> None:
        self._upstreams = upstreams
        self._attempts = attempts
        self._states = states
        self._confirm = confirm
        self._pause = pause

    async def __call__(self, recorded: RecordedCall) -> Outcome:
        """Return how the call ended.

        Raises:
            UpstreamError: The server failed, or did not answer in time.
            Refused: The call had to wait, and its caller may not make it any more.
        """
        valid = recorded.valid
        started = time.perf_counter()
        try:
            result = await self._attempt(valid, valid.timeout)
        except UpstreamError as failure:
            result = await self._repeat(recorded, failure, started + valid.timeout)
        result = self._states.sealed(result, valid.authorized)
        kind = OutcomeKind.TOOL_ERROR if is_tool_error(result) else OutcomeKind.OK
        return Outcome(kind=kind, result=result)

    def _attempt(self, valid: ValidCall, seconds: float) -> Awaitable[bytes]:
        call = valid.authorized.call
        return self._upstreams.invoke(
            valid.authorized.permit.tool_id,
            arguments=call.arguments,
            meta=call.meta,
            principal=call.acting,
            timeout=seconds,
            extras=valid.extras,
            method=call.method,
            confirm=partial(self._confirm, valid.authorized),
        )

    async def _repeat(self, recorded: RecordedCall, failure: UpstreamError, until: float) -> bytes:
        """Make the attempts that are left after the first.

        Raises:
            UpstreamError: The last one failed, or none is to be made.
            Refused: The caller may not make the call any more, and no server has heard of it.
        """
        valid, made = recorded.valid, 1
        failure.transient = failure.transient or _passes(failure)
        while made < MOST_ATTEMPTS and _may_repeat(valid, failure):
            pause = max(self._pause, failure.retry_after or 0.0)
            if time.perf_counter() + pause >= until or not await self._note(
                recorded, failure, made
            ):
                break
            await anyio.sleep(pause)
            made += 1
            may_have_run = failure.is_outcome_unknown
            try:
                await self._confirm(valid.authorized)
                return await self._attempt(valid, until - time.perf_counter())
            except Refused:
                if not failure.sent:
                    raise
                made -= 1  # what came of those before stands
                break
            except UpstreamError as again:
                failure = again
                failure.transient = failure.transient or _passes(failure)
                # That the last attempt never left says nothing of those before it.
                failure.sent = failure.sent or may_have_run
        failure.attempts = made
        if made > 1:
            failure.args = (f"{failure}; attempted {made} times",)
        raise failure

    async def _note(self, recorded: RecordedCall, failure: UpstreamError, number: int) -> bool:
        """Record an attempt that failed; return whether another one may be made (R29)."""
        try:
            await self._attempts.attempted(recorded, failure, number)
        except AuditUnavailable:
            log.exception("attempt cannot be recorded", call_id=recorded.event.call_id)
            return False
        return True


class _RpcError(msgspec.Struct):
    code: int = 0
    message: str = ""


def _passes(failure: UpstreamError) -> bool:
    """Whether a server's own JSON-RPC error is worded as one that may pass."""
    if not isinstance(failure, UpstreamProtocolError) or not failure.rpc_error:
        return False
    try:
        error = msgspec.json.decode(failure.rpc_error, type=_RpcError)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return error.code not in _OF_THE_REQUEST and _PASSING.search(error.message) is not None


def _may_repeat(valid: ValidCall, failure: UpstreamError) -> bool:
    """Whether the same request may be sent once more without doing harm (R23)."""
    if not failure.transient or valid.retry == "never":
        return False
    hints = valid.tool.hints if isinstance(valid.tool, Tool) else Hints()
    return (
        not failure.sent
        or valid.retry == "safe"
        or valid.call.kind is not Kind.TOOL  # whose methods only read
        or hints.read_only is True
        or hints.idempotent is True
        or _has_key(valid.call.meta)
    )


def _has_key(meta: bytes) -> bool:
    if KEY.encode() not in meta:
        return False
    try:
        decoded = msgspec.json.decode(meta, type=dict[str, msgspec.Raw])
        key = msgspec.json.decode(decoded.get(KEY, b"null"))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(key, str) and bool(key)

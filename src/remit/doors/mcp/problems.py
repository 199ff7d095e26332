"""The one table from errors to what an MCP caller is told (R14, R22).

CallDenied                       JSON-RPC -32602, the same for denied and unknown
InvalidState                     JSON-RPC -32602
UpstreamProtocolError with error the server's own error, where it can be the caller's
every other RemitError           a result with isError, so that the model can recover; where only
                                 tools have such results, -32602 for bad arguments, else -32603
anything else                    JSON-RPC -32603, and the log
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from remit.doors.mcp.envelope import Fault, decoded
from remit.errors import (
    AuditUnavailable,
    BadCall,
    CallDenied,
    InvalidState,
    LimitReached,
    RemitError,
    UpstreamError,
    UpstreamProtocolError,
)
from remit.model.call_meta import CODE, OUTCOME, REQUEST, RETRY_AFTER, UNKNOWN_OUTCOME
from remit.model.contents import Kind
from remit.model.principals import Principal
from remit.model.protocol import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    URL_ELICITATION_REQUIRED,
)
from remit.upstreams.wire import Malformed, members

UNKNOWN: Final[Mapping[Kind, str]] = {
    Kind.TOOL: "Unknown tool",
    Kind.PROMPT: "Unknown prompt",
    Kind.RESOURCE: "Resource not found",
}
WHOM_TO_ASK: Final = "an administrator of this gateway, who finds the call by its requestId"

RESOURCE_NOT_FOUND: Final = -32002
"""What older servers say where -32602 is said today."""

_BETWEEN_US: Final = frozenset(
    {
        PARSE_ERROR,
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        HEADER_MISMATCH,
        UNSUPPORTED_PROTOCOL_VERSION,
    }
)
"""Codes by which a server finds fault with remit's message, which is not the caller's."""


class Problems:
    """Translates an error of the pipeline into a raw result or a JSON-RPC error.

    Args:
        explains: Whether a role of the caller is set to `denials: explain` (R14).
        result_meta: What the `_meta` of every own result carries in the modern era.
    """

    def __init__(
        self, explains: Callable[[Principal], bool], result_meta: Mapping[str, object]
    ) -> None:
        self._explains = explains
        self._result_meta = result_meta

    def __call__(
        self,
        error: RemitError,
        *,
        principal: Principal,
        request_id: str,
        modern: bool,
        kind: Kind = Kind.TOOL,
    ) -> bytes | Fault:
        """Return what to answer for *error* in a call about something of that *kind*."""
        if isinstance(error, CallDenied):
            return self._denied(error, principal, request_id, kind)
        if isinstance(error, InvalidState):
            return Fault(code=INVALID_PARAMS, message=str(error), data=_asked(request_id))
        if isinstance(error, UpstreamProtocolError) and error.rpc_error:
            relayed = _relayed(error.rpc_error, modern=modern)
            if relayed is not None:
                return relayed
        if kind is not Kind.TOOL:
            code = INVALID_PARAMS if isinstance(error, BadCall) else INTERNAL_ERROR
            text, meta = _told(error, request_id)
            return Fault(code=code, message=text, data=msgspec.json.encode(meta))
        return self._tool_error(error, request_id, modern=modern)

    def _denied(
        self, denial: CallDenied, principal: Principal, request_id: str, kind: Kind
    ) -> Fault:
        data = {"requestId": request_id}
        # Only a rule of a real tool has a layer; a name that means nothing has nothing to tell.
        if denial.layer and self._explains(principal):
            data |= {
                "reason": denial.reason,
                "layer": denial.layer,
                "rule": denial.rule,
                "ask": WHOM_TO_ASK,
            }
        return Fault(code=INVALID_PARAMS, message=UNKNOWN[kind], data=msgspec.json.encode(data))

    def _tool_error(self, error: RemitError, request_id: str, *, modern: bool) -> bytes:
        text, meta = _told(error, request_id)
        result: dict[str, object] = {
            "content": [{"type": "text", "text": text}],
            "isError": True,
        }
        if modern:
            result["resultType"] = "complete"
            meta |= self._result_meta
        return msgspec.json.encode(result | {"_meta": meta})


def internal_error(request_id: str) -> Fault:
    """Return the answer to a fault of our own, which the log tells more about."""
    return Fault(code=INTERNAL_ERROR, message="Internal error", data=_asked(request_id))


def _asked(request_id: str) -> bytes:
    return msgspec.json.encode({"requestId": request_id})


def _told(error: RemitError, request_id: str) -> tuple[str, dict[str, object]]:
    """Return the words for a model, and what a program can read of them."""
    meta: dict[str, object] = {CODE: error.code, REQUEST: request_id}
    text = _text(error)
    if isinstance(error, UpstreamError) and error.is_outcome_unknown:
        meta[OUTCOME] = UNKNOWN_OUTCOME
        text += "; whether it took effect is unknown"
    if isinstance(error, LimitReached | UpstreamError) and error.retry_after is not None:
        meta[RETRY_AFTER] = error.retry_after
    return text, meta


def _text(error: RemitError) -> str:
    # What storage says of a failure names files and statements, which are no caller's business.
    if isinstance(error, AuditUnavailable):
        return "the call could not be recorded, so it was not made; try again later"
    return str(error)


def _relayed(rpc_error: bytes, *, modern: bool) -> Fault | None:
    try:
        parts = members(rpc_error)
    except Malformed:
        return None
    code, message, data = (
        decoded(parts.get("code")),
        decoded(parts.get("message")),
        parts.get("data"),
    )
    if not isinstance(code, int) or not isinstance(message, str):
        return None
    if code == RESOURCE_NOT_FOUND:
        return Fault(code=INVALID_PARAMS, message=message, data=data or b"")
    if code in _BETWEEN_US or (modern and code == URL_ELICITATION_REQUIRED):
        return Fault(code=INTERNAL_ERROR, message=message)
    return Fault(code=code, message=message, data=data or b"")

"""The envelopes of the JSON door, and its table from errors to codes and HTTP statuses (R22).

data of a success   the tool's structured result as it came; without one `{"text": …}`, all that it
                    says, or `{"content": […]}` where it does not only say something

PERMISSION_DENIED   400   policy says no, or there is no tool for such a caller to be told of
TOOL_NOT_FOUND      400   there is none, and the caller might use one of that name
INVALID_INPUT       400   the body, the arguments, or a name that fits several tools
AGENT_NOT_FOUND     400
TRANSIENT_ERROR     400   the server failed in passing, and all attempts are used up
UPSTREAM_…          400   the server failed; `details.outcome` says when nobody knows how it ended
APPROVAL_REQUIRED   400   an approved query is none yet, or none any more
LIMIT_REACHED       429   with `Retry-After`
INTERNAL_ERROR      400   the server answered with an error, or the tool says that it failed
                    500   a fault of remit's own
its own code        400   a tool of remit's says what it will not do (`_meta` of its result);
                          for those of the `data` server `data_codes.py` has the table
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, cast

import msgspec

from remit.doors.execute import data_codes
from remit.doors.head import Headers
from remit.errors import (
    AuditUnavailable,
    CallDenied,
    LimitReached,
    RemitError,
    UpstreamError,
)
from remit.model.calls import Call
from remit.model.members import members_of
from remit.servers.toolbox import ERROR
from remit.upstreams.wire import Malformed, json_bytes, members, value_of

CODES: Final = frozenset(
    {
        "PERMISSION_DENIED",
        "INVALID_INPUT",
        "AGENT_NOT_FOUND",
        "RESOURCE_NOT_FOUND",
        "INVALID_AGENT_STATE",
        "TRANSIENT_ERROR",
    }
)
"""Those that a tool may give."""

INTERNAL: Final = "INTERNAL_ERROR"

_NULL: Final = b"null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is sent.

    Attributes:
        body: The envelope up to its data.
        data: Raw JSON as the tool gave it, which may be large and is not copied; or empty.
        tail: What comes after it.
    """

    status: int
    body: bytes
    data: bytes = b""
    tail: bytes = b""
    headers: Headers = ()

    @property
    def rest(self) -> tuple[bytes, ...]:
        """All that follows the body."""
        return (self.data, self.tail) if self.data else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error as its caller is told of it."""

    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict[str, object])
    status: int = 400
    headers: Headers = ()


def success(data: bytes, now: datetime) -> Answer:
    """Return the envelope of *data*, which is raw JSON."""
    tail = b',"timestamp":"%b"}' % _spelled(now)
    return Answer(status=200, body=b'{"success":true,"data":', data=data, tail=tail)


def failure(failed: Failure, now: datetime) -> Answer:
    """Return the envelope of an error; `details` is always there."""
    error = json_bytes(
        {"code": failed.code, "message": failed.message, "details": dict(failed.details)}
    )
    body = b'{"success":false,"error":%b,"timestamp":"%b"}' % (error, _spelled(now))
    return Answer(status=failed.status, body=body, headers=failed.headers)


def told_of(error: RemitError, call: Call, *, explains: bool, is_absent: bool) -> Failure:
    """Return what the caller of *call* hears of *error*.

    Args:
        error: What the pipeline raised.
        call: Its id is what an administrator finds the rest by (R14).
        explains: Whether a denial says which rule it was.
        is_absent: Whether the caller may hear that there is no tool of that name.
    """
    details: dict[str, object] = {"requestId": call.id}
    if isinstance(error, CallDenied):
        return _denied(error, call, details, explains=explains, is_absent=is_absent)
    if isinstance(error, LimitReached):
        details["retryAfter"] = error.retry_after
        again = ((b"retry-after", b"%d" % error.retry_after),)
        return Failure(
            code=error.code, message=str(error), details=details, status=429, headers=again
        )
    if isinstance(error, AuditUnavailable):  # whose text names files
        text = "the call could not be recorded, so it was not made; try again later"
        return Failure(code=error.code, message=text, details=details, status=500)
    if isinstance(error, UpstreamError):
        return _failed(error, details)
    return Failure(code=error.code, message=str(error), details=details)


def result_of(result: bytes, request_id: str, *, is_ours: bool) -> bytes | Failure:
    """Return the data of a tool's result as raw JSON, or the failure that it tells of.

    Args:
        result: As it came.
        request_id: Of the call.
        is_ours: Whether the tool is remit's own: another server's codes would not be ours.
    """
    try:
        parts = members(result)
    except Malformed:
        text = "the server's answer is no result of a tool"
        return Failure(code=INTERNAL, message=text, details={"requestId": request_id})
    if parts.get("isError", b"false") == b"true":
        return _tool_error(parts, request_id, is_ours=is_ours)
    structured = parts.get("structuredContent", _NULL)
    if structured != _NULL:
        return structured
    content = parts.get("content", b"[]")
    text = _text_of(content)
    return b'{"content":%b}' % content if text is None else json_bytes({"text": text})


def internal(request_id: str = "") -> Failure:
    """Return what is told of a fault of our own."""
    return Failure(
        code=INTERNAL,
        message="an internal error; the log says more",
        details={"requestId": request_id} if request_id else {},
        status=500,
    )


def _denied(
    denial: CallDenied,
    call: Call,
    details: dict[str, object],
    *,
    explains: bool,
    is_absent: bool,
) -> Failure:
    if is_absent:
        text = f"There is no tool {call.requested!r}"
        return Failure(code="TOOL_NOT_FOUND", message=text, details=details)
    if denial.layer and explains:
        details |= {"reason": denial.reason, "layer": denial.layer, "rule": denial.rule}
    who = call.acting if denial.is_of_agent or not denial.layer else call.principal
    whom = "caller" if who.agent_type is None else "agent type"
    name = who.subject if who.agent_type is None else who.agent_type.value
    text = f"Tool '{call.requested}' is not allowed for {whom} '{name}'"
    return Failure(code=denial.code, message=text, details=details)


def _failed(error: UpstreamError, details: dict[str, object]) -> Failure:
    code = error.code
    if error.attempts > 1:
        details["attempts"] = error.attempts
        if error.transient:
            details["cause"] = code
            code = "TRANSIENT_ERROR"
    if error.is_outcome_unknown:
        details["outcome"] = "unknown"
    if error.retry_after is not None:
        details["retryAfter"] = error.retry_after
    return Failure(code=code, message=str(error), details=details)


def _tool_error(parts: Mapping[str, bytes], request_id: str, *, is_ours: bool) -> Failure:
    try:
        meta = value_of(parts.get("_meta", b"{}"))
    except Malformed:
        meta = None
    code = members_of(members_of(meta).get(ERROR)).get("code")
    details: dict[str, object] = {"requestId": request_id}
    structured = parts.get("structuredContent", _NULL)
    if structured != _NULL:
        details["result"] = msgspec.Raw(structured)
    if is_ours and isinstance(code, str) and code in data_codes.CODES:
        return _data_failure(code, _text_of(parts.get("content", b"[]")) or "", details)
    return Failure(
        code=code if is_ours and isinstance(code, str) and code in CODES else INTERNAL,
        message=_text_of(parts.get("content", b"[]")) or "the tool failed and does not say why",
        details=details,
    )


def _data_failure(code: str, text: str, details: dict[str, object]) -> Failure:
    """Return what the `data` server says in JSON, with its own code among the details (S2.45)."""
    try:
        told = members_of(value_of(text.encode()))
    except Malformed:
        told = {}
    shown = {**details, "code": code}
    if told.get("details"):
        shown["details"] = told["details"]
    message = str(told.get("message") or text)
    return Failure(code=data_codes.CODES[code], message=message, details=shown)


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None


_blocks: Final = msgspec.json.Decoder(list[_Block])


def _text_of(content: bytes) -> str | None:
    """Return all that a result says, or None if some of it is no text."""
    try:
        blocks = [(block.type, block.text) for block in _blocks.decode(content)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        blocks = _odd_blocks(content)
    texts = [text for kind, text in blocks if kind == "text" and text is not None]
    return "\n".join(texts) if len(texts) == len(blocks) else None


def _odd_blocks(content: bytes) -> list[tuple[object, str | None]]:
    """Read what the fast parser refuses, such as a lone surrogate escape."""
    try:
        found = value_of(content)
    except Malformed:
        return [("", None)]
    blocks = cast("list[object]", found) if isinstance(found, list) else [None]
    read: list[tuple[object, str | None]] = []
    for block in blocks:
        held = members_of(block)
        text = held.get("text")
        read.append((held.get("type"), text if isinstance(text, str) else None))
    return read


def _spelled(moment: datetime) -> bytes:
    """Return a time as ISO 8601 in UTC, to the millisecond."""
    text = moment.isoformat(timespec="milliseconds").removesuffix("+00:00")
    return text.encode() + b"Z"

"""What a request of the JSON door asks for: `{agentId?, toolName, input?}` (S3.1, S3.3)."""

from typing import Final

import msgspec

from remit.calls.invoke import KEY
from remit.doors.asgi import Exchange
from remit.errors import BadCall
from remit.model.traces import TRACEPARENT, TRACESTATE
from remit.upstreams.trace_context import context_of, with_context
from remit.upstreams.wire import Malformed, json_bytes, members, value_of

IDEMPOTENCY_KEY: Final = b"idempotency-key"
"""A header with a text of the caller's own: a request that has one may be repeated (S3.28)."""

LONGEST_KEY: Final = 255

LONGEST_NAME: Final = 4096
"""Characters; more than any tool or agent is called by."""

_MEMBERS: Final = frozenset({"agentId", "toolName", "input"})
_NULL: Final = b"null"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request, read.

    Attributes:
        agent: The id of the agent that is to act, or None.
        arguments: The input as a raw JSON object, byte for byte as it came.
    """

    agent: str | None
    tool: str
    arguments: bytes

    def __repr__(self) -> str:
        """Name the request without its input."""
        return f"Asked(agent={self.agent!r}, tool={self.tool!r})"


def read_request(body: bytes) -> Asked:
    """Read the body.

    Raises:
        BadCall: It is not what it should be; the text says what is.
    """
    try:
        given = members(body)
    except Malformed:
        raise BadCall(
            "the body is a JSON object such as"
            ' {"agentId": "worker-1", "toolName": "mcp__mail__list_inbox", "input": {}}'
        ) from None
    unknown = sorted(given.keys() - _MEMBERS)
    if unknown:  # one that is misspelt would be left out, and the call made without it
        raise BadCall(f"{unknown[0][:80]!r} is no member of the body; those are agentId, toolName"
                      " and input")  # fmt: skip
    tool = _text(given, "toolName")
    if tool is None:
        raise BadCall("toolName is missing: name the tool as mcp__{server}__{tool}")
    arguments = given.get("input", _NULL)
    return Asked(
        agent=_text(given, "agentId"),
        tool=tool,
        arguments=b"{}" if arguments == _NULL else _object(arguments),
    )


def meta_of(exchange: Exchange) -> bytes:
    """Return what the headers say of a call, as the `_meta` that MCP has for it; or nothing.

    Raises:
        BadCall: The idempotency key is none.
    """
    meta = b""
    if IDEMPOTENCY_KEY in exchange.headers:
        key = exchange.text(IDEMPOTENCY_KEY) or ""
        is_double = IDEMPOTENCY_KEY in exchange.repeated
        if is_double or not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
            raise BadCall(f"Idempotency-Key is one header of up to {LONGEST_KEY} characters")
        meta = json_bytes({KEY: key})
    if TRACEPARENT.encode() not in exchange.repeated:
        context = context_of(
            exchange.text(TRACEPARENT.encode()), exchange.text(TRACESTATE.encode())
        )
        meta = with_context(meta, context) if context else meta
    return meta


def _text(given: dict[str, bytes], name: str) -> str | None:
    raw = given.get(name, _NULL)
    try:
        value = value_of(raw)
    except Malformed:
        value = raw
    if value is not None and not (isinstance(value, str) and value):
        raise BadCall(f"{name} is a text that is not empty")
    if value is not None and len(value) > LONGEST_NAME:  # no answer repeats megabytes
        raise BadCall(f"{name} is longer than {LONGEST_NAME} characters")
    return value


def _object(raw: bytes) -> bytes:
    if not raw.startswith(b"{"):
        raise BadCall("input is a JSON object")
    return raw

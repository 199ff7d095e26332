"""The rules for the envelopes of requests of 2026-07-28, asked with our messages.

MCP 2026-07-28, basic, "Per-request protocol fields", and basic/transports, "Header Validation".
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, Final, cast

import msgspec

from remit.doors.mcp.caller import Caller
from remit.doors.mcp.envelope import Fault, Message, decoded
from remit.model.header_values import decode_header_value
from remit.model.principals import Principal
from remit.model.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    MODERN_PROTOCOL_VERSIONS,
    NAME_BEARING_METHODS,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)

_REQUIRED: Final = (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY)

LONGEST_REMEMBERED: Final = 2048
"""Bytes of an envelope with its headers whose verdict is remembered, at most."""


class Routing(msgspec.Struct, frozen=True):
    """The routing headers of a request.

    Attributes:
        lines: Name and value of those that are there.
        size: Bytes of the values.
    """

    lines: tuple[tuple[str, str], ...]
    size: int

    @staticmethod
    def of(lines: tuple[tuple[str, str], ...]) -> "Routing":
        """Return them with their size."""
        return Routing(lines, sum(len(value) for _, value in lines))


def modern_caller(
    message: Message,
    principal: Principal,
    scope: str | None,
    routing: Routing | None,
    again: Callable[[], Awaitable[Principal]] | None = None,
) -> Caller | Fault:
    """Return the caller of a modern request, or what is wrong with its envelope.

    Args:
        message: A request.
        principal: Who sent it.
        scope: The server of the endpoint, or None.
        routing: The routing headers that are there, or None where the transport has none.
        again: Says who its credential stands for by now, if it has one.
    """
    method, meta = message.method, message.meta
    named = message.named
    size, lines = (0, None) if routing is None else (routing.size, routing.lines)
    # The few envelopes that a client sends are judged once each.
    is_short = size + len(meta) + len(named) <= LONGEST_REMEMBERED
    verdict = (_judge if is_short else _judge.__wrapped__)(method, meta, named, lines)
    if isinstance(verdict, Fault):
        return verdict
    return Caller(principal=principal, scope=scope, version=verdict, modern=True, again=again)


def unsupported_version(version: str) -> Fault | None:
    """Return what to answer to a version that is not served, or None for one that is."""
    if version in MODERN_PROTOCOL_VERSIONS:
        return None
    data = {"supported": MODERN_PROTOCOL_VERSIONS, "requested": version}
    return Fault(
        code=UNSUPPORTED_PROTOCOL_VERSION,
        message="Unsupported protocol version",
        data=msgspec.json.encode(data),
    )


@lru_cache(1024)
def _judge(
    method: str,
    meta: bytes,
    named: bytes,
    lines: tuple[tuple[str, str], ...] | None,
) -> str | Fault:
    raw = {"_meta": meta, NAME_BEARING_METHODS.get(method, ""): named}
    found = {name: decoded(text) for name, text in raw.items() if text}
    params = {name: value for name, value in found.items() if value is not None}
    headers = None if lines is None else dict(lines)
    return judge_envelope(method, params, headers)


def judge_envelope(
    method: str, params: Mapping[str, object], headers: Mapping[str, str] | None
) -> str | Fault:
    """Return the version that a request of the modern era speaks, or the first fault there is.

    Who contradicts himself is told so before he is told that his version is not served.

    Args:
        method: Of the request.
        params: Of the request; nothing but `_meta` and what `Mcp-Name` mirrors is looked at.
        headers: By lower-case name, or None where the transport has none.
    """
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        required = " and ".join(map(repr, _REQUIRED))
        return _invalid(
            f"params._meta must be an object carrying the required {required} envelope keys"
        )
    envelope = cast("dict[str, Any]", meta)
    missing = [key for key in _REQUIRED if key not in envelope]
    if missing:
        return _invalid(
            f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
        )
    version = envelope[PROTOCOL_VERSION_META_KEY]
    mismatch = "" if headers is None else _mismatch(method, params, version, headers)
    if mismatch:
        return Fault(code=HEADER_MISMATCH, message=mismatch)
    if not isinstance(version, str):  # no version to negotiate: clients fall back from this one
        return _invalid("the protocol-version envelope value must be a string")
    return unsupported_version(version) or version


def _mismatch(
    method: str, params: Mapping[str, object], version: object, headers: Mapping[str, str]
) -> str:
    """Say which routing header says something else than the body, or nothing."""
    said = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    if said is None or said != version:  # null in the body is not the same as no header
        return (
            f"{MCP_PROTOCOL_VERSION_HEADER} header does not match"
            " the request envelope's protocol version"
        )
    if headers.get(MCP_METHOD_HEADER) != method:
        return f"{MCP_METHOD_HEADER} header does not match the request body's method"
    key = NAME_BEARING_METHODS.get(method, "")
    named = params.get(key)
    said = headers.get(MCP_NAME_HEADER)
    if named is not None and (said is None or decode_header_value(said) != named):
        return f"{MCP_NAME_HEADER} header does not match the request body's {key!r} parameter"
    return ""


def _invalid(message: str) -> Fault:
    return Fault(code=INVALID_PARAMS, message=message)

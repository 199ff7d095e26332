"""The protocol library's rules for requests of 2026-07-28, asked with our messages."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec
from mcp.shared.inbound import (
    NAME_BEARING_METHODS,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
)

from remit.doors.mcp.caller import Caller
from remit.doors.mcp.envelope import Fault, Message, decoded
from remit.model.principals import Principal

LONGEST_REMEMBERED: Final = 2048
"""Bytes of an envelope with its headers whose verdict is remembered, at most."""

Verdict = InboundModernRoute | InboundLadderRejection


def modern_caller(
    message: Message,
    principal: Principal,
    scope: str | None,
    headers: Mapping[str, str] | None,
) -> Caller | Fault:
    """Return the caller of a modern request, or what is wrong with its envelope.

    Args:
        message: A request.
        principal: Who sent it.
        scope: The server of the endpoint, or None.
        headers: The routing headers that are there, or None where the transport has none.
    """
    verdict = _verdict(message, headers)
    if isinstance(verdict, InboundModernRoute):
        return Caller(
            principal=principal, scope=scope, version=verdict.protocol_version, modern=True
        )
    return fault_of(verdict)


def fault_of(rejection: InboundLadderRejection) -> Fault:
    """Return the library's verdict as the fault to answer with."""
    data = b"" if rejection.data is None else msgspec.json.encode(rejection.data)
    return Fault(code=rejection.code, message=rejection.message, data=data)


def _verdict(message: Message, headers: Mapping[str, str] | None) -> Verdict:
    """Return the library's verdict; the few envelopes that a client sends are judged once each."""
    meta = message.param("_meta")
    named = message.param(NAME_BEARING_METHODS.get(message.method, ""))
    lines = () if headers is None else tuple(headers.items())
    seen = (message.method, meta, named, None if headers is None else lines)
    size = len(meta or b"") + len(named or b"") + sum(len(value) for _, value in lines)
    is_short = size <= LONGEST_REMEMBERED
    return _judge(*seen) if is_short else _judge.__wrapped__(*seen)


@lru_cache(1024)
def _judge(
    method: str,
    meta: bytes | None,
    named: bytes | None,
    lines: tuple[tuple[str, str], ...] | None,
) -> Verdict:
    raw = {"_meta": meta, NAME_BEARING_METHODS.get(method, ""): named}
    params = {name: value for name, text in raw.items() if (value := decoded(text)) is not None}
    headers = None if lines is None else dict(lines)
    return classify_inbound_request({"method": method, "params": params}, headers=headers)

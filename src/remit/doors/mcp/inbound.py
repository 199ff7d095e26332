"""The protocol library's rules for requests of 2026-07-28, asked with our messages."""

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


Verdict = InboundModernRoute | InboundLadderRejection


def modern_caller(
    message: Message,
    principal: Principal,
    scope: str | None,
    routing: Routing | None,
) -> Caller | Fault:
    """Return the caller of a modern request, or what is wrong with its envelope.

    Args:
        message: A request.
        principal: Who sent it.
        scope: The server of the endpoint, or None.
        routing: The routing headers that are there, or None where the transport has none.
    """
    verdict = _verdict(message, routing)
    if isinstance(verdict, InboundModernRoute):
        return Caller(
            principal=principal, scope=scope, version=verdict.protocol_version, modern=True
        )
    return fault_of(verdict)


def fault_of(rejection: InboundLadderRejection) -> Fault:
    """Return the library's verdict as the fault to answer with."""
    data = b"" if rejection.data is None else msgspec.json.encode(rejection.data)
    return Fault(code=rejection.code, message=rejection.message, data=data)


def _verdict(message: Message, routing: Routing | None) -> Verdict:
    """Return the library's verdict; the few envelopes that a client sends are judged once each."""
    meta = message.meta
    named = message.param(NAME_BEARING_METHODS.get(message.method, "")) or b""
    size = len(meta) + len(named) + (0 if routing is None else routing.size)
    judge = _judge if size <= LONGEST_REMEMBERED else _judge.__wrapped__
    return judge(message.method, meta, named, None if routing is None else routing.lines)


@lru_cache(1024)
def _judge(
    method: str,
    meta: bytes,
    named: bytes,
    lines: tuple[tuple[str, str], ...] | None,
) -> Verdict:
    raw = {"_meta": meta, NAME_BEARING_METHODS.get(method, ""): named}
    found = {name: decoded(text) for name, text in raw.items() if text}
    params = {name: value for name, value in found.items() if value is not None}
    headers = None if lines is None else dict(lines)
    return classify_inbound_request({"method": method, "params": params}, headers=headers)

"""The protocol library's rules for requests of 2026-07-28, asked with our messages."""

from collections.abc import Mapping
from typing import Any

import msgspec
from mcp.shared.inbound import (
    NAME_BEARING_METHODS,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
)

from remit.doors.mcp.envelope import Fault, Message, decoded
from remit.doors.mcp.protocol import Caller
from remit.model.principals import Principal


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
    verdict = classify_inbound_request(_classified(message), headers=headers)
    if isinstance(verdict, InboundModernRoute):
        return Caller(
            principal=principal, scope=scope, version=verdict.protocol_version, modern=True
        )
    return fault_of(verdict)


def fault_of(rejection: InboundLadderRejection) -> Fault:
    """Return the library's verdict as the fault to answer with."""
    data = b"" if rejection.data is None else msgspec.json.encode(rejection.data)
    return Fault(code=rejection.code, message=rejection.message, data=data)


def _classified(message: Message) -> Mapping[str, Any]:
    """Return of a message what the library's rules look at."""
    params: dict[str, Any] = {}
    for name in ("_meta", NAME_BEARING_METHODS.get(message.method)):
        value = decoded(message.param(name)) if name is not None else None
        if name is not None and value is not None:
            params[name] = value
    return {"method": message.method, "params": params}

"""Trace context that came in HTTP headers, put where MCP has it: into `_meta` of the message."""

import msgspec

from remit.doors.asgi import Exchange
from remit.doors.mcp.envelope import Message
from remit.model.traces import TRACEPARENT, TRACESTATE
from remit.upstreams.trace_context import context_in, context_of, with_context


def in_trace(message: Message, exchange: Exchange) -> Message:
    """Return the request with the trace of its headers, unless it names one itself."""
    if not message.id or message.is_response or TRACEPARENT.encode() in exchange.repeated:
        return message
    meta = message.meta
    context = context_of(exchange.text(TRACEPARENT.encode()), exchange.text(TRACESTATE.encode()))
    if not context or context_in(meta):
        return message
    meta = with_context(meta, context)
    return msgspec.structs.replace(message, params={**message.params, "_meta": meta}, meta=meta)

"""Trace context on its way: in `_meta` of a message, and in the headers of a request (HTTP)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from remit.model.traces import TRACEPARENT, TRACESTATE, is_traceparent, is_tracestate
from remit.upstreams.wire import Malformed, joined, json_bytes, members, value_of

NO_CONTEXT: Final[Mapping[str, str]] = MappingProxyType({})

_NAME: Final = f'"{TRACEPARENT}"'.encode()


def context_in(meta: bytes) -> Mapping[str, str]:
    """Return `traceparent`, and `tracestate` if there is one; nothing for what names no trace.

    Args:
        meta: Raw JSON of a request's `_meta`, or empty.
    """
    if _NAME not in meta:
        return NO_CONTEXT
    try:
        held = members(meta)
        parent = value_of(held.get(TRACEPARENT, b"null"))
        state = value_of(held.get(TRACESTATE, b"null"))
    except Malformed:
        return NO_CONTEXT
    return context_of(parent, state)


def context_in_request(frame: bytes) -> Mapping[str, str]:
    """Return what `context_in` finds in a whole request."""
    if _NAME not in frame:
        return NO_CONTEXT
    try:
        return context_in(bytes(members(members(frame).get("params", b"{}")).get("_meta", b"")))
    except Malformed:
        return NO_CONTEXT


def context_of(parent: object, state: object) -> Mapping[str, str]:
    """Return what holds of a `traceparent` and a `tracestate` that somebody sent."""
    if not is_traceparent(parent):
        return NO_CONTEXT
    context = {TRACEPARENT: str(parent)}
    if state and is_tracestate(state):
        context[TRACESTATE] = str(state)
    return context


def with_context(meta: bytes, context: Mapping[str, str]) -> bytes:
    """Return a `_meta` in which *context* stands, in place of what stood there.

    A `_meta` that is no object is returned as it is; whoever it goes to says so.
    """
    try:
        held = members(meta or b"{}")
    except Malformed:
        return meta
    kept = {k: v for k, v in held.items() if k not in (TRACEPARENT, TRACESTATE)}
    return joined(kept | {name: json_bytes(text) for name, text in context.items()})

"""Which request is being served, and from where, for whatever is logged meanwhile.

The door notes it once; the processor of the log adds it to every line. A connection that is opened
on behalf of a request lives on in a copy of its context, so what is over is not named any more.
"""

from collections.abc import Callable
from contextvars import ContextVar

import msgspec
import structlog.typing

from remit.model.principals import Principal


class Current(msgspec.Struct):
    """A request.

    Attributes:
        call_id: The request id, which its caller is told and the record has.
        trace_id: 32 hex digits, or empty while it is not traced.
        is_over: Whether it was answered.
    """

    call_id: str
    principal: Principal
    trace_id: str = ""
    is_over: bool = False


_current: ContextVar[Current | None] = ContextVar("remit_current", default=None)


_origin: ContextVar[Callable[[], str] | None] = ContextVar("remit_origin", default=None)


def came_from(address: Callable[[], str]) -> None:
    """Note how to tell the address of whoever sent what is served now; few lines ask for it."""
    _origin.set(address)


def origin() -> str:
    """Return the address of whoever sent what is served now; empty where it came by no network."""
    address = _origin.get()
    return "" if address is None else address()


def begin(call_id: str, principal: Principal) -> Current:
    """Name a request in the log until it `is_over`."""
    current = Current(call_id=call_id, principal=principal)
    _current.set(current)
    return current


def note_trace(trace_id: str) -> None:
    """Name the trace that the request of this context belongs to."""
    current = _current.get()
    if current is not None:
        current.trace_id = trace_id


def add_current(
    _logger: structlog.typing.WrappedLogger, _level: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Add call id, tenant, principal and trace to a line of the log (a structlog processor)."""
    current = _current.get()
    if current is None or current.is_over:
        return event
    event.setdefault("call_id", current.call_id)
    event.setdefault("tenant", current.principal.tenant)
    event.setdefault("principal", current.principal.subject)
    if current.trace_id:
        event.setdefault("trace_id", current.trace_id)
    return event

"""One tool call on its way: Call → AuthorizedCall → ValidCall → AdmittedCall → … → Outcome.

Each step of `calls/pipeline.py` takes one type and returns the next, so a call that skipped a
step does not type-check. They are structs, since every call makes one of each; none can be part of
a cycle, so the collector need not look at them.
"""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec

from remit.model.contents import Item, Kind
from remit.model.conversation import Extras
from remit.model.decisions import Decision
from remit.model.events import AuditEvent
from remit.model.limits import Allowance
from remit.model.principals import Principal
from remit.model.tools import Tool, ToolId


class Call(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to run a tool, or to be given a prompt or a resource, as a door received it.

    Attributes:
        id: Minted by us; the request id that denials carry (R14).
        kind: What the name is one of.
        method: What is asked about it.
        requested: The name as the caller spelled it; the URI of a resource.
        scope: The server of the endpoint that was called, or None on the endpoint of all servers.
        arguments: Raw JSON object, UTF-8, exactly the bytes that would be forwarded.
        meta: Raw JSON of the request's `_meta` as it is to be forwarded, or empty.
        started: When the door received it: seconds of `time.monotonic`, which nobody sets back.
        extras: What goes with it beside; None for the many with which nothing does.
        member: The acting squad member's id (a UUID), where the caller named one (S0.23).
        agent: The agent that the caller acts for, which it is not itself (R26); None for most.
        again: Says who the caller's credential stands for by now, for a call that had to wait;
            None where it came with none.
    """

    id: str
    principal: Principal
    agent: Principal | None = None
    again: Callable[[], Awaitable[Principal]] | None = None
    kind: Kind = Kind.TOOL
    method: str = "tools/call"
    requested: str
    scope: str | None
    arguments: bytes
    meta: bytes = b""
    started: float
    extras: Extras | None = None
    member: str | None = None

    @property
    def acting(self) -> Principal:
        """Who acts: the agent that it is made for, else the caller."""
        return self.principal if self.agent is None else self.agent

    def __repr__(self) -> str:
        """Name the call without its bodies."""
        return f"Call(id={self.id!r}, principal={self.principal!r}, requested={self.requested!r})"


class Permit(msgspec.Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """Leave for one caller to use one tool: found once, and good for each of its calls.

    It holds as long as the rules and the catalogue that it was found under are in force.

    Attributes:
        principal: Whose it is.
        tool_id: What the name that was asked for means.
        decision: The one that allows it.
        allowances: What each of the calls has to fit into; mostly nothing.
        words: What the record says of each of the calls; what differs from one to the next is
            still to be filled in.
    """

    principal: Principal
    tool_id: ToolId
    decision: Decision
    allowances: tuple[Allowance, ...]
    words: AuditEvent


class AuthorizedCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call that policy allows, with the permit that says so."""

    call: Call
    permit: Permit


class ValidCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An authorized call whose arguments fit the tool's input schema.

    Attributes:
        tool: The tool as its server offers it now, or the item; None for a resource that is not
            listed.
        timeout: Seconds the upstream has, all attempts together (R24).
        retry: What the declaration says of repeating it; None leaves it to the tool's hints (R23).
        extras: As the call has them, but with the server's own state in clear.
    """

    authorized: AuthorizedCall
    tool: Tool | Item | None
    timeout: float
    retry: Literal["never", "safe"] | None = None
    extras: Extras | None = None

    @property
    def call(self) -> Call:
        """The call as the door received it."""
        return self.authorized.call


class Examined(NamedTuple):
    """What the check of a call's arguments would say of some.

    Attributes:
        checked: Whether by the tool's schema; else only that they are one JSON object, since the
            schema cannot be used.
        problem: What a call with them would be refused with, or empty.
    """

    checked: bool
    problem: str


class AdmittedCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A valid call that every limit it falls under had room for, and that is counted."""

    valid: ValidCall


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An admitted call that is in the record, and only so may run (R29).

    Attributes:
        event: What was recorded; the end of the call is told in the same words.
    """

    valid: ValidCall
    event: AuditEvent


class OutcomeKind(StrEnum):
    """How a call ended; `none` for one that was refused before it ran."""

    OK = "ok"
    TOOL_ERROR = "tool_error"
    ERROR = "error"
    UNKNOWN = "unknown"
    NONE = "none"


class Outcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a call ended.

    Attributes:
        result: The upstream's `result` as raw JSON, unaltered.
    """

    kind: OutcomeKind
    result: bytes

    def __repr__(self) -> str:
        """Name the outcome without its body."""
        return f"Outcome(kind={self.kind.value!r})"

"""One tool call on its way: Call → AuthorizedCall → ValidCall → RecordedCall → Outcome.

Each step of `calls/pipeline.py` takes one type and returns the next, so a call that skipped a
step does not type-check.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from remit.model.decisions import Decision
from remit.model.principals import Principal
from remit.model.tools import Tool, ToolId


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to run a tool, as a door received it.

    Attributes:
        id: Minted by us; the request id that denials carry (R14).
        requested: The name as the caller spelled it.
        scope: The server of the endpoint that was called, or None on the endpoint of all servers.
        arguments: Raw JSON object, UTF-8, exactly the bytes that would be forwarded.
        meta: Raw JSON of the request's `_meta` as it is to be forwarded, or empty.
        started: When the door received it, aware UTC.
    """

    id: str
    principal: Principal
    requested: str
    scope: str | None
    arguments: bytes = field(repr=False)
    meta: bytes = field(repr=False, default=b"")
    started: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedCall:
    """A call that policy allows, with the tool it means and the decision."""

    call: Call
    tool_id: ToolId
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidCall:
    """An authorized call whose arguments fit the tool's input schema.

    Attributes:
        tool: The tool as its server offers it now.
        timeout: Seconds the upstream has (R24).
    """

    authorized: AuthorizedCall
    tool: Tool
    timeout: float

    @property
    def call(self) -> Call:
        """The call as the door received it."""
        return self.authorized.call


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A valid call that is in the record, and only so may run (R29).

    Attributes:
        arguments: The arguments as they were recorded: redacted, capped JSON text.
    """

    valid: ValidCall
    arguments: str = field(repr=False)


class OutcomeKind(StrEnum):
    """How a call ended; `none` for one that was refused before it ran."""

    OK = "ok"
    TOOL_ERROR = "tool_error"
    ERROR = "error"
    UNKNOWN = "unknown"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a call ended.

    Attributes:
        result: The upstream's `result` as raw JSON, unaltered.
        ms: Milliseconds from the door to the answer.
    """

    kind: OutcomeKind
    result: bytes = field(repr=False)
    ms: float

"""The append-only stream of events that is the audit (R28)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from remit.model.servers import name_problem

ADMINISTRATION: Final = "/admin"
"""Stands for the server in the events of a change that somebody made; no server has this name."""

_JOINTS: Final = re.compile("(?=__)")
"""Where the name of a server may end in a published name."""


class EventKind(StrEnum):
    """What happened to a call. A refused call has one event, one that ran has two.

    Between the two there is one for each attempt that failed and was followed by another.
    """

    REFUSED = "refused"
    INVOKED = "invoked"
    ATTEMPTED = "attempted"
    FINISHED = "finished"


ENDS: Final = (EventKind.REFUSED, EventKind.FINISHED)
"""The kinds after which nothing more happens to a call."""


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One event, already redacted and capped.

    A struct, since every call makes two and writes them as JSON, without what is as it mostly is.

    `finished` and `refused` hold all there is to know of the call; `invoked` has the outcome
    `unknown`, which stands if the process dies before the end. `attempted` tells of one attempt.

    Attributes:
        id: Unique, sorts by time (UUIDv7 text); writing it twice is writing it once. The first
            event of a call that was allowed has the id of the call.
        call_id: The request id that the caller was given.
        time: Aware UTC.
        server: Empty when the requested name meant no tool.
        tool: The server's own name of the tool, or the requested name when it meant no tool.
        role: The principal's role(s), comma-separated.
        member: The acting squad member's id (a UUID), or None.
        decision: `allow` or `deny`.
        layer: The layer that decided (words of the contract), or empty.
        rule: The rule that decided, or empty.
        outcome: `ok`, `tool_error`, `error`, `unknown` or `none`.
        code: Error code of R22, or empty; of a tool of the `data` server that failed, its own.
        ms: Milliseconds from the door to the answer; 0 for `invoked`.
        arguments: Redacted JSON text, at most the body cap.
        arguments_size: Bytes before redaction and capping.
        result: Redacted JSON text, at most the body cap; None when there is none. Of the `data`
            server, whose results are other people's data, the beginning alone (S2.47).
        result_size: Bytes before redaction and capping.
        error: One line for people, or None.
        agent: The id of the agent that acts, also where another caller acts for it (R26); None
            where none does.
    """

    id: str
    kind: EventKind
    call_id: str
    time: datetime
    tenant: str
    principal: str
    role: str = ""
    member: str | None = None
    server: str
    tool: str
    decision: str
    layer: str = ""
    rule: str = ""
    revision: int
    outcome: str
    code: str = ""
    ms: float = 0.0
    arguments: str = "{}"
    arguments_size: int = 0
    result: str | None = None
    result_size: int = 0
    error: str | None = None
    agent: str | None = None

    def __repr__(self) -> str:
        """Name the event without its bodies."""
        return f"AuditEvent(id={self.id!r}, kind={self.kind.value!r}, call_id={self.call_id!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """What `audit search` asks for; None means any. Rows come newest first.

    Attributes:
        tool: Its own name, or `server/tool`, or the name that it is published by.
        servers: One of these; empty for any.
        tools: One of these; likewise.
        text: Searched in request id, tool, server, principal, member, arguments and error (R14).
        changes: Also changes that administrators made, beside calls.
        before: Only rows with an event id below this one (paging).
        after: Only the oldest rows with an event id above this one; they come oldest first.
    """

    tenant: str
    principal: str | None = None
    server: str | None = None
    tool: str | None = None
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    decision: str | None = None
    outcome: str | None = None
    code: str | None = None
    role: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None
    changes: bool = True
    limit: int = 100
    before: str | None = None
    after: str | None = None


def tool_readings(spelling: str) -> tuple[tuple[str, str], ...]:
    """Return each server and tool that *spelling* may mean: `server/tool` or a published name.

    On record are both apart, and whether there is such a server now does not matter. Empty where
    it can be the tool's own name alone.
    """
    if spelling.startswith(f"{ADMINISTRATION}/"):
        return ((ADMINISTRATION, spelling.removeprefix(f"{ADMINISTRATION}/")),)
    parts = [spelling.partition("/")[::2]]
    for whole in {spelling, spelling.removeprefix("mcp__")}:
        parts += [(whole[: at.start()], whole[at.end() + 2 :]) for at in _JOINTS.finditer(whole)]
    return tuple((server, tool) for server, tool in parts if tool and name_problem(server) is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a search found, and how far it looked.

    Attributes:
        events: One row a call, in the order of the search.
        reached: The event id below which no row was looked at yet; None where there is nothing
            more to look at, or as many were found as were asked for.
    """

    events: Sequence[AuditEvent]
    reached: str | None = None

"""The record of calls and changes."""

from dataclasses import asdict, dataclass
from datetime import datetime

import msgspec

from remit.client.operations import Operation, Page, at


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One call or change.

    Attributes:
        id: Of the request.
        decision: `allow` or `deny`.
        layer: That denied, or empty.
        member: The acting member, where the caller named one.
        agent: The agent that acted, for itself or by another caller.
        outcome: `ok`, `tool_error`, `error`, `unknown` or `none`: it never ran.
        code: Of what went wrong, or empty.
        arguments: JSON, redacted and cut to the cap.
        arguments_size: Bytes, before that.
        result_size: Bytes.
    """

    id: str
    time: datetime
    tenant: str
    principal: str
    member: str | None
    role: str
    server: str
    tool: str
    decision: str
    layer: str
    rule: str
    outcome: str
    code: str
    revision: int
    ms: float
    arguments: str
    arguments_size: int
    result_size: int
    error: str | None
    agent: str | None


class Rows(Page[Row], frozen=True, kw_only=True):
    """Part of what a search finds.

    Attributes:
        searched_to: Older rows were not looked at yet, since that takes long: the next page does.
            None where all were, or where this page is full.
    """

    searched_to: datetime | None = None


class Event(Row, frozen=True, kw_only=True):
    """What happened to a call: one event of it.

    Attributes:
        kind: `refused`; or `invoked`, `attempted` for each attempt that failed and was followed by
            another, and `finished`.
        result: JSON, redacted and cut to the cap.
    """

    kind: str
    result: str | None


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call or a change, and what its caller did around it.

    Attributes:
        events: What happened to it, in that order.
        before: What its caller did before, newest first.
        after: What its caller did next, oldest first.
    """

    events: tuple[Event, ...]
    before: tuple[Row, ...]
    after: tuple[Row, ...]


class LoggedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent did or decided.

    Attributes:
        decision: Such as `Invoked tool: mcp__mail__send`, or a title.
        context: JSON, redacted and cut to the cap.
    """

    id: str
    agentId: str  # noqa: N815 - the source's spelling
    decision: str
    reasoning: str
    context: str | None
    timestamp: datetime


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """The first row that does not fit.

    Attributes:
        kind: `removed`, `changed`, `reordered`, `added` or `marker`.
    """

    kind: str
    seq: int
    id: str
    number: int
    message: str


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """What stands for rows that retention removed.

    Attributes:
        up_to: The number of the last row that is gone.
        removed: How many rows went since the marker before.
        signed: A compact JWS that proves it.
    """

    number: int
    time: datetime
    by: str
    reason: str
    up_to: int
    hash: str
    removed: int
    signed: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What looking at every row found.

    Attributes:
        rows: How many are there and hold, from the first on.
        hash: Of the last that holds.
    """

    ok: bool
    rows: int
    hash: str
    broken: Break | None
    markers: tuple[Marker, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a row must be like; what is None may be anything.

    Attributes:
        principal: As `key:ci`.
        decision: `allow` or `deny`.
        outcome: As in a row.
        code: As `INVALID_INPUT`.
        role: A role that the caller had.
        since: From it on.
        until: Before it.
        text: Part of request id, tool, server, caller, member, arguments or error.
    """

    principal: str | None = None
    server: str | None = None
    tool: str | None = None
    decision: str | None = None
    outcome: str | None = None
    code: str | None = None
    role: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None


ANY = Filter()
"""Every row."""


def search(
    wanted: Filter = ANY,
    *,
    changes: bool = True,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Rows]:
    """Rows that are as *wanted*, newest first; with *changes* also what administrators did.

    A page may be empty and not the last one: then looking further takes long, and goes on there.
    """
    return Operation(
        id="audit.search",
        method="GET",
        path=at("audit"),
        answer=Rows,
        query={**asdict(wanted), "changes": changes, "limit": limit, "cursor": cursor},
    )


def get(id_: str) -> Operation[Call]:
    """One call or change: each attempt at it, its result, and what its caller did around it."""
    return Operation(id="audit.get", method="GET", path=at("audit", id_), answer=Call)


def decisions(
    agent: str | None = None, *, limit: int | None = None
) -> Operation[Page[LoggedDecision]]:
    """What agents, or one of them, did and decided, newest first.

    Args:
        agent: Its id.
        limit: Rows; 50 of one agent, else 100.
    """
    return Operation(
        id="audit.decisions",
        method="GET",
        path=at("audit", "decisions"),
        answer=Page[LoggedDecision],
        query={"agent": agent, "limit": limit},
    )


def verify() -> Operation[Report]:
    """Whether every row is as it was written, in its place, and none is gone."""
    return Operation(id="audit.verify", method="GET", path=at("audit", "verify"), answer=Report)


def export(
    wanted: Filter = ANY, *, form: str = "jsonl", changes: bool = True, limit: int | None = None
) -> Operation[str]:
    """Every row that is as *wanted*, as text; `stream` reads it however long it is.

    Args:
        wanted: What a row must be like.
        form: `jsonl` or `csv`.
        changes: Also what administrators did.
        limit: Rows; all if None.
    """
    return Operation(
        id="audit.export",
        method="GET",
        path=at("audit", "export"),
        answer=str,
        query={**asdict(wanted), "format": form, "changes": changes, "limit": limit},
    )

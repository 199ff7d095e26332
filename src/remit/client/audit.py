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
) -> Operation[Page[Row]]:
    """Rows that are as *wanted*, newest first; with *changes* also what administrators did."""
    return Operation(
        id="audit.search",
        method="GET",
        path=at("audit"),
        answer=Page[Row],
        query={**asdict(wanted), "changes": changes, "limit": limit, "cursor": cursor},
    )


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
    wanted: Filter = ANY, *, form: str = "jsonl", limit: int | None = None
) -> Operation[str]:
    """Every row that is as *wanted*, as text; `stream` reads it however long it is.

    Args:
        wanted: What a row must be like.
        form: `jsonl` or `csv`.
        limit: Rows; all if None.
    """
    return Operation(
        id="audit.export",
        method="GET",
        path=at("audit", "export"),
        answer=str,
        query={**asdict(wanted), "format": form, "limit": limit},
    )

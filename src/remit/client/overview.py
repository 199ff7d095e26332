"""What an administrator wants to know first, in one answer."""

from datetime import datetime

import msgspec

from remit.client.operations import Operation, at


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How calls ended.

    Attributes:
        denied: Turned away by the rules.
        errors: Allowed, and did not succeed.
    """

    calls: int
    denied: int
    errors: int


class Part(Counts, frozen=True, kw_only=True):
    """The calls of a part of the time."""

    start: datetime


class Totals(Counts, frozen=True, kw_only=True):
    """All calls.

    Attributes:
        p50: Milliseconds of calls that ran; None if none did.
        p95: Likewise.
    """

    p50: float | None
    p95: float | None


class ServerTraffic(Totals, frozen=True, kw_only=True):
    """The calls of a server.

    Attributes:
        server: Empty for names that mean no tool.
    """

    server: str


class SlowTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, and how long its calls took.

    Attributes:
        calls: That ran.
        p50: Milliseconds.
        p95: Likewise.
    """

    server: str
    tool: str
    calls: int
    p50: float
    p95: float


class DeniedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that callers were denied, or a name that means none.

    Attributes:
        layer: Of the commonest reason; empty where the name means no tool.
        rule: That denied, likewise.
        code: Of that refusal.
    """

    server: str
    tool: str
    denied: int
    layer: str
    rule: str
    code: str


class CallerTraffic(Counts, frozen=True, kw_only=True):
    """The calls of a caller.

    Attributes:
        principal: As `key:ci`.
    """

    principal: str


class RoleList(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is told of by a caller of one role.

    Attributes:
        tokens: What being told of the tools costs, about.
    """

    role: str
    tools: int
    tokens: int


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server stands.

    Attributes:
        state: `starting`, `ready`, `degraded`, `backing_off`, `quarantined` or `stopped`.
        reason: Why it is not ready, or empty.
        tools: How many it offers now.
        in_flight: Calls under way or waiting for their turn.
    """

    name: str
    state: str
    reason: str
    tools: int
    in_flight: int


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """How much waits for somebody.

    Attributes:
        alerts: That are open.
        mail: To the human, not read yet.
        suggestions: Queries on which nobody has decided.
        changes: Of schemas, likewise.
    """

    alerts: int
    mail: int
    suggestions: int
    changes: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that ended in the last minutes, and what is so now.

    Attributes:
        until: With the minute that has begun.
        part_minutes: Of each part but the last, which may be shorter.
        servers: Most calls first, 100 at most.
        slowest: By p95, 10 at most.
        denied: Most denied first, 10 at most.
        callers: Most calls first, 10 at most.
        lists: Of each declared role.
        health: Of each declared server.
    """

    since: datetime
    until: datetime
    part_minutes: int
    parts: tuple[Part, ...]
    totals: Totals
    servers: tuple[ServerTraffic, ...]
    slowest: tuple[SlowTool, ...]
    denied: tuple[DeniedTool, ...]
    callers: tuple[CallerTraffic, ...]
    lists: tuple[RoleList, ...]
    health: tuple[Health, ...]
    waiting: Waiting


def get(*, minutes: int | None = None) -> Operation[Overview]:
    """Traffic, speed, servers, lists and what waits for somebody.

    Args:
        minutes: How far to look back, at most 1440; 60 if None.
    """
    return Operation(
        id="overview.get",
        method="GET",
        path=at("overview"),
        answer=Overview,
        query={"minutes": minutes},
    )

"""What an administrator wants to know first, in one answer."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from remit.admin.overview import LONGEST, Stretch, healths, role_lists, total_of
from remit.doors.api.access import ByAdministrator
from remit.model.traffic import Speed, Traffic

router = APIRouter(tags=["overview"])


class CountsShape(BaseModel):
    """How calls ended."""

    calls: int
    denied: int = Field(description="Turned away by the rules.")
    errors: int = Field(description="Allowed, and did not succeed.")


class PartShape(CountsShape):
    """The calls of a part of the time."""

    start: datetime


class TotalsShape(CountsShape):
    """All calls."""

    p50: float | None = Field(description="Milliseconds of calls that ran; null if none did.")
    p95: float | None = Field(description="Likewise.")


class ServerTrafficShape(TotalsShape):
    """The calls of a server."""

    server: str = Field(description="Empty for names that mean no tool.")


class SlowToolShape(BaseModel):
    """A tool, and how long its calls took."""

    server: str
    tool: str
    calls: int = Field(description="That ran.")
    p50: float
    p95: float


class DeniedToolShape(BaseModel):
    """A tool that callers were denied, or a name that means none."""

    server: str
    tool: str
    denied: int
    layer: str = Field(description="Of the commonest reason; empty where the name means no tool.")
    rule: str
    code: str


class CallerTrafficShape(CountsShape):
    """The calls of a caller."""

    principal: str = Field(description="As `key:ci`.")


class RoleListShape(BaseModel):
    """What a model is told of by a caller of one role."""

    role: str
    tools: int
    tokens: int = Field(description="What being told of them costs, about.")


class HealthShape(BaseModel):
    """Where a server stands."""

    name: str
    state: Literal["starting", "ready", "degraded", "backing_off", "quarantined", "stopped"]
    reason: str = Field(description="Why it is not ready; empty when it is.")
    tools: int = Field(description="How many it offers now.")
    in_flight: int = Field(description="Calls under way or waiting for their turn.")


class WaitingShape(BaseModel):
    """How much waits for somebody."""

    alerts: int = Field(description="That are open.")
    mail: int = Field(description="To the human, not read yet.")
    suggestions: int = Field(description="Queries on which nobody has decided.")
    changes: int = Field(description="Of schemas, likewise.")


class OverviewShape(BaseModel):
    """Calls that ended in the last minutes, and what is so now."""

    since: datetime
    until: datetime = Field(description="With the minute that has begun.")
    part_minutes: int = Field(description="Of each part but the last, which may be shorter.")
    parts: list[PartShape]
    totals: TotalsShape
    servers: list[ServerTrafficShape] = Field(description="Most calls first, 100 at most.")
    slowest: list[SlowToolShape] = Field(description="By p95, 10 at most.")
    denied: list[DeniedToolShape] = Field(description="Most denied first, 10 at most.")
    callers: list[CallerTrafficShape] = Field(description="Most calls first, 10 at most.")
    lists: list[RoleListShape] = Field(description="Of each declared role.")
    health: list[HealthShape] = Field(description="Of each declared server.")
    waiting: WaitingShape


@router.get("/overview", operation_id="overview.get")
async def get_overview(
    by: ByAdministrator,
    minutes: Annotated[
        int, Query(ge=1, le=LONGEST, description="How far to look back: up to a day.")
    ] = 60,
) -> OverviewShape:
    """Show traffic, speed, servers, lists and what waits for somebody.

    A call counts when it ends. Percentiles are of calls that ran, the newest 100,000 of them.
    """
    tenant, services = by.tenant, by.services
    declaration = tenant.policy.declaration
    stretch = Stretch.of(minutes, services.now())
    traffic = await services.audit.traffic(tenant.key, since=stretch.since, until=stretch.until)
    lists = await role_lists(tenant.lists, declaration.roles, tenant.key)
    waiting = await services.waiting.waiting(tenant.key)
    return OverviewShape.model_validate(
        {
            "since": stretch.since,
            "until": stretch.until,
            "part_minutes": stretch.minutes,
            "parts": [
                {"start": start, **asdict(counts)}
                for start, counts in stretch.series(traffic.minutes)
            ],
            "totals": {**asdict(total_of(traffic)), **_percentiles(traffic.speed)},
            **_tops(traffic),
            "lists": [asdict(each) for each in lists],
            "health": [
                asdict(each) for each in healths(declaration.servers, tenant.servers.status)
            ],
            "waiting": asdict(waiting),
        }
    )


def _tops(traffic: Traffic) -> dict[str, list[dict[str, Any]]]:
    """Return what is told of servers, tools and callers."""
    silent = Speed()
    return {
        "servers": [
            {"server": name, **asdict(counts), **_percentiles(traffic.speeds.get(name, silent))}
            for name, counts in traffic.servers.items()
        ],
        "slowest": [
            {
                "server": slow.server,
                "tool": slow.tool,
                "calls": slow.speed.ran,
                **_percentiles(slow.speed),
            }
            for slow in traffic.slowest
        ],
        "denied": [asdict(each) for each in traffic.denied],
        "callers": [
            {"principal": name, **asdict(counts)} for name, counts in traffic.callers.items()
        ],
    }


def _percentiles(speed: Speed) -> dict[str, float | None]:
    return {
        "p50": None if speed.p50 is None else round(speed.p50, 3),
        "p95": None if speed.p95 is None else round(speed.p95, 3),
    }

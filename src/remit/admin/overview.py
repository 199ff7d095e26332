"""What an administrator wants to know first: traffic, servers, lists, and what waits for somebody.

Everything about calls is counted by the database (`storage/traffic.py`); here it is put together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

import anyio.lowlevel

from remit.model.principals import Principal, PrincipalKind
from remit.model.servers import ServerConfig, ServerState, ServerStatus
from remit.model.tools import Tool
from remit.model.traffic import Counts, Traffic, Waiting

LONGEST: Final = 1440
"""Minutes that can be looked back."""

BUCKETS: Final = 60
"""Of how many parts a series has at most."""

_MINUTE: Final = timedelta(minutes=1)


class Record(Protocol):
    """The record of calls."""

    async def traffic(self, tenant: str, *, since: datetime, until: datetime) -> Traffic:
        """Return what calls come to that ended from *since* on and before *until*."""
        ...


class WaitingThings(Protocol):
    """Where what waits for somebody is kept."""

    async def waiting(self, tenant: str) -> Waiting:
        """Return how much waits for somebody in *tenant*."""
        ...


class ToolLists(Protocol):
    """What callers of a tenant see."""

    def visible(self, principal: Principal, scope: str | None) -> tuple[Tool, ...]:
        """Return the tools on offer that *principal* may call."""
        ...

    def token_cost(self, tool: Tool, scope: str | None = None) -> int:
        """Estimate the tokens of one published tool."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of whole minutes, in parts of equal length; the last part may be shorter.

    Attributes:
        since: Where it begins.
        until: Where it ends: with the minute that has begun.
        minutes: Of a part.
    """

    since: datetime
    until: datetime
    minutes: int

    @classmethod
    def of(cls, minutes: int, now: datetime) -> "Stretch":
        """Return the last *minutes*, the one that has begun included."""
        until = now.replace(second=0, microsecond=0) + _MINUTE
        part = -(-minutes // BUCKETS)
        return cls(since=until - minutes * _MINUTE, until=until, minutes=part)

    def series(self, minutes: Mapping[datetime, Counts]) -> Sequence[tuple[datetime, Counts]]:
        """Return the start of every part, with what its minutes come to."""
        length = self.minutes * _MINUTE
        parts = -((self.since - self.until) // length)
        counts = [Counts()] * parts
        for start, more in minutes.items():
            place = (start - self.since) // length
            if 0 <= place < parts:
                counts[place] += more
        return [(self.since + i * length, each) for i, each in enumerate(counts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleList:
    """What a model is told of by whoever has one role.

    Attributes:
        tools: How many.
        tokens: What being told of them costs, about.
    """

    role: str
    tools: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Where a server stands.

    Attributes:
        reason: Why it is not ready, or empty.
        tools: How many it offers.
        in_flight: Calls under way or waiting for their turn.
    """

    name: str
    state: ServerState
    reason: str
    tools: int
    in_flight: int


def total_of(traffic: Traffic) -> Counts:
    """Return all calls together."""
    return sum(traffic.minutes.values(), Counts())


async def role_lists(lists: ToolLists, roles: Iterable[str], tenant: str) -> Sequence[RoleList]:
    """Return the list of each role, as a caller sees it that has this one alone.

    Other callers get their turn after each role.
    """
    found: list[RoleList] = []
    for name in roles:
        holder = Principal(kind=PrincipalKind.ROLE, name=name, tenant=tenant, roles=(name,))
        tools = lists.visible(holder, None)
        tokens = sum(lists.token_cost(tool) for tool in tools)
        found.append(RoleList(role=name, tools=len(tools), tokens=tokens))
        await anyio.lowlevel.checkpoint()
    return found


def healths(
    declared: Mapping[str, ServerConfig], status: Callable[[str], ServerStatus | None]
) -> Sequence[Health]:
    """Return every declared server; one that nobody has taken up yet is starting."""
    return [_health(name, status(name)) for name in declared]


def _health(name: str, status: ServerStatus | None) -> Health:
    if status is None:
        return Health(name=name, state=ServerState.STARTING, reason="", tools=0, in_flight=0)
    return Health(
        name=name,
        state=status.state,
        reason=status.reason,
        tools=status.tools,
        in_flight=status.in_flight,
    )

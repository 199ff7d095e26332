"""Reads on in what callers do, and opens the alerts that are due (S2.48).

    streams ──▶ news? ──no──▶ look again in a second; nothing was written
                  │ yes
                  ▼
       the one process with the lease ──▶ rules, caller by caller ──▶ alerts, events and places,
                                                                      in one transaction

A process that dies in between leaves the places where they were: whoever comes next looks at the
same again, and nothing that has raised an alert raises it twice. Nothing here is in the way of a
call.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

import structlog

from remit.data.alerts.rules import HOUR, Finding, findings, stands_for
from remit.data.alerts.telling import OPENED, told_of
from remit.model.alert_rules import AlertRules
from remit.model.alerts import Alert, EndedCall, LookBack, News, Past, Places, Statement
from remit.model.crew import CrewEvent

log = structlog.get_logger(__name__)

LEASE: Final = timedelta(seconds=10)
"""How long nobody else evaluates after a process that did."""

NAME: Final = "alerts"
"""Of the lease."""

BATCH: Final = 500
"""Most of each stream that is judged at once."""

_IDLE_CALLS: Final = 5000
"""Calls of other servers after which the place is kept although nothing was found."""

Who = tuple[str, str]
"""A tenant, and a user in SUBJECT spelling."""


class AlertStore(Protocol):
    """Where streams are read and alerts are kept; `storage/alerts.py` says more."""

    async def news(
        self,
        servers: Mapping[str, Collection[str]],
        *,
        after: Places | None,
        now: datetime,
        limit: int,
    ) -> News:
        """Return what happened after the places."""
        ...

    async def past(
        self, tenant: str, user: str, *, servers: Collection[str], back: LookBack
    ) -> Past:
        """Return what a caller did before."""
        ...

    async def open_alerts(
        self,
        due: Sequence[tuple[Alert, CrewEvent]],
        *,
        settled: Places,
        stands_for: Callable[[Alert, datetime], bool],
    ) -> Sequence[Alert]:
        """Open alerts, unless others stand for them, and keep the places."""
        ...


class Lease(Protocol):
    """Who does what, and for how long nobody else does it."""

    async def take(self, name: str, holder: str, *, now: datetime, until: datetime) -> bool:
        """Whether *holder* does the work of that name from now until then."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A tenant whose callers are looked at.

    Attributes:
        servers: The names of its `data` servers.
    """

    servers: tuple[str, ...]
    rules: AlertRules


class Watch:
    """Evaluates the rules, as long as no other process does.

    Args:
        store: Where streams and alerts are.
        lease: Sees to it that one process evaluates.
        holder: An id that no other process has.
        clock: Returns the time, aware UTC.
        new_id: Returns an id that nothing has; of two, the later one is greater.
    """

    def __init__(
        self,
        store: AlertStore,
        lease: Lease,
        *,
        holder: str,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._lease = lease
        self._holder = holder
        self._clock = clock
        self._new_id = new_id

    async def look(self, tenants: Mapping[str, Watched]) -> Sequence[Alert]:
        """Judge what is new, if this process is the one to do it.

        Args:
            tenants: By name, those with a `data` server.

        Returns:
            The alerts that were opened by it.

        Raises:
            StorageUnavailable: The database cannot be used; nothing is lost by it.
        """
        opened: list[Alert] = []
        if not await self._has_news(tenants):
            return opened
        now = self._clock()
        if not await self._lease.take(NAME, self._holder, now=now, until=now + LEASE):
            return opened
        after: Places | None = None
        settled: Places | None = None
        renew_at = now + LEASE / 2
        while True:
            # read again: somebody else may have dealt with it before the lease was free
            news = await self._news(tenants, after)
            settled = _settled(settled, news)
            opened += await self._judge(tenants, news, settled)
            now = self._clock()
            if not news.has_more:
                return opened
            if now >= renew_at:
                if not await self._lease.take(NAME, self._holder, now=now, until=now + LEASE):
                    return opened
                renew_at = now + LEASE / 2
            after = news.read

    async def _has_news(self, tenants: Mapping[str, Watched]) -> bool:
        news = await self._news(tenants, None)
        idle = news.read.calls - news.before.calls
        return bool(news.statements or news.calls) or idle >= _IDLE_CALLS

    async def _news(self, tenants: Mapping[str, Watched], after: Places | None) -> News:
        servers = {name: watched.servers for name, watched in tenants.items()}
        return await self._store.news(servers, after=after, now=self._clock(), limit=BATCH)

    async def _judge(
        self, tenants: Mapping[str, Watched], news: News, settled: Places
    ) -> Sequence[Alert]:
        due: list[tuple[Alert, CrewEvent]] = []
        for (tenant, user), (statements, calls) in _by_caller(news).items():
            watched = tenants.get(tenant)
            if watched is None:  # such as one that is gone meanwhile
                continue
            past = await self._store.past(
                tenant,
                user,
                servers=watched.servers,
                back=_look_back(watched.rules, statements, calls),
            )
            for finding in findings(watched.rules, past, statements=statements, calls=calls):
                alert = self._alert(tenant, user, finding)
                due.append((alert, told_of(alert, OPENED, self._new_id(), self._clock())))
        due.sort(key=lambda pair: pair[0].opened)
        opened = await self._store.open_alerts(due, settled=settled, stands_for=stands_for)
        for alert in opened:
            log.warning(
                "alert opened",
                alert=alert.id,
                type=alert.type.value,
                severity=alert.severity.value,
                tenant=alert.tenant,
                principal=alert.user,
            )
        return opened

    def _alert(self, tenant: str, user: str, finding: Finding) -> Alert:
        return Alert(
            id=self._new_id(),
            tenant=tenant,
            type=finding.type,
            user=user,
            about=finding.about,
            severity=finding.severity,
            title=finding.title,
            details=finding.details,
            opened=finding.at,
        )


def _settled(before: Places | None, news: News) -> Places:
    """Return up to where everything is dealt with; a gap that was met stays one."""
    if before is None or before.statements == news.before.statements:
        return news.settled
    return Places(statements=before.statements, calls=news.settled.calls)


def _by_caller(
    news: News,
) -> Mapping[Who, tuple[Sequence[Statement], Sequence[EndedCall]]]:
    found: dict[Who, tuple[list[Statement], list[EndedCall]]] = {}
    for statement in news.statements:
        found.setdefault((statement.tenant, statement.user), ([], []))[0].append(statement)
    for call in news.calls:
        found.setdefault((call.tenant, call.user), ([], []))[1].append(call)
    return found


def _look_back(
    rules: AlertRules, statements: Sequence[Statement], calls: Sequence[EndedCall]
) -> LookBack:
    began = min(each.at for each in _all(statements, calls))
    failed = [call.at for call in calls if call.error]
    minutes, hours = rules.repeated_errors.minutes, rules.new_user_high_volume.hours
    return LookBack(
        statements_since=began - HOUR,
        first_since=began - timedelta(hours=hours),
        failed_since=min(failed) - timedelta(minutes=minutes) if failed else None,
        most=rules.looks_back + BATCH,
        most_answers=rules.looks_back_at_answers + BATCH,
    )


def _all(
    statements: Sequence[Statement], calls: Sequence[EndedCall]
) -> Iterator[Statement | EndedCall]:
    yield from statements
    yield from calls

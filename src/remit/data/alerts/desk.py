"""Where alerts are read and closed (S2.48)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, Protocol

from remit.data.alerts.telling import TOPIC_OF, told_of
from remit.errors import BadCall, Conflict, NotFound
from remit.model.alerts import Alert, AlertStatus, AlertType, Severity
from remit.model.crew import CrewEvent

LONGEST_NOTE: Final = 2000
"""Characters of what whoever closes an alert has to say."""

MOST_AT_ONCE: Final = 1000
"""Alerts that one request closes."""

Closed = Literal[AlertStatus.RESOLVED, AlertStatus.DISMISSED]


class AlertStore(Protocol):
    """Where alerts are kept; `storage/alerts.py` says more."""

    async def find_alert(self, tenant: str, alert_id: str) -> Alert | None:
        """Return one, or None."""
        ...

    async def alerts(
        self,
        tenant: str,
        *,
        status: AlertStatus | None = None,
        type_: AlertType | None = None,
        severity: Severity | None = None,
        user: str | None = None,
        before: str | None = None,
        limit: int,
    ) -> Sequence[Alert]:
        """Return alerts, newest first."""
        ...

    async def close_alerts(self, closed: Sequence[tuple[Alert, CrewEvent]]) -> None:
        """Write alerts that were open when they were seen; all of them, or none.

        Raises:
            Outdated: One was closed meanwhile.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertDesk:
    """Reads and closes the alerts of tenants.

    Attributes:
        clock: Returns the time, aware UTC.
        new_id: Returns an id that nothing has.
    """

    store: AlertStore
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    async def alerts(
        self,
        tenant: str,
        *,
        status: AlertStatus | None = None,
        type_: AlertType | None = None,
        severity: Severity | None = None,
        user: str | None = None,
        before: str | None = None,
        limit: int,
    ) -> Sequence[Alert]:
        """Return alerts, newest first, older than the one of the id *before*."""
        return await self.store.alerts(
            tenant,
            status=status,
            type_=type_,
            severity=severity,
            user=user,
            before=before,
            limit=limit,
        )

    async def close(
        self, tenant: str, alert_id: str, status: Closed, *, by: str, note: str = ""
    ) -> Alert:
        """Resolve or dismiss an open alert, and return it as it is then.

        Raises:
            NotFound: There is none of that id.
            Conflict: It is closed.
            BadCall: The note is too long.
        """
        _check_note(note)
        alert = await self.store.find_alert(tenant, alert_id)
        if alert is None:
            raise NotFound(f"there is no alert {alert_id[:80]!r}")
        if alert.status is not AlertStatus.OPEN:
            raise Conflict(f"alert {alert_id!r} is {alert.status.value} already")
        closed = self._closed(alert, status, by, note)
        await self.store.close_alerts([closed])
        return closed[0]

    async def resolve_all(
        self, tenant: str, *, type_: AlertType | None, user: str | None, by: str, note: str = ""
    ) -> Sequence[Alert]:
        """Resolve the open alerts of a type, about a caller, or all; at most MOST_AT_ONCE.

        Raises:
            Outdated: One was closed meanwhile; none is closed by this.
            BadCall: The note is too long.
        """
        _check_note(note)
        found = await self.store.alerts(
            tenant, status=AlertStatus.OPEN, type_=type_, user=user, limit=MOST_AT_ONCE
        )
        closed = [self._closed(alert, AlertStatus.RESOLVED, by, note) for alert in found]
        if closed:
            await self.store.close_alerts(closed)
        return [alert for alert, _ in closed]

    def _closed(self, alert: Alert, status: Closed, by: str, note: str) -> tuple[Alert, CrewEvent]:
        now = self.clock()
        closed = replace(alert, status=status, closed=now, closed_by=by, note=note)
        return closed, told_of(closed, TOPIC_OF[status], self.new_id(), now)


def _check_note(note: str) -> None:
    if len(note) > LONGEST_NOTE:
        raise BadCall(f"note: at most {LONGEST_NOTE} characters")

"""Alerts as rows: opened once for what raised them, closed once, each with its event (S2.48).

Alerts are opened one after another, over all processes: whoever comes second sees what the first
has opened.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select, text, update

from remit.errors import Outdated
from remit.model.alerts import (
    Alert,
    AlertStatus,
    AlertType,
    EndedCall,
    LookBack,
    News,
    Past,
    Places,
    Severity,
)
from remit.model.crew import CrewEvent
from remit.storage.alert_news import (
    Servers,
    answers_of,
    failed_of,
    first_statement,
    keep_places,
    read_news,
    statements_of,
)
from remit.storage.alert_tables import alerts
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.crew_events import add_events, await_turn
from remit.storage.database import Database
from remit.storage.dialects import insert
from remit.storage.notices import CREW_CHANNEL, Notices

Stands = Callable[[Alert, datetime], bool]
"""Whether an alert, the latest of its user and type, stands for what happened at a moment."""


class Alerts:
    """The alerts of every tenant.

    Args:
        database: Where they are.
        notices: Told of every change, so that whoever delivers events looks at once.
    """

    def __init__(self, database: Database, notices: Notices) -> None:
        self._database = database
        self._notices = notices

    async def open_alerts(
        self,
        due: Sequence[tuple[Alert, CrewEvent]],
        *,
        settled: Places,
        stands_for: Stands,
    ) -> Sequence[Alert]:
        """Open alerts, unless others stand for them, and keep the places; all of it, or nothing.

        Args:
            due: Each with the event that tells of it.
            settled: Up to where both streams are dealt with then.
            stands_for: Whether the latest alert of a user and type stands for another one.

        Returns:
            Those that are open now and were not before.
        """
        opened: list[Alert] = []
        async with self._database.writing() as connection:
            if due:
                await await_turn(connection)
            for alert, event in due:
                if await _open_alert(connection, alert, stands_for):
                    await add_events(connection, [event])
                    opened.append(alert)
            if opened:
                await _announce(connection)
            await keep_places(connection, settled)
        if opened:
            self._notices.note()
        return opened

    async def close_alerts(self, closed: Sequence[tuple[Alert, CrewEvent]]) -> None:
        """Write alerts that were open when they were seen; all of them, or none.

        Raises:
            Outdated: One was closed meanwhile.
        """
        async with self._database.writing() as connection:
            await await_turn(connection)
            for alert, event in closed:
                await _close(connection, alert)
                await add_events(connection, [event])
            await _announce(connection)
        self._notices.note()

    async def news(
        self, servers: Servers, *, after: Places | None, now: datetime, limit: int
    ) -> News:
        """Return what happened after the places; `alert_news.py` says more."""
        async with self._database.reading() as connection:
            return await read_news(connection, servers, after=after, now=now, limit=limit)

    async def past(
        self, tenant: str, user: str, *, servers: Collection[str], back: LookBack
    ) -> Past:
        """Return what a caller did before, as far as it is looked back."""
        async with self._database.reading() as connection:
            first = await first_statement(connection, tenant, user)
            since = back.statements_since
            if first is not None and first > back.first_since:
                since = min(since, first)
            statements = await statements_of(connection, tenant, user, since=since, limit=back.most)
            answers = await answers_of(
                connection, tenant, user, since=back.statements_since, limit=back.most_answers
            )
            failed: Sequence[EndedCall] = ()
            if back.failed_since is not None:
                failed = await failed_of(
                    connection, tenant, servers, user, since=back.failed_since, limit=back.most
                )
            return Past(
                first=first,
                statements=statements[::-1],
                answers=answers[::-1],
                failed=failed[::-1],
                alerts=await _latest_of_each(connection, tenant, user),
            )

    async def find_alert(self, tenant: str, alert_id: str) -> Alert | None:
        """Return one, or None."""
        query = select(alerts).where(alerts.c.tenant == tenant, alerts.c.id == alert_id)
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else alert_of(row)

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
        """Return alerts, newest first.

        Args:
            tenant: Whose.
            status: Only those that stand there.
            type_: Only those of that type.
            severity: Only those that matter so much.
            user: Only those about that caller.
            before: Only those that are older than the one of that id.
            limit: Most of them.
        """
        query = select(alerts).where(alerts.c.tenant == tenant)
        wanted = {"status": status, "type": type_, "severity": severity, "user": user}
        for name, value in wanted.items():
            if value is not None:
                query = query.where(alerts.c[name] == str(value))
        if before is not None:
            query = query.where(alerts.c.id < before)
        ordered = query.order_by(alerts.c.id.desc()).limit(limit)
        async with self._database.reading() as connection:
            return [alert_of(row) for row in (await connection.execute(ordered)).all()]


async def _latest_of_each(
    connection: AsyncConnection, tenant: str, user: str
) -> Mapping[AlertType, Alert]:
    """Return the latest alert of each type about a caller."""
    found: dict[AlertType, Alert] = {}
    for type_ in AlertType:
        alert = await _latest(connection, tenant, user, type_)
        if alert is not None:
            found[type_] = alert
    return found


def alert_of(row: Row[Any]) -> Alert:
    """Return the alert of a row."""
    return Alert(
        id=row.id,
        tenant=row.tenant,
        type=AlertType(row.type),
        user=row.user,
        about=row.about,
        severity=Severity(row.severity),
        title=row.title,
        details=row.details,
        status=AlertStatus(row.status),
        opened=row.opened,
        closed=row.closed,
        closed_by=row.closed_by,
        note=row.note,
        version=row.version,
    )


async def _latest(
    connection: AsyncConnection, tenant: str, user: str, type_: AlertType
) -> Alert | None:
    query = (
        select(alerts)
        .where(alerts.c.tenant == tenant, alerts.c.user == user, alerts.c.type == type_.value)
        .order_by(alerts.c.opened.desc(), alerts.c.id.desc())
        .limit(1)
    )
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else alert_of(row)


async def _open_alert(connection: AsyncConnection, alert: Alert, stands_for: Stands) -> bool:
    latest = await _latest(connection, alert.tenant, alert.user, alert.type)
    if latest is not None and stands_for(latest, alert.opened):
        return False
    statement = insert(connection, alerts).values({**_values(alert), "version": 1})
    fresh = statement.on_conflict_do_nothing(
        index_elements=["tenant", "user", "type", "about"]
    ).returning(alerts.c.id)
    return (await connection.execute(fresh)).one_or_none() is not None


async def _close(connection: AsyncConnection, alert: Alert) -> None:
    statement = (
        update(alerts)
        .where(
            alerts.c.tenant == alert.tenant,
            alerts.c.id == alert.id,
            alerts.c.version == alert.version,
            alerts.c.status == AlertStatus.OPEN.value,
        )
        .values({**_values(alert), "version": alert.version + 1})
        .returning(alerts.c.id)
    )
    if (await connection.execute(statement)).one_or_none() is None:
        raise Outdated(f"alert {alert.id!r} was closed by somebody else meanwhile")


async def _announce(connection: AsyncConnection) -> None:
    if connection.dialect.name == "postgresql":
        await connection.execute(text(f"NOTIFY {CREW_CHANNEL}"))


def _values(alert: Alert) -> dict[str, object]:
    return {
        "tenant": alert.tenant,
        "id": alert.id,
        "type": alert.type.value,
        "user": alert.user,
        "about": alert.about,
        "severity": alert.severity.value,
        "title": alert.title,
        "details": dict(alert.details),
        "status": alert.status.value,
        "opened": alert.opened,
        "closed": alert.closed,
        "closed_by": alert.closed_by,
        "note": alert.note,
    }

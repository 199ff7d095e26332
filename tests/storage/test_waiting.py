"""How much waits for somebody: of one tenant, and of nothing that is done."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from remit.model.alerts import AlertStatus, AlertType, Severity
from remit.model.crew import Change, Mail
from remit.model.data import EngineKind, Query, QueryStatus
from remit.model.ontology import ChangeSource, ChangeStatus, ChangeType, PendingChange
from remit.model.traffic import Waiting
from remit.storage.alert_tables import alerts
from remit.storage.crew import Crew
from remit.storage.database import Database
from remit.storage.notices import Notices
from remit.storage.ontology import Ontology
from remit.storage.queries import Queries
from remit.storage.waiting import WaitingThings

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)

ALERT: dict[str, Any] = {
    "tenant": "default",
    "type": AlertType.LARGE_DATA_EXPORT.value,
    "user": "user:ann",
    "severity": Severity.INFO.value,
    "title": "much",
    "details": {},
    "status": AlertStatus.OPEN.value,
    "opened": NOW,
    "closed_by": "",
    "note": "",
    "version": 1,
}
MAIL = Mail(id="m", tenant="default", sender="agent:w1", subject="s", body="b", created=NOW)
QUERY = Query(
    id="q",
    tenant="default",
    datasource="d1",
    name="Orders",
    description="of a day",
    sql="SELECT 1",
    dialect=EngineKind.SQLITE,
    suggested_by="user:ann",
    created=NOW,
    updated=NOW,
)
CHANGE = PendingChange(
    id="c",
    tenant="default",
    datasource="d1",
    type=ChangeType.MODIFIED_COLUMN,
    source=ChangeSource.SCHEMA_REFRESH,
    table="main.orders",
    action="review",
    created=NOW,
)


async def test_where_nothing_was_ever_written_nothing_waits(database: Database) -> None:
    assert await WaitingThings(database).waiting("default") == Waiting()


async def test_what_is_open_unread_and_undecided_waits_in_its_own_tenant(
    database: Database,
) -> None:
    async with database.writing() as connection:
        rows = [
            *({**ALERT, "id": f"a{n}", "about": f"x{n}"} for n in range(4)),
            {**ALERT, "id": "done", "about": "y", "status": AlertStatus.RESOLVED.value},
            {**ALERT, "id": "a", "about": "z", "tenant": "elsewhere"},
        ]
        await connection.execute(alerts.insert(), rows)
    mails = (
        *(replace(MAIL, id=f"m{n}") for n in range(3)),
        replace(MAIL, id="read", read=NOW),
        replace(MAIL, id="to-agent", to_agent="w2"),
    )
    await Crew(database, Notices(database)).apply(Change(mails=mails))
    await Queries(database).write_queries(
        [
            *(replace(QUERY, id=f"q{n}") for n in range(2)),
            replace(QUERY, id="approved", status=QueryStatus.APPROVED),
            replace(QUERY, id="gone", deleted=NOW),
        ]
    )
    decided = replace(CHANGE, id="c2", status=ChangeStatus.APPROVED, decided=NOW)
    await Ontology(database).write(changes=[CHANGE, decided])

    found = WaitingThings(database)

    assert await found.waiting("default") == Waiting(alerts=4, mail=3, suggestions=2, changes=1)
    assert await found.waiting("elsewhere") == Waiting(alerts=1)

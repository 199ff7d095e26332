"""Alerts as rows: opened once, closed once, with their events; the streams are read on (S2.48)."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from sqlalchemy import insert

from remit.data.alerts.rules import stands_for
from remit.data.alerts.telling import OPENED, TOPIC_OF, told_of
from remit.errors import Outdated
from remit.model.alerts import (
    Alert,
    AlertStatus,
    AlertType,
    LookBack,
    Places,
    Severity,
)
from remit.model.crew import CrewEvent
from remit.model.events import AuditEvent, EventKind
from remit.storage.alert_news import LATE
from remit.storage.alerts import Alerts
from remit.storage.audit import AuditLog, open_audit
from remit.storage.crew import Crew
from remit.storage.data_tables import data_executions
from remit.storage.database import Database
from remit.storage.notices import Notices
from remit.testing.fakes import sample_event

NOW = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)
SERVERS = {"default": ("data",)}
NOWHERE = Places(statements=0, calls=0)


def alert(number: int, *, minute: float = 0, user: str = "user:ann") -> Alert:
    return Alert(
        id=f"a{number}",
        tenant="default",
        type=AlertType.SQL_INJECTION_DETECTED,
        user=user,
        about=f"x{number}",
        severity=Severity.CRITICAL,
        title="a value that looks like an SQL injection",
        details={"tool": "query"},
        opened=NOW + timedelta(minutes=minute),
    )


def told(one: Alert) -> tuple[Alert, CrewEvent]:
    return one, told_of(one, TOPIC_OF[one.status], f"{one.status}-{one.id}", NOW)


async def opened(store: Alerts, *due: Alert, settled: Places = NOWHERE) -> list[str]:
    found = await store.open_alerts(
        [told(one) for one in due], settled=settled, stands_for=stands_for
    )
    return [one.id for one in found]


def closed(one: Alert, minute: float = 5) -> Alert:
    return replace(
        one,
        status=AlertStatus.RESOLVED,
        closed=NOW + timedelta(minutes=minute),
        closed_by="user:boss",
        note="looked at",
    )


async def topics(database: Database) -> list[str]:
    events = await Crew(database, Notices(database)).events(after=0, limit=100)
    return [event.topic for _, event in events]


@pytest.fixture
def store(database: Database) -> Alerts:
    return Alerts(database, Notices(database))


@pytest.fixture
async def audit(database: Database, tmp_path: Path) -> AsyncGenerator[AuditLog]:
    async with open_audit(database, tmp_path / "state", durability="process") as audit:
        yield audit


async def ran(
    database: Database,
    number: int,
    *,
    at: datetime = NOW,
    user: str = "user:ann",
    rows: int = 1,
    flags: Sequence[str] = (),
    seq: int | None = None,
    tenant: str = "default",
) -> None:
    values = {
        "id": f"x{number}",
        "tenant": tenant,
        "datasource": "d1",
        "query": "",
        "tool": "query",
        "sql": "SELECT 1",
        "parameters": "{}",
        "user": user,
        "source": "mcp",
        "started": at,
        "ms": 1.0,
        "row_count": rows,
        "rows_affected": None,
        "is_modifying": False,
        "code": "",
        "error": "",
        "flags": list(flags),
        "tables": [],
        **({} if seq is None else {"seq": seq}),
    }
    async with database.writing() as connection:
        await connection.execute(insert(data_executions).values(values))


def ended(number: int, *, outcome: str = "ok", at: datetime = NOW, **what: str) -> AuditEvent:
    values: dict[str, object] = {
        "kind": EventKind.FINISHED,
        "principal": "user:ann",
        "server": "data",
        "tool": "query",
        "outcome": outcome,
        "code": "",
        "result": None,
        "time": at,
        **what,
    }
    stamp = f"{int(at.timestamp() * 1000):012x}"
    event_id = f"{stamp[:8]}-{stamp[8:]}-7000-8000-{number:012x}"
    return sample_event(number, id=event_id, call_id=f"c{number}", **values)


async def test_an_alert_is_kept_as_it_is_and_told(store: Alerts, database: Database) -> None:
    assert await opened(store, alert(1)) == ["a1"]

    found = await store.find_alert("default", "a1")
    assert found == replace(alert(1), version=1)
    assert await store.find_alert("other", "a1") is None
    assert await topics(database) == [OPENED]


async def test_one_alert_an_hour_is_open_for_a_user_and_type(
    store: Alerts, database: Database
) -> None:
    due = [alert(1), alert(2, minute=59), alert(3, minute=60), alert(4, user="user:bob")]

    assert await opened(store, *due) == ["a1", "a3", "a4"]
    assert await opened(store, alert(5, minute=61)) == []
    assert len(await topics(database)) == 3


async def test_what_raised_an_alert_never_raises_another(store: Alerts) -> None:
    await opened(store, alert(1))
    [one] = await store.alerts("default", limit=10)
    await store.close_alerts([told(closed(one, minute=-90))])

    # by its time it may; it is the same thing that happened
    assert await opened(store, replace(alert(1), id="a2")) == []
    assert await opened(store, alert(3)) == ["a3"]


async def test_of_several_who_open_the_same_one_does(database: Database) -> None:
    found: list[str] = []

    async def open_one(number: int) -> None:
        found.extend(await opened(Alerts(database, Notices(database)), alert(number)))

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(open_one, number)

    assert len(found) == 1


async def test_an_alert_is_closed_once(store: Alerts, database: Database) -> None:
    await opened(store, alert(1), alert(2, user="user:bob"))
    bob, ann = await store.alerts("default", limit=10)

    await store.close_alerts([told(closed(ann))])

    assert await store.find_alert("default", "a1") == replace(closed(ann), version=2)
    with pytest.raises(Outdated, match="'a1' was closed by somebody else"):
        await store.close_alerts([told(closed(bob)), told(closed(ann))])
    assert await store.find_alert("default", "a2") == bob
    assert await topics(database) == [OPENED, OPENED, "alert.resolved"]


async def test_alerts_are_found_by_what_they_are_and_in_pages(store: Alerts) -> None:
    await opened(store, *(alert(number, user=f"user:u{number}") for number in range(5)))
    await opened(store, replace(alert(7), tenant="other"))
    last = (await store.alerts("default", limit=1))[0]
    await store.close_alerts([told(closed(last))])

    async def ids(**wanted: object) -> list[str]:
        found = await store.alerts("default", **{"limit": 10, **wanted})  # pyright: ignore[reportArgumentType] - filters by name
        return [one.id for one in found]

    assert await ids() == ["a4", "a3", "a2", "a1", "a0"]
    assert await ids(limit=2, before="a3") == ["a2", "a1"]
    assert await ids(status=AlertStatus.RESOLVED) == ["a4"]
    assert await ids(user="user:u2") == ["a2"]
    assert await ids(severity=Severity.INFO) == []
    assert await ids(type_=AlertType.REPEATED_ERRORS) == []


async def test_statements_are_read_on_from_where_they_were_left(
    store: Alerts, database: Database
) -> None:
    for number in range(1, 4):
        await ran(database, number, flags=["injection"] if number == 2 else [])

    first = await store.news(SERVERS, after=None, now=NOW, limit=2)
    assert [one.id for one in first.statements] == ["x1", "x2"]
    assert first.statements[1].flags == ("injection",)
    assert first.has_more
    second = await store.news(SERVERS, after=first.read, now=NOW, limit=2)
    assert ([one.id for one in second.statements], second.has_more) == (["x3"], False)

    await opened(store, settled=second.settled)
    again = await store.news(SERVERS, after=None, now=NOW, limit=2)
    assert (again.before, again.statements) == (second.settled, [])


async def test_places_never_go_back(store: Alerts, database: Database) -> None:
    for number in range(1, 4):
        await ran(database, number)

    await opened(store, settled=Places(statements=3, calls=0))
    await opened(store, settled=Places(statements=2, calls=0))

    news = await store.news(SERVERS, after=None, now=NOW, limit=10)
    assert news.before == Places(statements=3, calls=0)


async def test_a_statement_that_comes_late_is_waited_for(store: Alerts, database: Database) -> None:
    await ran(database, 1, seq=1)
    await ran(database, 3, seq=3)

    news = await store.news(SERVERS, after=None, now=NOW, limit=10)
    assert [one.id for one in news.statements] == ["x1", "x3"]
    assert news.settled.statements == 1
    await opened(store, settled=news.settled)
    await ran(database, 2, seq=2)

    news = await store.news(SERVERS, after=None, now=NOW, limit=10)
    assert [one.id for one in news.statements] == ["x2", "x3"]
    assert news.settled.statements == 3


async def test_a_number_that_never_comes_is_not_waited_for_long(
    store: Alerts, database: Database
) -> None:
    await ran(database, 3, seq=3)

    early = await store.news(SERVERS, after=None, now=NOW + LATE / 2, limit=10)
    late = await store.news(SERVERS, after=None, now=NOW + LATE * 2, limit=10)

    assert (early.settled.statements, late.settled.statements) == (0, 3)


async def test_ended_calls_of_data_servers_are_read_on(store: Alerts, audit: AuditLog) -> None:
    await audit.record(ended(9, kind=EventKind.INVOKED, outcome="unknown"))
    await audit.record(ended(1))
    await audit.record(ended(2, server="git"))
    await audit.record(ended(3, outcome="none", code="call-denied", kind=EventKind.REFUSED))
    await audit.record(ended(4, tenant="other"))
    await audit.flush()

    news = await store.news(SERVERS, after=None, now=NOW, limit=1)
    assert [(one.id, one.user, one.error) for one in news.calls] == [("c1", "user:ann", "")]
    assert news.has_more
    rest = await store.news(SERVERS, after=news.read, now=NOW, limit=10)
    assert [(one.id, one.error) for one in rest.calls] == [("c3", "call-denied")]
    assert (rest.read.calls, rest.has_more) == (5, False)
    await opened(store, settled=rest.settled)
    nothing = await store.news(SERVERS, after=None, now=NOW, limit=10)
    assert (nothing.before.calls, nothing.calls) == (5, [])


async def test_a_call_that_failed_is_known_by_its_code_or_by_how_it_ended(
    store: Alerts, audit: AuditLog
) -> None:
    await audit.record(ended(1, outcome="tool_error", code="invalid_sql"))
    await audit.record(ended(2, outcome="tool_error"))
    await audit.record(ended(3, outcome="error", code="upstream-timeout"))
    await audit.record(ended(4, outcome="ok"))
    await audit.flush()

    news = await store.news(SERVERS, after=None, now=NOW, limit=10)

    assert [one.error for one in news.calls] == [
        "invalid_sql",
        "tool_error",
        "upstream-timeout",
        "",
    ]


async def test_the_past_of_a_caller_is_its_own_and_as_far_back_as_is_asked(
    store: Alerts, database: Database, audit: AuditLog
) -> None:
    for number in range(10):
        await ran(database, number, at=NOW - timedelta(minutes=10 * number))
    await ran(database, 20, user="user:bob")
    await ran(database, 21, tenant="other")
    for number, minutes in enumerate((0, 5, 15)):
        at = NOW - timedelta(minutes=minutes)
        await audit.record(ended(number, outcome="error", code="upstream-timeout", at=at))
    await audit.record(ended(7, at=NOW))
    await audit.flush()
    await opened(store, alert(1), alert(2, user="user:bob"))

    def back(**other: object) -> LookBack:
        values: dict[str, object] = {
            "statements_since": NOW - timedelta(minutes=35),
            "first_since": NOW - timedelta(minutes=60),
            "failed_since": NOW - timedelta(minutes=10),
            "most": 100,
            "most_answers": 100,
            **other,
        }
        return LookBack(**values)  # pyright: ignore[reportArgumentType] - fields by name

    past = await store.past("default", "user:ann", servers=["data"], back=back())
    assert past.first == NOW - timedelta(minutes=90)
    assert [one.id for one in past.statements] == ["x3", "x2", "x1", "x0"]
    assert [one.id for one in past.failed] == ["c1", "c0"]
    assert [one.id for one in past.alerts.values()] == ["a1"]

    new = back(first_since=NOW - timedelta(minutes=95), failed_since=None, most=6)
    past = await store.past("default", "user:ann", servers=["data"], back=new)
    assert [one.id for one in past.statements] == ["x5", "x4", "x3", "x2", "x1", "x0"]
    assert past.failed == ()
    empty = await store.past("default", "user:nobody", servers=["data"], back=back())
    assert (empty.first, empty.statements, empty.alerts) == (None, [], {})

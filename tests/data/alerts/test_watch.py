"""What callers do is read on, and raises each alert once, whoever reads or dies (S2.48)."""

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import anyio
import pytest
from sqlalchemy import insert, select

from remit.data.alerts.desk import AlertDesk
from remit.data.alerts.rules import HOUR, INJECTION
from remit.data.alerts.watch import BATCH, LEASE, Watch, Watched
from remit.model.alert_rules import AlertRules, HoursRule, NewUserRule, VolumeRule
from remit.model.alerts import Alert, AlertStatus, AlertType, Places
from remit.model.crew import CrewEvent
from remit.storage.alert_tables import alert_places
from remit.storage.alerts import Alerts, Stands
from remit.storage.audit import AuditLog, open_audit
from remit.storage.crew import Crew
from remit.storage.data_tables import data_executions
from remit.storage.database import Database, default_url, open_database
from remit.storage.leases import Leases
from remit.storage.notices import Notices
from remit.storage.tables import leases
from remit.testing.fakes import sample_event

START = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)


class Killed(Exception):
    """Stands for the end of a process in the middle of its work."""


class Dying(Alerts):
    """Alerts of a process that dies before it has written any."""

    async def open_alerts(
        self,
        due: Sequence[tuple[Alert, CrewEvent]],  # noqa: ARG002 - nothing comes of it
        *,
        settled: Places,  # noqa: ARG002 - likewise
        stands_for: Stands,  # noqa: ARG002 - likewise
    ) -> Sequence[Alert]:
        raise Killed


@dataclass(slots=True)
class Post:
    """A database, its time, and processes that watch."""

    database: Database
    audit: AuditLog
    rules: AlertRules = field(default_factory=AlertRules)
    now: datetime = START
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def store(self) -> Alerts:
        return Alerts(self.database, Notices(self.database))

    def watch(self, store: Alerts | None = None) -> Watch:
        return Watch(
            store or self.store,
            Leases(self.database),
            holder=uuid.uuid4().hex,
            clock=lambda: self.now,
            new_id=self.new_id,
        )

    def new_id(self) -> str:
        return f"id{next(self.numbers):06}"

    def tenants(self) -> Mapping[str, Watched]:
        return {name: Watched(servers=("data",), rules=self.rules) for name in ("default", "two")}

    async def look(self, watch: Watch | None = None) -> list[Alert]:
        await (watch or self.watch()).look(self.tenants())
        return await self.alerts()

    async def alerts(self, tenant: str = "default") -> list[Alert]:
        return list(await self.store.alerts(tenant, limit=1000))

    def desk(self) -> AlertDesk:
        return AlertDesk(store=self.store, clock=lambda: self.now, new_id=self.new_id)

    async def ran(
        self,
        *flags: str,
        user: str = "user:ann",
        tenant: str = "default",
        times: int = 1,
        rows: int = 1,
    ) -> None:
        """Let statements be on record that were begun now."""
        values = [
            {
                "id": self.new_id(),
                "tenant": tenant,
                "datasource": "d1",
                "query": "",
                "tool": "query",
                "sql": "SELECT 'a secret of the caller'",
                "parameters": "{}",
                "user": user,
                "source": "mcp",
                "started": self.now,
                "ms": 1.0,
                "row_count": rows,
                "rows_affected": None,
                "is_modifying": False,
                "code": "",
                "error": "",
                "flags": list(flags),
                "tables": [],
            }
            for _ in range(times)
        ]
        async with self.database.writing() as connection:
            await connection.execute(insert(data_executions), values)

    async def called(
        self, *, error: str = "", user: str = "user:ann", server: str = "data"
    ) -> None:
        """Let an ended call be on record."""
        number = next(self.numbers)
        stamp = f"{int(self.now.timestamp() * 1000):012x}"
        event = sample_event(
            number,
            id=f"{stamp[:8]}-{stamp[8:]}-7000-8000-{number:012x}",
            call_id=f"c{number}",
            time=self.now,
            principal=user,
            server=server,
            tool="query",
            outcome="error" if error else "ok",
            code=error,
        )
        await self.audit.record(event)
        await self.audit.flush()


@pytest.fixture(params=["sqlite", "postgresql"])
async def post(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Post]:
    url: str = (
        default_url(tmp_path)
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    async with (
        open_database(url) as database,
        open_audit(database, tmp_path / "state", durability="process") as audit,
    ):
        yield Post(database=database, audit=audit)


def types(found: list[Alert]) -> list[AlertType]:
    return [alert.type for alert in found]


async def test_an_export_in_many_small_answers_is_an_export_too(post: Post) -> None:
    quiet = replace(
        post.rules,
        unusual_query_volume=VolumeRule(enabled=False),
        new_user_high_volume=NewUserRule(enabled=False),
    )
    post.rules, watch = quiet, post.watch()
    await post.look(watch)
    statements = quiet.large_data_export.rows_per_hour // 2
    assert statements > quiet.looks_back + BATCH

    await post.ran(times=statements - 1, rows=2)
    await post.ran(times=50, rows=0)
    assert await post.look(watch) == []
    await post.ran(rows=2)

    (alert,) = await post.look(watch)
    assert alert.type is AlertType.LARGE_DATA_EXPORT
    assert alert.details["rows"] == quiet.large_data_export.rows_per_hour


async def test_an_injection_raises_an_alert_that_holds_nothing_the_caller_sent(post: Post) -> None:
    await post.ran(INJECTION)

    [alert] = await post.look()

    assert (alert.type, alert.user) == (AlertType.SQL_INJECTION_DETECTED, "user:ann")
    assert (alert.opened, alert.status) == (START, AlertStatus.OPEN)
    assert "secret" not in repr(alert)
    [(_, event)] = await Crew(post.database, Notices(post.database)).events(after=0, limit=10)
    assert event.topic == "alert.opened"
    assert event.payload["alertId"] == alert.id
    assert "secret" not in repr(event)


async def test_an_hour_of_injections_is_one_alert_for_each_caller(post: Post) -> None:
    watch = post.watch()
    for _ in range(6):
        await post.ran(INJECTION, times=3)
        await post.ran(INJECTION, user="user:bob")
        await post.look(watch)
        post.now += HOUR / 6

    assert sorted(alert.user for alert in await post.alerts()) == ["user:ann", "user:bob"]
    await post.ran(INJECTION)
    assert len(await post.look(watch)) == 3


async def test_tenants_never_count_together(post: Post) -> None:
    await post.ran(times=49)
    await post.ran(tenant="two", times=49, user="user:ann")
    post.now += timedelta(days=2)

    assert AlertType.UNUSUAL_QUERY_VOLUME not in types(await post.look())
    assert AlertType.UNUSUAL_QUERY_VOLUME not in types(await post.alerts("two"))


async def test_volume_counts_over_looks_and_over_restarts(post: Post) -> None:
    await post.ran()
    post.now += timedelta(days=2)
    for _ in range(49):
        await post.ran()
        post.now += timedelta(seconds=1)
        assert await post.look(post.watch()) == []
        post.now += LEASE
    await post.ran()

    assert types(await post.look()) == [AlertType.UNUSUAL_QUERY_VOLUME]


async def test_errors_are_counted_as_the_record_has_them(post: Post) -> None:
    for _ in range(4):
        await post.called(error="upstream-timeout")
        await post.called(error="upstream-timeout", server="git")
        await post.called(error="call-denied")
        assert await post.look() == []
        post.now += LEASE
    await post.called(error="upstream-timeout")

    [alert] = await post.look()

    assert alert.type is AlertType.REPEATED_ERRORS
    assert alert.details == {"error": "upstream-timeout", "errors": 5, "threshold": 5}


async def test_a_call_at_night_is_an_alert_where_that_is_on(post: Post) -> None:
    post.rules = AlertRules(after_hours_access=HoursRule(enabled=True))
    await post.called()
    assert await post.look() == []
    post.now += timedelta(hours=12)
    await post.called()

    assert types(await post.look()) == [AlertType.AFTER_HOURS_ACCESS]


async def test_with_many_processes_an_alert_is_raised_once(post: Post) -> None:
    for number in range(5):
        await post.ran(INJECTION, user=f"user:u{number}", times=4)

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(post.look, post.watch())

    assert len(await post.look()) == 5


async def test_while_one_evaluates_the_others_leave_it_alone(post: Post) -> None:
    first, second = post.watch(), post.watch()
    await post.ran(INJECTION)
    await post.look(first)
    post.now += HOUR
    await post.ran(INJECTION)
    await post.look(first)

    await post.ran(INJECTION, user="user:bob")
    assert len(await post.look(second)) == 2
    post.now += LEASE
    assert len(await post.look(second)) == 3


async def test_one_that_dies_in_between_loses_nothing_and_repeats_nothing(post: Post) -> None:
    await post.ran(INJECTION)
    dying = post.watch(Dying(post.database, Notices(post.database)))
    with pytest.raises(Killed):
        await post.look(dying)
    assert await post.alerts() == []
    post.now += LEASE

    assert len(await post.look()) == 1
    # and what is read again after the alert was dealt with raises it no more
    [alert] = await post.alerts()
    post.now += timedelta(minutes=1)
    await post.desk().close("default", alert.id, AlertStatus.DISMISSED, by="user:boss")
    async with post.database.writing() as connection:
        await connection.execute(alert_places.delete())
    post.now += LEASE
    assert types(await post.look()) == [AlertType.SQL_INJECTION_DETECTED]


async def test_nothing_is_written_where_nothing_happens(post: Post) -> None:
    await post.called(server="git")
    await post.look()

    async with post.database.reading() as connection:
        assert (await connection.execute(select(leases))).all() == []
        assert (await connection.execute(select(alert_places))).all() == []


async def test_what_was_dealt_with_is_not_read_again(post: Post) -> None:
    await post.ran(times=3)
    await post.called()
    await post.look()

    news = await post.store.news({"default": ("data",)}, after=None, now=post.now, limit=10)
    assert (news.statements, news.calls, news.has_more) == ([], [], False)


async def test_more_than_a_batch_is_judged_in_one_look(post: Post) -> None:
    await post.ran(times=BATCH)
    await post.ran(INJECTION, user="user:late")
    await post.ran(times=BATCH)
    post.rules = AlertRules()

    found = await post.look()

    assert ("user:late", AlertType.SQL_INJECTION_DETECTED) in [
        (alert.user, alert.type) for alert in found
    ]
    assert (
        types([one for one in found if one.user == "user:ann"]).count(
            AlertType.UNUSUAL_QUERY_VOLUME
        )
        == 1
    )

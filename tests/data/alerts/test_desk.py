"""Alerts are read and closed, each once, and whoever listens is told (S2.48)."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from remit.data.alerts.desk import LONGEST_NOTE, AlertDesk
from remit.data.alerts.rules import stands_for
from remit.data.alerts.telling import OPENED, told_of
from remit.errors import BadCall, Conflict, NotFound
from remit.model.alerts import Alert, AlertStatus, AlertType, Places, Severity
from remit.storage.alerts import Alerts
from remit.storage.crew import Crew
from remit.storage.database import Database, default_url, open_database
from remit.storage.notices import Notices

NOW = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    async with open_database(default_url(tmp_path)) as database:
        yield database


@pytest.fixture
async def desk(database: Database) -> AlertDesk:
    store, numbers = Alerts(database, Notices(database)), count()
    due = [
        Alert(
            id=f"a{number}",
            tenant=tenant,
            type=type_,
            user=user,
            about=f"x{number}",
            severity=Severity.WARNING,
            title="something",
            opened=NOW,
        )
        for number, (tenant, user, type_) in enumerate(
            [
                ("default", "user:ann", AlertType.REPEATED_ERRORS),
                ("default", "user:ann", AlertType.LARGE_DATA_EXPORT),
                ("default", "user:bob", AlertType.LARGE_DATA_EXPORT),
                ("other", "user:ann", AlertType.LARGE_DATA_EXPORT),
            ]
        )
    ]
    events = [told_of(alert, OPENED, f"opened-{alert.id}", NOW) for alert in due]
    await store.open_alerts(
        list(zip(due, events, strict=True)),
        settled=Places(statements=0, calls=0),
        stands_for=stands_for,
    )
    return AlertDesk(store=store, clock=lambda: NOW, new_id=lambda: f"id{next(numbers)}")


async def open_ones(desk: AlertDesk, tenant: str = "default") -> list[str]:
    return [one.id for one in await desk.alerts(tenant, status=AlertStatus.OPEN, limit=10)]


async def test_an_alert_is_closed_with_who_and_note_and_told_without_the_note(
    desk: AlertDesk, database: Database
) -> None:
    closed = await desk.close(
        "default", "a0", AlertStatus.DISMISSED, by="user:boss", note="a test of ours"
    )

    assert (closed.status, closed.closed) == (AlertStatus.DISMISSED, NOW)
    assert (closed.closed_by, closed.note) == ("user:boss", "a test of ours")
    assert await open_ones(desk) == ["a2", "a1"]
    events = await Crew(database, Notices(database)).events(after=0, limit=10)
    _, last = events[-1]
    assert (last.topic, last.payload["closedBy"]) == ("alert.dismissed", "user:boss")
    assert "a test of ours" not in repr(last)


async def test_an_alert_that_is_closed_or_of_another_tenant_is_not_closed(desk: AlertDesk) -> None:
    await desk.close("default", "a0", AlertStatus.RESOLVED, by="user:boss")

    with pytest.raises(Conflict, match="'a0' is resolved already"):
        await desk.close("default", "a0", AlertStatus.DISMISSED, by="user:boss")
    with pytest.raises(NotFound, match="there is no alert 'a3'"):
        await desk.close("default", "a3", AlertStatus.RESOLVED, by="user:boss")
    with pytest.raises(BadCall, match="at most 2000 characters"):
        await desk.close(
            "default", "a1", AlertStatus.RESOLVED, by="user:boss", note="x" * (LONGEST_NOTE + 1)
        )


async def test_all_of_a_type_or_of_a_caller_are_resolved_at_once(desk: AlertDesk) -> None:
    closed = await desk.resolve_all(
        "default", type_=AlertType.LARGE_DATA_EXPORT, user="user:ann", by="user:boss"
    )
    assert [one.id for one in closed] == ["a1"]
    assert await open_ones(desk) == ["a2", "a0"]

    rest = await desk.resolve_all("default", type_=None, user=None, by="user:boss", note="all")
    assert [one.note for one in rest] == ["all", "all"]
    assert await open_ones(desk) == []
    assert await open_ones(desk, "other") == ["a3"]
    assert await desk.resolve_all("default", type_=None, user=None, by="user:boss") == []

"""What every audit does when it is pruned, fakes included (T25)."""

from datetime import UTC, datetime, timedelta

from remit.model.events import AuditQuery
from remit.model.retention import Retention
from remit.storage.audit import AuditLog
from remit.testing.fakes import InMemoryAudit, sample_event

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
EVERYTHING = AuditQuery(tenant="default", limit=10_000)

Audit = AuditLog | InMemoryAudit


async def _numbers(audit: Audit) -> list[int]:
    return sorted(int(e.call_id.partition("-")[2]) for e in await audit.search(EVERYTHING))


async def _record(audit: Audit, count: int, *, start: int = 0, **changes: object) -> None:
    for number in range(start, start + count):
        await audit.record(sample_event(number, **changes))


async def test_the_newest_rows_stay_and_the_marker_says_what_went(audit: Audit) -> None:
    await _record(audit, 30)

    cut = await audit.prune("default", Retention(rows=10), author="ann", now=NOON)

    assert await _numbers(audit) == list(range(20, 30))
    assert cut is not None
    assert (cut.number, cut.link, cut.removed, cut.author) == (1, 20, 20, "ann")
    assert (cut.time, cut.reason) == (NOON, "retention_rows: 10")


async def test_rows_go_by_age_too_and_a_late_old_one_waits_for_the_young_before_it(
    audit: Audit,
) -> None:
    await _record(audit, 5, time=NOON - timedelta(days=3))
    await _record(audit, 5, start=5, time=NOON - timedelta(hours=1))
    await _record(audit, 1, start=10, time=NOON - timedelta(days=3))

    cut = await audit.prune("default", Retention(days=2), author="ann", now=NOON)
    assert cut is not None
    assert cut.link == 5
    assert await _numbers(audit) == [5, 6, 7, 8, 9, 10]

    later = NOON + timedelta(days=2)
    cut = await audit.prune("default", Retention(days=2), author="ann", now=later)
    assert cut is not None
    assert (cut.number, cut.link, cut.removed) == (2, 11, 6)
    assert await _numbers(audit) == []


async def test_what_is_within_both_bounds_stays_and_leaves_no_marker(audit: Audit) -> None:
    await _record(audit, 5)

    for retention in (Retention(), Retention(rows=5), Retention(days=2, rows=9)):
        assert await audit.prune("default", retention, author="ann", now=NOON) is None
    assert await _numbers(audit) == [0, 1, 2, 3, 4]


async def test_only_the_rows_of_that_tenant_go(audit: Audit) -> None:
    await _record(audit, 5, tenant="other")
    await _record(audit, 5, start=10)

    await audit.prune("other", Retention(rows=1), author="ann", now=NOON)

    assert await _numbers(audit) == [10, 11, 12, 13, 14]
    assert len(await audit.search(AuditQuery(tenant="other"))) == 1


async def test_recording_goes_on_after_it_and_the_next_marker_counts_on(audit: Audit) -> None:
    await _record(audit, 10)
    await audit.prune("default", Retention(rows=4), author="ann", now=NOON)
    await _record(audit, 6, start=10)

    cut = await audit.prune("default", Retention(rows=4), author="bob", now=NOON)

    assert await _numbers(audit) == [12, 13, 14, 15]
    assert cut is not None
    assert (cut.number, cut.link, cut.removed, cut.author) == (2, 12, 6, "bob")


async def test_days_that_lead_before_the_calendar_make_nothing_too_old(audit: Audit) -> None:
    await _record(audit, 5, time=NOON - timedelta(days=365))

    beyond = Retention(days=9_999_999)
    assert await audit.prune("default", beyond, author="ann", now=NOON) is None
    assert await _numbers(audit) == [0, 1, 2, 3, 4]

    # and the other bound holds nevertheless
    cut = await audit.prune("default", Retention(days=10**30, rows=2), author="ann", now=NOON)
    assert cut is not None
    assert await _numbers(audit) == [3, 4]

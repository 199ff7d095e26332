"""A running gateway keeps the record to what is declared, and what goes wrong ends nothing."""

from datetime import UTC, datetime, timedelta

import anyio
import pytest
import structlog.testing

from remit.admin import retention as kept
from remit.admin.retention import AUTHOR, keep_to_retention
from remit.errors import StorageUnavailable
from remit.model.retention import Cut, Retention
from remit.testing.fakes import InMemoryAudit, sample_event


class Unsteady(InMemoryAudit):
    """A record whose database is away at first."""

    def __init__(self) -> None:
        super().__init__()
        self.done = anyio.Event()
        self.failures = 1

    async def prune(
        self, tenant: str, retention: Retention, *, author: str, now: datetime
    ) -> Cut | None:
        if self.failures and tenant == "away":
            self.failures -= 1
            raise StorageUnavailable("cannot use the database")
        if tenant == "odd":
            raise OverflowError("nobody foresaw this")
        assert author == AUTHOR
        assert abs(now - datetime.now(UTC)) < timedelta(hours=1)
        cut = await super().prune(tenant, retention, author=author, now=now)
        if tenant == "away":
            self.done.set()
        return cut


async def test_every_tenant_is_pruned_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "EVERY", 0.01)
    record = Unsteady()
    for number in range(6):
        await record.record(sample_event(number))
        await record.record(sample_event(number + 10, tenant="away"))
        await record.record(sample_event(number + 20, tenant="for ever"))
    retentions = {
        "odd": Retention(rows=1),
        "away": Retention(rows=1),
        "default": Retention(rows=2),
        "for ever": Retention(),
    }
    with structlog.testing.capture_logs() as logged:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                lambda: keep_to_retention(record, lambda: retentions, first_after=0.01)
            )
            with anyio.fail_after(30):
                await record.done.wait()
            tasks.cancel_scope.cancel()

    left = [event.tenant for event in record.events]
    assert {tenant: left.count(tenant) for tenant in retentions} == {
        "odd": 0,
        "away": 1,
        "default": 2,
        "for ever": 6,
    }
    told = {(one["event"], one.get("tenant"), one["log_level"]) for one in logged}
    assert ("the record cannot be pruned", "odd", "error") in told

"""What ran, as callers see it (S2.38)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog.testing
from tests.data.queries.office import ANN, BOB, BY_CUSTOMER, DEA, Office

from remit.data.retention import forget_old
from remit.errors import DataFailure
from remit.model.data import Execution
from remit.model.retention import Retention


async def entries(office: Office, by: Any = ANN, **asked: object) -> list[Any]:
    result: Any = await office.call(by, "get_query_history", **asked)
    return result["queries"]


async def test_business_users_see_what_they_ran_and_developers_everything(office: Office) -> None:
    await office.call(ANN, "query", sql="SELECT 1")
    await office.call(BOB, "query", sql="SELECT 2")

    assert [each["sql"] for each in await entries(office, ANN)] == ["SELECT 1"]
    assert [each["sql"] for each in await entries(office, BOB)] == ["SELECT 2"]
    assert [each["user"] for each in await entries(office, DEA)] == ["user:bob", "user:ann"]


async def test_an_entry_says_what_was_asked_for_and_what_came_of_it(office: Office) -> None:
    query: Any = await office.call(DEA, "create_approved_query", **BY_CUSTOMER)
    office.later(minutes=1)
    await office.call(
        ANN,
        "execute_approved_query",
        query_id=query["query_id"],
        parameters={"customer": "ann"},
    )
    await office.call(DEA, "delete_approved_query", query_id=query["query_id"])

    (entry,) = await entries(office)

    assert entry["natural_language"] == "Orders of a customer"
    assert (entry["query_type"], entry["tables_used"]) == ("read", ["main.orders"])
    assert (entry["row_count"], entry["success"], entry["parameters"]) == (
        2,
        True,
        {"customer": "ann"},
    )
    assert entry["executed_at"] == office.now.isoformat()


async def test_failures_come_only_where_they_are_asked_for(office: Office) -> None:
    await office.call(ANN, "query", sql="SELECT 1")
    with pytest.raises(DataFailure):
        await office.call(ANN, "query", sql="SELECT never_was FROM orders")

    assert [each["success"] for each in await entries(office)] == [True]
    assert [each["success"] for each in await entries(office, include_failures=True)] == [
        False,
        True,
    ]


@pytest.mark.parametrize(("hours", "seen"), [(1, 0), (24, 1), (168, 2)])
async def test_history_goes_back_as_far_as_is_asked(office: Office, hours: int, seen: int) -> None:
    await office.call(ANN, "query", sql="SELECT 1")
    office.later(hours=100)
    await office.call(ANN, "query", sql="SELECT 2")
    office.later(hours=20)

    assert len(await entries(office, hours_back=hours)) == seen


async def test_the_newest_come_first_up_to_the_limit(office: Office) -> None:
    for number in range(3):
        await office.call(ANN, "query", sql=f"SELECT {number}")
        office.later(seconds=1)

    assert [each["sql"] for each in await entries(office, limit=2)] == ["SELECT 2", "SELECT 1"]


async def test_what_ran_is_kept_as_long_as_the_record_or_ninety_days(office: Office) -> None:
    await office.call(ANN, "query", sql="SELECT 1")
    store = office.stores.executions
    days = [(None, 89, 1), (None, 91, 0)]

    for retention, later, left in days:
        now = office.now + timedelta(days=later)
        await forget_old(store, {"default": Retention(days=retention)}, now)
        assert len(await office.ran()) == left

    await office.call(ANN, "query", sql="SELECT 2")
    await forget_old(store, {"acme": Retention(days=1)}, office.now + timedelta(days=3))
    assert len(await office.ran()) == 1
    await forget_old(store, {"default": Retention(days=2)}, office.now + timedelta(days=3))
    assert await office.ran() == []


async def test_days_that_lead_before_the_calendar_make_nothing_too_old(office: Office) -> None:
    await office.call(ANN, "query", sql="SELECT 1")

    later = office.now + timedelta(days=10_000)
    await forget_old(office.stores.executions, {"default": Retention(days=9_999_999)}, later)

    assert len(await office.ran()) == 1


class _Faulty:
    """A store that fails for one tenant as nobody foresaw."""

    def __init__(self) -> None:
        self.forgot: list[str] = []

    async def add_execution(self, execution: Execution, *, within: float) -> None:
        raise AssertionError(execution, within)

    async def executions(self, *_: object, **__: object) -> Sequence[Execution]:
        return ()

    async def forget_executions(self, tenant: str, before: datetime) -> int:
        if tenant == "odd":
            raise OverflowError(f"nobody foresaw {before}")
        self.forgot.append(tenant)
        return 1


async def test_what_nobody_foresaw_of_one_tenant_keeps_no_other_from_its_turn() -> None:
    store = _Faulty()
    both = {"odd": Retention(days=1), "default": Retention(days=1)}

    with structlog.testing.capture_logs() as logged:
        await forget_old(store, both, datetime.now(UTC))

    assert store.forgot == ["default"]
    assert [(one["event"], one["tenant"]) for one in logged] == [
        ("old executions cannot be removed", "odd"),
        ("old executions are removed", "default"),
    ]

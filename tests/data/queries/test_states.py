"""Where a query stands, and who may move it there: the state machine as a table (S2.36, R13)."""

from dataclasses import replace
from typing import Any, Literal

import anyio
import pytest
from tests.data.queries.office import ANN, BOB, BY_CUSTOMER, DAN, DEA, KEY, Office

from remit.data.queries.approved import delete, set_enabled
from remit.data.queries.decisions import approve, move_to_pending, reject
from remit.errors import DataFailure
from remit.model.data import DataCode, Query, QueryStatus
from remit.model.principals import Principal

State = Literal["pending", "rejected", "approved", "merged", "gone"]
Move = Literal["approve", "reject", "move"]

INVALID = DataCode.INVALID_STATE
DENIED = DataCode.QUERY_NOT_AUTHORIZED

# what a decision by somebody else, who may decide, does to a suggestion of each state
TABLE: list[tuple[State, Move, QueryStatus | DataCode]] = [
    ("pending", "approve", QueryStatus.APPROVED),
    ("pending", "reject", QueryStatus.REJECTED),
    ("pending", "move", INVALID),
    ("rejected", "approve", INVALID),
    ("rejected", "reject", INVALID),
    ("rejected", "move", QueryStatus.PENDING),
    ("approved", "approve", INVALID),
    ("approved", "reject", INVALID),
    ("approved", "move", INVALID),
    ("merged", "approve", INVALID),
    ("merged", "reject", INVALID),
    ("merged", "move", INVALID),
    ("gone", "approve", DataCode.QUERY_NOT_FOUND),
    ("gone", "reject", DataCode.QUERY_NOT_FOUND),
    ("gone", "move", DataCode.QUERY_NOT_FOUND),
]


async def suggested(office: Office, by: Principal = ANN) -> str:
    result = await office.call(by, "suggest_approved_query", **BY_CUSTOMER)
    return str(result["suggestion_id"])


async def approved(office: Office, by: Principal = DEA) -> str:
    result = await office.call(by, "create_approved_query", **BY_CUSTOMER)
    return str(result["query_id"])


async def updated(office: Office, query_id: str, by: Principal = ANN, **fields: object) -> str:
    result = await office.call(
        by, "suggest_query_update", query_id=query_id, context="clearer", **fields
    )
    return str(result["suggestion_id"])


async def suggestion_in(office: Office, state: State) -> str:
    """Return the id of a suggestion of Ann's that stands there."""
    if state == "gone":
        return "never was"
    if state == "merged":
        suggestion = await updated(office, await approved(office), name="Another")
        await approve(office.desk(DEA), suggestion)
        return suggestion
    suggestion = await suggested(office)
    if state == "rejected":
        await reject(office.desk(DEA), suggestion, "no")
    if state == "approved":
        await approve(office.desk(DEA), suggestion)
    return suggestion


async def move(office: Office, principal: Principal, how: Move, suggestion: str) -> Query:
    desk = office.desk(principal)
    if how == "approve":
        return await approve(desk, suggestion)
    if how == "reject":
        return await reject(desk, suggestion, "not needed")
    return await move_to_pending(desk, suggestion)


async def stored(office: Office, query_id: str) -> Query | None:
    return await office.stores.queries.find_query("default", query_id, deleted=True)


@pytest.mark.parametrize(("state", "how", "becomes"), TABLE)
async def test_each_state_allows_the_moves_of_the_table_and_no_others(
    office: Office, state: State, how: Move, becomes: QueryStatus | DataCode
) -> None:
    suggestion = await suggestion_in(office, state)
    before = await stored(office, suggestion)

    if isinstance(becomes, QueryStatus):
        moved = await move(office, DAN, how, suggestion)
        assert (moved.status, moved == await stored(office, suggestion)) == (becomes, True)
        return

    with pytest.raises(DataFailure) as refused:
        await move(office, DAN, how, suggestion)
    assert refused.value.code == becomes
    assert await stored(office, suggestion) == before


@pytest.mark.parametrize("how", ["approve", "reject", "move"])
@pytest.mark.parametrize("principal", [ANN, BOB, KEY])
async def test_those_who_may_not_decide_move_nothing(
    office: Office, principal: Principal, how: Move
) -> None:
    suggestion = await suggestion_in(office, "rejected" if how == "move" else "pending")
    before = await stored(office, suggestion)

    with pytest.raises(DataFailure) as refused:
        await move(office, principal, how, suggestion)

    assert refused.value.code == DENIED
    assert await stored(office, suggestion) == before


@pytest.mark.parametrize("how", ["approve", "reject", "move"])
async def test_nobody_decides_on_a_suggestion_of_their_own(office: Office, how: Move) -> None:
    suggestion = await suggested(office, DEA)
    if how == "move":
        await reject(office.desk(DAN), suggestion, "no")

    with pytest.raises(DataFailure, match="of their own") as refused:
        await move(office, DEA, how, suggestion)

    assert refused.value.code == DENIED


@pytest.mark.parametrize("how", ["approve", "reject", "move"])
@pytest.mark.parametrize(
    ("suggests", "decides"),
    [("user", "key"), ("key", "user"), ("key", "another key"), ("key", "another issuer")],
)
async def test_one_person_with_two_credentials_decides_on_nothing_of_their_own(
    office: Office, suggests: str, decides: str, how: Move
) -> None:
    # R13
    people = {
        "user": DEA,
        "another issuer": replace(DEA, issuer="https://elsewhere.example.test"),
        "key": await office.key_of("dea", "laptop"),
        "another key": await office.key_of("dea", "desk"),
    }
    suggestion = await suggested(office, people[suggests])
    await office.keys.revoke("default", "laptop", office.now)  # its owner is who it was
    if how == "move":
        await reject(office.desk(DAN), suggestion, "no")
    before = await stored(office, suggestion)

    with pytest.raises(DataFailure, match="of their own") as refused:
        await move(office, people[decides], how, suggestion)

    assert refused.value.code == DENIED
    assert await stored(office, suggestion) == before


@pytest.mark.parametrize("owner", ["dea", ""])
async def test_a_key_decides_on_what_others_than_its_owner_suggested(
    office: Office, owner: str
) -> None:
    # R13: a key of nobody's is somebody of its own
    key = await office.key_of(owner, "laptop")
    mine = await suggested(office, DAN)
    theirs = await suggested(office, await office.key_of("", "dea"))  # no user, for all its name

    assert (await move(office, key, "approve", mine)).status is QueryStatus.APPROVED
    assert (await move(office, key, "approve", theirs)).status is QueryStatus.APPROVED


async def test_of_two_who_decide_at_once_one_is_told_that_it_is_decided(office: Office) -> None:
    suggestion = await suggested(office)
    told: list[str] = []

    async def decide(principal: Principal, how: Move) -> None:
        try:
            told.append((await move(office, principal, how, suggestion)).status)
        except DataFailure as failure:
            told.append(failure.code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(decide, DEA, "approve")
        tasks.start_soon(decide, DAN, "reject")

    final = await stored(office, suggestion)
    assert final is not None
    assert sorted(told) == sorted([final.status, INVALID])


async def test_approving_a_new_one_enables_it_and_says_who_did(office: Office) -> None:
    query = await approve(office.desk(DEA), await suggested(office))

    assert (query.is_enabled, query.reviewed_by, query.suggested_by, query.reviewed) == (
        True,
        "user:dea",
        "user:ann",
        office.now,
    )


async def test_a_reason_is_needed_to_reject_and_whoever_suggested_reads_it(office: Office) -> None:
    suggestion = await suggested(office)

    with pytest.raises(DataFailure) as refused:
        await reject(office.desk(DEA), suggestion, "  ")
    await office.call(DEA, "reject_query_suggestion", suggestion_id=suggestion, reason="too slow")

    assert refused.value.code == DataCode.REJECTION_FAILED
    listing: Any = await office.call(ANN, "list_query_suggestions", status="rejected")
    (listed,) = listing["suggestions"]
    assert listed["rejection_reason"] == "too slow"


async def test_whoever_decides_on_an_update_is_told_the_query_that_it_would_change(
    office: Office,
) -> None:
    query_id = await approved(office)
    first, second = [await updated(office, query_id, name=name) for name in ("One", "Two")]

    rejected: Any = await office.call(
        DAN, "reject_query_suggestion", suggestion_id=first, reason="no"
    )
    merged: Any = await office.call(DAN, "approve_query_suggestion", suggestion_id=second)

    assert (rejected["suggestion_id"], rejected["query_id"]) == (first, query_id)
    assert (merged["suggestion_id"], merged["query_id"]) == (second, query_id)


async def test_the_original_stays_in_force_until_an_update_of_it_is_approved(
    office: Office,
) -> None:
    query_id = await approved(office)
    suggestion = await updated(office, query_id, name="Another", tags=["new"])

    before = await stored(office, query_id)
    after = await approve(office.desk(DAN), suggestion)

    assert before is not None
    assert (before.name, before.tags) == ("Orders of a customer", ("orders", "daily"))
    assert (after.id, after.name, after.tags) == (query_id, "Another", ("new",))
    assert (after.sql, after.is_enabled, after.suggested_by) == (before.sql, True, "user:dea")
    gone = await stored(office, suggestion)
    assert gone is not None
    assert gone.deleted == office.now


async def test_only_what_an_update_changes_is_merged_into_what_the_original_is_by_now(
    office: Office,
) -> None:
    query_id = await approved(office)
    suggestion = await updated(office, query_id, name="Suggested")
    office.later(minutes=1)
    await office.call(
        DEA, "update_approved_query", query_id=query_id, description="changed meanwhile"
    )

    listing: Any = await office.call(DAN, "list_query_suggestions")
    (listed,) = listing["suggestions"]
    after = await approve(office.desk(DAN), suggestion)

    assert listed["original_changed_since"] is True
    assert (after.name, after.description) == ("Suggested", "changed meanwhile")


async def test_an_update_that_no_longer_fits_its_original_is_not_approved(office: Office) -> None:
    query_id = await approved(office)
    suggestion = await updated(
        office,
        query_id,
        parameters=[
            {"name": "customer", "type": "string", "required": False, "default": "bob"},
        ],
    )
    await office.call(
        DEA,
        "update_approved_query",
        query_id=query_id,
        sql="SELECT id FROM orders WHERE id = {{id}}",
        parameters=[{"name": "id", "type": "integer", "example": 1}],
        output_column_descriptions={},
    )

    with pytest.raises(DataFailure) as refused:
        await approve(office.desk(DAN), suggestion)

    assert (refused.value.code, refused.value.details["cause"]) == (
        DataCode.APPROVAL_FAILED,
        DataCode.PARAMETER_VALIDATION,
    )
    still = await stored(office, suggestion)
    assert still is not None
    assert still.status is QueryStatus.PENDING


async def test_a_suggestion_that_would_not_work_by_now_is_not_approved(office: Office) -> None:
    suggestion = await suggested(office)
    await office.change_shop(tables=("cards",))

    with pytest.raises(DataFailure) as refused:
        await approve(office.desk(DEA), suggestion)

    assert refused.value.code == DataCode.APPROVAL_FAILED
    assert refused.value.details["cause"] == DataCode.TABLE_NOT_SELECTED


async def test_deleting_a_query_rejects_its_pending_updates_and_says_how_many(
    office: Office,
) -> None:
    query_id = await approved(office)
    first, second = [await updated(office, query_id, name=name) for name in ("One", "Two")]
    decided = await updated(office, query_id, name="Three")
    await reject(office.desk(DAN), decided, "no")

    deleted = await office.call(DEA, "delete_approved_query", query_id=query_id)

    assert deleted["rejected_suggestions"] == 2
    for suggestion in (first, second):
        query = await stored(office, suggestion)
        assert query is not None
        assert (query.status, query.rejection_reason) == (QueryStatus.REJECTED, "original deleted")
    with pytest.raises(DataFailure, match="original deleted"):
        await move_to_pending(office.desk(DAN), first)
    assert (await office.call(DEA, "list_approved_queries"))["count"] == 0


async def test_an_update_whose_original_is_gone_is_rejected_when_it_is_to_be_approved(
    office: Office,
) -> None:
    query_id = await approved(office)
    suggestion = await updated(office, query_id, name="Late")
    late = await stored(office, suggestion)
    assert late is not None
    await delete(office.desk(DEA), query_id)
    gone = await stored(office, suggestion)
    assert gone is not None
    # as if it had been suggested while the query was being deleted
    await office.stores.queries.write_queries([replace(late, version=gone.version)])

    with pytest.raises(DataFailure) as refused:
        await approve(office.desk(DAN), suggestion)

    after = await stored(office, suggestion)
    assert after is not None
    assert refused.value.code == DataCode.APPROVAL_FAILED
    assert (after.status, after.rejection_reason) == (QueryStatus.REJECTED, "original deleted")


@pytest.mark.parametrize("principal", [ANN, KEY])
async def test_those_who_may_not_decide_neither_delete_nor_disable(
    office: Office, principal: Principal
) -> None:
    query_id = await approved(office)

    for attempt in (
        delete(office.desk(principal), query_id),
        set_enabled(office.desk(principal), query_id, is_enabled=False),
    ):
        with pytest.raises(DataFailure) as refused:
            await attempt
        assert refused.value.code == DENIED

    query = await stored(office, query_id)
    assert query is not None
    assert (query.is_enabled, query.deleted) == (True, None)


async def test_a_suggestion_that_is_pending_is_neither_updated_nor_deleted_as_a_query(
    office: Office,
) -> None:
    suggestion = await suggested(office)

    for tool in ("update_approved_query", "delete_approved_query", "execute_approved_query"):
        more = {"name": "Mine"} if tool == "update_approved_query" else {}
        with pytest.raises(DataFailure) as refused:
            await office.call(DEA, tool, query_id=suggestion, **more)
        assert refused.value.code == DataCode.QUERY_NOT_APPROVED

"""What is kept of approved queries and suggestions, on both databases (S2.30)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from remit.errors import Outdated
from remit.model.data import Column, EngineKind, Parameter, ParameterType, Query, QueryStatus
from remit.storage.database import Database
from remit.storage.queries import Queries

NOW = datetime(2026, 11, 28, 12, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)

QUERY = Query(
    id="q1",
    tenant="default",
    datasource="d1",
    name="Orders \x00 of \ud800",
    description="of a day",
    sql="SELECT * FROM orders WHERE day = {{day}}",
    dialect=EngineKind.SQLITE,
    is_enabled=True,
    parameters=(
        Parameter(name="day", type=ParameterType.DATE, description="which", example="2026-11-28"),
        Parameter(
            name="shops", type=ParameterType.STRINGS, required=False, default=["a", "ü \U0001f600"]
        ),
    ),
    output_columns=(Column(name="id", type="integer", description="its number"),),
    constraints="not before 2020",
    status=QueryStatus.APPROVED,
    suggested_by="user:ann",
    suggestion_context="asked daily",
    changed=("sql",),
    tags=("daily", "shop"),
    allows_modification=True,
    reviewed_by="user:bea",
    reviewed=LATER,
    rejection_reason="",
    parent="q0",
    created=NOW,
    updated=LATER,
)


@pytest.fixture
def queries(database: Database) -> Queries:
    return Queries(database)


async def test_what_is_written_is_read_again_with_its_next_version(queries: Queries) -> None:
    await queries.write_queries([QUERY])

    found = await queries.find_query("default", "q1")

    assert found == replace(QUERY, name="Orders \\u0000 of \\ud800", version=1)


async def test_one_that_is_deleted_is_found_only_by_those_who_ask_for_it(queries: Queries) -> None:
    await queries.write_queries([replace(QUERY, deleted=LATER), replace(QUERY, id="q2")])

    assert await queries.find_query("default", "q1") is None
    assert (await queries.find_query("default", "q1", deleted=True)) is not None
    assert [each.id for each in await queries.queries("default")] == ["q2"]


async def test_queries_come_oldest_first_by_status_datasource_and_parent(queries: Queries) -> None:
    pending = replace(QUERY, id="q2", status=QueryStatus.PENDING, created=LATER, parent="q1")
    elsewhere = replace(QUERY, id="q3", datasource="d2", created=LATER, parent="")
    await queries.write_queries([pending, elsewhere, QUERY])

    async def ids(**asked: object) -> list[str]:
        return [each.id for each in await queries.queries("default", **asked)]  # pyright: ignore[reportArgumentType] - each case gives one of them

    assert await ids() == ["q1", "q2", "q3"]
    assert await ids(status=QueryStatus.PENDING) == ["q2"]
    assert await ids(datasource="d2") == ["q3"]
    assert await ids(parent="q1") == ["q2"]


async def test_tenants_see_nothing_of_one_another(queries: Queries) -> None:
    await queries.write_queries([QUERY, replace(QUERY, tenant="acme", name="theirs")])

    await queries.note_use("acme", "q1", LATER)

    own = await queries.find_query("default", "q1")
    theirs = await queries.find_query("acme", "q1")
    assert own is not None
    assert theirs is not None
    assert (own.usage_count, theirs.usage_count, theirs.name) == (0, 1, "theirs")
    assert [each.tenant for each in await queries.queries("acme")] == ["acme"]


async def test_whoever_was_slower_writes_nothing_at_all(queries: Queries) -> None:
    other = replace(QUERY, id="q2")
    await queries.write_queries([QUERY, other])
    seen = replace(QUERY, version=1, name="mine")
    await queries.write_queries([replace(seen, name="theirs")])

    with pytest.raises(Outdated):
        await queries.write_queries([replace(other, version=1, name="mine"), seen])
    with pytest.raises(Outdated):
        await queries.write_queries([QUERY])

    assert [each.name for each in await queries.queries("default")] == [
        "theirs",
        "Orders \\u0000 of \\ud800",
    ]


async def test_of_many_who_write_at_once_one_succeeds(queries: Queries) -> None:
    await queries.write_queries([QUERY])
    written: list[str] = []

    async def write(name: str) -> None:
        try:
            await queries.write_queries([replace(QUERY, version=1, name=name)])
        except Outdated:
            return
        written.append(name)

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(write, f"by {number}")

    found = await queries.find_query("default", "q1")
    assert found is not None
    assert written == [found.name]


async def test_uses_are_counted_beside_changes(queries: Queries) -> None:
    await queries.write_queries([QUERY])
    seen = await queries.find_query("default", "q1")
    assert seen is not None

    await queries.note_use("default", "q1", NOW)
    await queries.note_use("default", "q1", LATER)
    await queries.write_queries([replace(seen, name="another")])  # not outdated by the uses

    found = await queries.find_query("default", "q1")
    assert found is not None
    assert (found.name, found.usage_count, found.last_used) == ("another", 2, LATER)

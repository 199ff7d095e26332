"""Looking at the data for new values and likely keys (S2.44)."""

from typing import Any

import anyio
import pytest
from tests.data.ontology.conftest import Place

from remit.model.ontology import ItemKind

VISITS = (
    "CREATE TABLE visits (id INTEGER PRIMARY KEY, customer INTEGER, kind VARCHAR(20),"
    " note VARCHAR(200), password VARCHAR(20), product_id VARCHAR(20))"
)


def rows(count: int, start: int = 1) -> str:
    values = ", ".join(
        f"({i}, {i % 5 + 1}, '{('web', 'shop')[i % 2]}', 'note {i}', 'same', '{i % 5 + 1}')"
        for i in range(start, start + count)
    )
    return f"INSERT INTO visits VALUES {values}"  # noqa: S608 - numbers


def customers(count: int) -> str:
    values = ", ".join(f"({i}, 'Customer {i}', 'City {i}', NULL)" for i in range(1, count + 1))
    return f"INSERT INTO customers VALUES {values}"  # noqa: S608 - numbers


async def look_at(place: Place, *statements: str) -> dict[tuple[str, str], Any]:
    """Fill the database, look at its schema, and return what a scan finds, by type and column."""
    await place.run(VISITS, *statements)
    await place.ann.calls("refresh_schema")
    scanned = await place.ann.calls("scan_data_changes", tables="visits")
    assert scanned["skipped"] == []
    return {(each["type"], each["column"]): each for each in scanned["changes"]}


async def test_few_values_and_likely_keys_are_found_and_nothing_else(place: Place) -> None:
    found = await look_at(place, customers(5), rows(20))

    assert set(found) == {("new_enum_value", "kind"), ("new_fk_pattern", "customer")}
    kind = found["new_enum_value", "kind"]
    assert (kind["old"], kind["new"]) == ([], ["shop", "web"])
    key = found["new_fk_pattern", "customer"]
    assert key["new"]["to_table"].endswith(".customers")
    assert (key["new"]["to_column"], key["new"]["match_rate"]) == ("id", 1.0)

    await place.ann.calls("approve_all_changes")
    related = await place.body(ItemKind.RELATIONSHIP, "visit->customer")
    assert related is not None
    assert (related["cardinality"], related["detection"], related["confidence"]) == (
        "N:1",
        "data_scan",
        1.0,
    )
    assert [join["from_column"] for join in related["joins"]] == ["customer"]
    table = kind["table"]
    column = await place.body(ItemKind.COLUMN, f"{table}.kind")
    assert column is not None
    assert [each["value"] for each in column["enum_values"]] == ["shop", "web"]
    again = await place.ann.calls("scan_data_changes")
    assert ("visits", again["changes"]) == (table.split(".")[1], [])


async def test_a_key_of_which_too_few_values_are_found_is_none(place: Place) -> None:
    found = await look_at(place, customers(4), rows(20))

    assert ("new_fk_pattern", "customer") not in found


async def test_only_what_is_new_is_proposed_and_what_was_rejected_never_again(
    sqlite_place: Place,
) -> None:
    found = await look_at(sqlite_place, customers(5), rows(20))
    ann = sqlite_place.ann
    await ann.calls("approve_change", change_id=found["new_enum_value", "kind"]["change_id"])
    await ann.calls("reject_change", change_id=found["new_fk_pattern", "customer"]["change_id"])
    await sqlite_place.run(
        "UPDATE visits SET kind = 'phone' WHERE id < 4",
        "UPDATE visits SET kind = 'fax' WHERE id = 9",
    )

    scanned = await ann.calls("scan_data_changes", tables="VISITS, customers")
    (change,) = scanned["changes"]
    assert (change["old"], change["new"]) == (["shop", "web"], ["fax", "phone"])
    assert (await ann.calls("scan_data_changes"))["changes"] == []  # it waits already
    await ann.calls("reject_change", change_id=change["change_id"])
    await sqlite_place.run("UPDATE visits SET kind = 'post' WHERE id = 10")

    (last,) = (await ann.calls("scan_data_changes"))["changes"]
    assert last["new"] == ["post"]


@pytest.mark.parametrize("stated", ["1:1", "1:N", "unknown"])
async def test_several_rows_that_point_to_one_refute_another_cardinality(
    sqlite_place: Place, stated: str
) -> None:
    found = await look_at(sqlite_place, customers(5), rows(20))
    ann = sqlite_place.ann
    await ann.calls("approve_change", change_id=found["new_fk_pattern", "customer"]["change_id"])
    ends = {"from_entity": "visit", "to_entity": "customer"}
    await ann.calls("update_relationship", **ends, cardinality=stated)

    changes = (await ann.calls("scan_data_changes", tables="visits"))["changes"]

    (change,) = [each for each in changes if each["type"] == "cardinality_change"]
    assert (change["column"], change["old"], change["new"]) == ("customer", stated, "N:1")
    await ann.calls("approve_change", change_id=change["change_id"])
    related = await sqlite_place.body(ItemKind.RELATIONSHIP, "visit->customer")
    assert related is not None
    assert related["cardinality"] == "N:1"
    assert (await ann.calls("scan_data_changes", tables="visits"))["changes"] == []


async def test_rows_that_each_point_to_one_of_their_own_refute_nothing(
    sqlite_place: Place,
) -> None:
    found = await look_at(sqlite_place, customers(5), rows(20))
    ann = sqlite_place.ann
    await ann.calls("approve_change", change_id=found["new_fk_pattern", "customer"]["change_id"])
    await sqlite_place.run("DELETE FROM visits WHERE id > 5")

    changes = (await ann.calls("scan_data_changes", tables="visits"))["changes"]

    assert [each["type"] for each in changes] == []


async def test_two_who_scan_at_once_propose_everything_once(sqlite_place: Place) -> None:
    await sqlite_place.run(VISITS, customers(5), rows(20))
    await sqlite_place.ann.calls("refresh_schema")

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(sqlite_place.ann.calls, "scan_data_changes")

    assert len(await sqlite_place.named("new_enum_value")) == 1
    assert len(await sqlite_place.named("new_fk_pattern")) == 1


async def test_what_was_said_of_a_value_stays_with_it(sqlite_place: Place) -> None:
    found = await look_at(sqlite_place, rows(20))
    ann = sqlite_place.ann
    await ann.calls(
        "update_column",
        table="visits",
        column="kind",
        enum_values=[{"value": "web", "label": "online"}],
    )

    await ann.calls("approve_change", change_id=found["new_enum_value", "kind"]["change_id"])

    column = await sqlite_place.body(ItemKind.COLUMN, "main.visits.kind")
    assert column is not None
    assert column["enum_values"] == [
        {"value": "web", "label": "online"},
        {"value": "shop", "label": ""},
    ]


async def test_more_than_fifty_values_are_not_few(sqlite_place: Place) -> None:
    for number, expected in ((50, True), (51, False)):
        values = ", ".join(f"({i}, 1, 'kind {i % number}', '', '', '')" for i in range(200))
        found = await look_at_again(sqlite_place, f"INSERT INTO visits VALUES {values}")  # noqa: S608 - numbers
        assert ("kind" in found) is expected


async def look_at_again(place: Place, fill: str) -> set[str]:
    """Fill the table anew, and return the columns of few values that a scan finds."""
    await place.run("DROP TABLE IF EXISTS visits", VISITS, fill)
    await place.ann.calls("refresh_schema")
    scanned = await place.ann.calls("scan_data_changes", tables="visits")
    for each in scanned["changes"]:
        await place.ann.calls("reject_change", change_id=each["change_id"])
    return {each["column"] for each in scanned["changes"] if each["type"] == "new_enum_value"}


async def test_secrets_and_sensitive_tables_are_passed_over(sqlite_place: Place) -> None:
    values = ", ".join(f"({i}, 'a', 'b')" for i in range(20))
    columns = "(id INTEGER PRIMARY KEY, kind VARCHAR(9), password VARCHAR(9))"
    await sqlite_place.run(
        *(f"CREATE TABLE {name} {columns}" for name in ("extra_plain", "extra_secret")),
        f"INSERT INTO extra_plain VALUES {values}",  # noqa: S608 - numbers
        f"INSERT INTO extra_secret VALUES {values}",  # noqa: S608 - numbers
    )
    await sqlite_place.ann.calls("refresh_schema")

    scanned = await sqlite_place.ann.calls("scan_data_changes")

    assert [(each["table"], each["column"]) for each in scanned["changes"]] == [
        ("main.extra_plain", "kind")
    ]


async def test_a_table_that_may_not_be_used_is_not_looked_at(sqlite_place: Place) -> None:
    await sqlite_place.ann.calls("refresh_schema")

    failed = await sqlite_place.ann.fails("scan_data_changes", tables="orders,salaries")

    assert failed.code == "table_not_found"


async def test_what_cannot_be_looked_at_is_skipped_with_the_reason(sqlite_place: Place) -> None:
    await look_at(sqlite_place, rows(20))
    await sqlite_place.run("ALTER TABLE visits RENAME COLUMN kind TO sort")

    scanned = await sqlite_place.ann.calls("scan_data_changes", tables="visits")

    assert [each["name"] for each in scanned["skipped"]] == ["main.visits.kind"]


async def test_names_with_quotes_in_them_are_only_names(place: Place) -> None:
    odd = '"extra ""; DROP TABLE visits; --"'
    column = '"kin""d"'
    values = ", ".join(f"({i}, 'a')" for i in range(4))
    found = await look_at(
        place,
        f"CREATE TABLE {odd} (id INTEGER PRIMARY KEY, {column} VARCHAR(9))",
        f"INSERT INTO {odd} VALUES {values}",  # noqa: S608 - numbers
    )
    assert found == {}

    scanned = await place.ann.calls("scan_data_changes")

    assert [each["column"] for each in scanned["changes"]] == ['kin"d']
    assert scanned["skipped"] == []
    assert (await place.ann.calls("refresh_schema"))["counts"] == {}  # nothing was dropped

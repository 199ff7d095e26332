"""What is seen of tables that are too large to be read whole (issue 9, must show 4)."""

from pathlib import Path

import pytest
from tests.data.reading.shops import Shop, call, open_shop
from tests.data.reading.tables import BIG, executing

from remit.data.probes.columns import estimated_distinct
from remit.data.probes.statements import EXAMINED
from remit.model.data import EngineKind

ROWS = 300_000


async def test_some_rows_are_examined_and_what_follows_is_called_an_estimate(shop: Shop) -> None:
    probe = await call(shop.desk(), "probe_column", table="big", column="id")

    assert (probe["row_count"], probe["row_count_is_estimate"]) == (ROWS, False)
    assert 0.8 * EXAMINED < probe["rows_examined"] <= EXAMINED
    assert (probe["is_estimate"], probe["sampling"]) == (True, "spread")


@pytest.mark.parametrize(
    ("column", "distinct", "null_rate"),
    [("id", ROWS, 0), ("pair", 150_000, 0), ("shard", 37, 0), ("name", 225_000, 0.25)],
)
async def test_estimates_are_near_what_is_there(
    shop: Shop, column: str, distinct: int, null_rate: float
) -> None:
    probe = await call(shop.desk(), "probe_column", table="big", column=column)

    assert probe["distinct_count"] == pytest.approx(distinct, rel=0.1)
    assert probe["null_rate"] == pytest.approx(null_rate, abs=0.02)


async def test_rows_from_everywhere_are_examined(shop: Shop) -> None:
    probe = await call(shop.desk(), "probe_column", table="big", column="id")

    assert probe["min"] < 0.05 * ROWS
    assert probe["max"] > 0.95 * ROWS


async def test_a_probe_of_the_same_table_says_the_same(shop: Shop) -> None:
    one = await call(shop.desk(), "probe_column", table="big", column="pair")

    assert await call(shop.desk(), "probe_column", table="big", column="pair") == one


async def test_of_a_view_the_first_rows_are_examined_and_that_is_said(shop: Shop) -> None:
    probe = await call(shop.desk(), "probe_column", table="many", column="shard")

    assert (probe["sampling"], probe["rows_examined"]) == ("first", EXAMINED)
    assert probe["is_estimate"]
    assert probe["distinct_count"] == 37


async def test_a_table_that_cannot_be_looked_at_here_and_there_is_from_its_beginning(
    template: Path, tmp_path: Path
) -> None:
    location = str(tmp_path / "bare.sqlite")
    with executing(EngineKind.SQLITE, location) as execute:
        execute("CREATE TABLE big (id integer PRIMARY KEY, name text) WITHOUT ROWID")
        execute(f"{BIG[EngineKind.SQLITE]} SELECT i, 'name' FROM n")  # noqa: S608 - a test's own

    async with open_shop(template, tmp_path, EngineKind.SQLITE, location) as shop:
        probe = await call(shop.desk(), "probe_column", table="big", column="name")

    assert (probe["sampling"], probe["sample_values"]) == ("first", ["name"])


async def test_a_join_of_a_large_table_is_looked_at_in_some_rows(shop: Shop) -> None:
    seen = await call(shop.desk(), "probe_relationship", from_entity="many", to_entity="big")

    (joined,) = seen["relationships"]
    assert (joined["rows_examined"], joined["is_estimate"]) == (EXAMINED, True)
    assert (joined["match_rate"], joined["cardinality"]) == (1.0, "1:1")


@pytest.mark.parametrize(
    ("examined", "distinct", "single", "total", "expected"),
    [
        (100, 40, 10, 100, 40),  # all was looked at
        (0, 0, 0, 0, 0),
        (0, 0, 0, 1000, 0),
        (100, 100, 100, 1000, 1000),  # no value came twice
        (100, 5, 0, 1000, 5),  # every value came again
        (100, 60, 40, 1000, 94),
    ],
)
def test_distinct_values_are_estimated_by_those_that_came_once(
    examined: int, distinct: int, single: int, total: int, expected: int
) -> None:
    assert estimated_distinct(examined, distinct, single, total) == expected

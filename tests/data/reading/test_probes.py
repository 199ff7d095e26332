"""Samples, and what is seen of columns, in each kind of database (S2.10, 25, 26 and 28)."""

from pathlib import Path

import pytest
from tests.data.reading.shops import Shop, call, open_shop, refused
from tests.data.reading.tables import CUSTOMERS

from remit.data.ontology.columns import ColumnMeaning, EnumValue
from remit.model.data import DataCode, EngineKind
from remit.model.ontology import ColumnRole, ItemKind


async def test_a_sample_has_rows_and_says_that_there_are_more(shop: Shop) -> None:
    sample = await call(shop.desk(), "sample", table="orders", limit=3)

    assert [column["name"] for column in sample["columns"]] == [
        "id",
        "customer_id",
        "vault_id",
        "status",
        "total",
    ]
    assert len(sample["rows"]) == sample["row_count"] == 3
    assert sample["truncated"]


async def test_a_sample_of_all_rows_is_not_truncated(shop: Shop) -> None:
    sample = await call(shop.desk(), "sample", table="visits", limit=100)

    assert sample["row_count"] == 100
    assert not sample["truncated"]


async def test_a_sample_withholds_columns_with_names_of_secrets(shop: Shop) -> None:
    sample = await call(shop.desk(), "sample", table="customers")

    assert sample["withheld_columns"] == ["password_hash"]
    assert "hash" not in str(sample["rows"])


async def test_a_sample_is_kept_among_what_ran(shop: Shop) -> None:
    await call(shop.desk(), "sample", table="customers")

    (kept,) = await shop.stores.executions.executions("default", limit=5)
    assert kept.tool == "sample"
    assert kept.tables[0].endswith(".customers")


@pytest.mark.parametrize("table", ["vault", "no_such_table", "sqlite_schema", "pg_class"])
async def test_a_table_that_may_not_be_used_is_as_one_that_is_not_there(
    shop: Shop, table: str
) -> None:
    other = await refused(shop.desk(), "sample", table="zzzz")

    failure = await refused(shop.desk(), "sample", table=table)

    assert failure.code == DataCode.TABLE_NOT_FOUND
    assert str(failure) == str(other).replace("zzzz", table)


async def test_a_misspelled_table_gets_the_nearest_that_may_be_used(shop: Shop) -> None:
    failure = await refused(shop.desk(), "sample", table="custmers")

    assert "'customers'" in str(failure)
    assert "vault" not in str(await refused(shop.desk(), "sample", table="valt"))


async def test_a_column_is_counted_exactly_where_that_is_cheap(shop: Shop) -> None:
    probe = await call(shop.desk(), "probe_column", table="customers", column="email")

    assert probe["row_count"] == probe["rows_examined"] == CUSTOMERS
    assert (probe["row_count_is_estimate"], probe["is_estimate"]) == (False, False)
    assert probe["distinct_count"] == 45
    assert probe["null_rate"] == 0.25
    assert probe["cardinality_ratio"] == 1.0
    assert (probe["min_length"], probe["max_length"]) == (14, 15)
    assert (probe["min"], probe["max"]) == ("c10@example.org", "c9@example.org")
    assert len(probe["sample_values"]) == 45


async def test_values_come_commonest_first(shop: Shop) -> None:
    probe = await call(shop.desk(), "probe_column", table="orders", column="status")

    assert probe["sample_values"] == ["paid", "open"]
    assert probe["role"] == "dimension"


async def test_an_empty_table_has_nothing_and_says_so(shop: Shop) -> None:
    probe = await call(shop.desk(), "probe_column", table="empties", column="note")

    assert (probe["row_count"], probe["distinct_count"], probe["null_rate"]) == (0, 0, 0.0)
    assert (probe["min"], probe["max"], probe["max_length"]) == (None, None, None)
    assert probe["joinability"] == {"is_joinable": False, "reason": "no_values"}


@pytest.mark.parametrize(
    ("table", "column", "reason"),
    [
        ("customers", "id", "primary_key"),
        ("orders", "customer_id", "foreign_key"),
        ("customers", "email", "unique_values"),
        ("orders", "status", "few_values"),
        ("customers", "joined", "type_excluded"),
        ("orders", "vault_id", "few_values"),
        ("visits", "note", "too_long"),
    ],
)
async def test_a_column_is_fit_to_join_by_or_not(
    shop: Shop, table: str, column: str, reason: str
) -> None:
    probe = await call(shop.desk(), "probe_column", table=table, column=column)

    assert probe["joinability"]["reason"] == reason


@pytest.mark.parametrize(
    ("table", "column", "role"),
    [
        ("customers", "id", "identifier"),
        ("orders", "customer_id", "identifier"),
        ("orders", "total", "measure"),
        ("customers", "joined", "dimension"),
        ("customers", "email", "attribute"),
    ],
)
async def test_a_role_is_inferred_where_nobody_has_stated_one(
    shop: Shop, table: str, column: str, role: str
) -> None:
    probe = await call(shop.desk(), "probe_column", table=table, column=column)

    assert (probe["role"], probe["role_is_inferred"]) == (role, True)


async def test_what_is_stated_of_a_column_is_told(shop_in_sqlite: Shop) -> None:
    meaning = ColumnMeaning(
        schema="main",
        table="orders",
        column="status",
        description="how far it is",
        role=ColumnRole.ATTRIBUTE,
        enum_values=(EnumValue(value="paid", label="Paid for"),),
    )
    await shop_in_sqlite.refresh()
    await shop_in_sqlite.know(ItemKind.COLUMN, meaning)

    probe = await call(shop_in_sqlite.desk(), "probe_column", table="orders", column="status")

    assert (probe["role"], probe["role_is_inferred"]) == ("attribute", False)
    assert probe["description"] == "how far it is"
    assert probe["enum_labels"] == [{"value": "paid", "label": "Paid for"}]


async def test_values_of_secrets_are_not_shown(shop: Shop) -> None:
    probe = await call(shop.desk(), "probe_column", table="customers", column="password_hash")

    assert probe["is_sensitive"]
    assert probe["distinct_count"] == CUSTOMERS
    assert (probe["min"], probe["max"], probe["sample_values"]) == (None, None, [])


async def test_values_of_sensitive_tables_are_not_shown_by_the_way(
    template: Path, kind: EngineKind, location: str, tmp_path: Path
) -> None:
    async with open_shop(template, tmp_path, kind, location, sensitive=["customers"]) as shop:
        probe = await call(shop.desk(), "probe_column", table="customers", column="name")
        await call(shop.desk(), "sample", table="customers")
        (kept,) = await shop.stores.executions.executions("default", limit=5)

    assert (probe["is_sensitive"], probe["sample_values"], probe["min"]) == (True, [], None)
    assert "sensitive" in kept.flags


@pytest.mark.parametrize(("column", "value"), [("Total $ (net)", 7), ("select", "a")])
async def test_names_are_quoted_whatever_is_in_them(shop: Shop, column: str, value: object) -> None:
    sample = await call(shop.desk(), "sample", table='odd "name')
    probe = await call(shop.desk(), "probe_column", table='odd "name', column=column)

    assert sample["rows"] == [[1, 7, "a"]]
    assert probe["sample_values"] == [value]


async def test_a_column_that_is_not_there_gets_the_nearest(shop: Shop) -> None:
    failure = await refused(shop.desk(), "probe_column", table="orders", column="totl")

    assert failure.code == DataCode.COLUMN_NOT_FOUND
    assert "'total'" in str(failure)


async def test_a_batch_has_an_error_for_each_column_that_fails(shop: Shop) -> None:
    columns = [
        {"table": "orders", "column": "total"},
        {"table": "vault", "column": "note"},
        {"table": "orders", "column": "nope"},
        {"table": "spenders", "column": "spent"},
    ]

    batch = await call(shop.desk(), "probe_columns", columns=columns)

    assert [result.get("error", {}).get("code") for result in batch["results"]] == [
        None,
        "table_not_found",
        "column_not_found",
        None,
    ]
    assert batch["failed"] == 2
    assert batch["results"][3]["probe"]["row_count"] == CUSTOMERS

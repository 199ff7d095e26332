"""Columns of every type are looked at, in each kind of database (S2.10, 25)."""

from pathlib import Path
from typing import Final

import pytest
from tests.data.reading.shops import call, open_shop
from tests.data.reading.tables import executing

from remit.data.probes.families import Family, family_of
from remit.model.data import EngineKind

UUID: Final = "00000000-0000-0000-0000-000000000001"
MOMENT: Final = "2026-01-02T03:04:05+00:00"

# column, type, value, and what is shown of it; None where no value is shown
COLUMNS: Final = {
    EngineKind.SQLITE: [
        ("a", "integer", "7", 7),
        ("b", "real", "1.5", 1.5),
        ("c", "varchar(9)", "'x'", "x"),
        ("d", "blob", "x'00ff'", None),
        ("e", "", "'free'", "free"),
        ("f", "boolean", "1", 1),
        ("g", "datetime", "'2026-01-02 03:04:05'", "2026-01-02 03:04:05"),
        ("h", "decimal(9,2)", "2.5", 2.5),
        ("i", "text", "'has a \"quote\" and 🦆'", 'has a "quote" and 🦆'),
        ("j", "integer", "'no number'", "no number"),
    ],
    EngineKind.POSTGRESQL: [
        ("a", "bigint", "7", 7),
        ("b", "double precision", "'NaN'", "NaN"),
        ("c", "character varying(9)", "'x'", "x"),
        ("d", "bytea", "'\\x00ff'", None),
        ("e", "uuid", "'00000000-0000-0000-0000-000000000001'", UUID),
        ("f", "boolean", "true", True),
        ("g", "timestamptz", "'2026-01-02 03:04:05+00'", MOMENT),
        ("h", "numeric(9,2)", "2.5", "2.50"),
        ("i", "jsonb", "'{\"k\": 1}'", '{"k": 1}'),
        ("j", "integer[]", "'{1,2}'", "{1,2}"),
        ("k", "json", "'[1]'", "[1]"),
        ("l", "interval", "'1 day'", "P1D"),
        ("m", "inet", "'::1'", "::1/128"),
        ("n", "point", "'(1,2)'", "(1,2)"),
        ("o", "date", "'infinity'", "infinity"),
        ("p", "mood", "'happy'", "happy"),
        ("q", "xml", "'<a/>'", "<a/>"),
        ("r", '"char"', "'c'", "c"),
    ],
    EngineKind.DUCKDB: [
        ("a", "HUGEINT", "7", 7),
        ("b", "DOUBLE", "'nan'", "NaN"),
        ("c", "VARCHAR", "'x'", "x"),
        ("d", "BLOB", "'\\x00'", None),
        ("e", "UUID", "'00000000-0000-0000-0000-000000000001'", UUID),
        ("f", "BOOLEAN", "true", True),
        ("g", "TIMESTAMP WITH TIME ZONE", "'2026-01-02 03:04:05+00'", MOMENT),
        ("h", "DECIMAL(9,2)", "2.5", "2.50"),
        ("i", "STRUCT(k INTEGER)", "{'k': 1}", "{'k': 1}"),
        ("j", "INTEGER[]", "[1, 2]", "[1, 2]"),
        ("k", "MAP(VARCHAR, INTEGER)", "MAP {'k': 1}", "{k=1}"),
        ("l", "INTERVAL", "INTERVAL 1 DAY", "1 day"),
        ("m", "TIME", "'03:04:05'", "03:04:05"),
        ("n", "BIT", "'101'", "101"),
        ("o", "DATE", "'2026-01-02'", "2026-01-02"),
        ("p", "ENUM('happy')", "'happy'", "happy"),
        ("q", "UTINYINT", "7", 7),
    ],
}


@pytest.fixture
def types_at(kind: EngineKind, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    columns = COLUMNS[kind]
    made = str(tmp_path / f"types.{kind.value}")
    location: str = (
        request.getfixturevalue("postgres_url") if kind is EngineKind.POSTGRESQL else made
    )
    with executing(kind, location) as execute:
        if kind is EngineKind.POSTGRESQL:
            execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
        declared = ", ".join(f"{name} {declared}" for name, declared, _, _ in columns)
        values = ", ".join(value for _, _, value, _ in columns)
        nulls = ", ".join("NULL" for _ in columns)
        execute(f"CREATE TABLE orders ({declared})")
        execute(f"INSERT INTO orders VALUES ({values}), ({nulls})")  # noqa: S608 - a test's own
    return location


async def test_columns_of_every_type_can_be_probed(
    template: Path, kind: EngineKind, types_at: str, tmp_path: Path
) -> None:
    columns = [{"table": "orders", "column": name} for name, *_ in COLUMNS[kind]]

    async with open_shop(template, tmp_path, kind, types_at) as shop:
        batch = await call(shop.desk(), "probe_columns", columns=columns)
        sample = await call(shop.desk(), "sample", table="orders")

    errors = [each["error"] for each in batch["results"] if "error" in each]
    assert errors == []
    probes = [result["probe"] for result in batch["results"]]
    assert {(each["null_rate"], each["distinct_count"]) for each in probes} == {(0.5, 1)}
    assert [next(iter(each["sample_values"]), None) for each in probes] == [
        value for *_, value in COLUMNS[kind]
    ]
    assert sample["row_count"] == 2


@pytest.mark.parametrize(
    ("engine", "declared", "family"),
    [
        (EngineKind.POSTGRESQL, "timestamp without time zone", Family.TIME),
        (EngineKind.POSTGRESQL, "integer[]", Family.OTHER),
        (EngineKind.POSTGRESQL, "interval", Family.OTHER),
        (EngineKind.POSTGRESQL, "point", Family.OTHER),
        (EngineKind.DUCKDB, "struct(a integer)", Family.OTHER),
        (EngineKind.DUCKDB, "decimal(18,3)", Family.NUMBER),
        (EngineKind.SQLITE, "UNSIGNED BIG INT", Family.NUMBER),
        (EngineKind.SQLITE, "NATIVE CHARACTER(70)", Family.TEXT),
        (EngineKind.SQLITE, "", Family.OTHER),
        (EngineKind.SQLITE, "mystery", Family.OTHER),
    ],
)
def test_a_declared_type_belongs_to_a_family(
    engine: EngineKind, declared: str, family: Family
) -> None:
    assert family_of(engine, declared) is family

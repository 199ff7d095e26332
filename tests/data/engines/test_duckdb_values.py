"""What DuckDB's values look like in an answer, where Python has no such ones."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb as library
import pytest
from tests.data.engines.shops import Shop

from remit.data.engines.duckdb_values import type_name

pytestmark = pytest.mark.anyio

VALUES: Sequence[tuple[str, object]] = [
    ("0.0000001::DECIMAL(18, 10)", "0.0000001000"),
    ("0::DECIMAL(18, 10)", "0.0000000000"),
    ("12.50::DECIMAL(9, 2)", "12.50"),
    ("0.1::FLOAT", 0.1),
    ("'nan'::FLOAT", "NaN"),
    ("INTERVAL 1 MONTH", "P1M"),
    ("INTERVAL '13 months 2 days 3 hours 0.5 seconds'", "P1Y1M2DT3H0.5S"),
    ("INTERVAL '1 month -1 day -90 minutes'", "P1M-1DT-1H-30M"),
    ("INTERVAL '100 hours 10 seconds'", "PT100H10S"),
    ("INTERVAL 0 DAY", "PT0S"),
    ("INTERVAL 3000000 YEAR", "P3000000Y"),
    ("DATE 'infinity'", "infinity"),
    ("TIMESTAMP '-infinity'", "-infinity"),
    ("TIMESTAMPTZ 'infinity'", "infinity"),
    ("DATE '0044-03-15 (BC)'", "0044-03-15 BC"),
    ("DATE '0044-03-15 (BC)'::TIMESTAMP", "0044-03-15T00:00:00 BC"),
    ("DATE '10000-01-01'::TIMESTAMPTZ", "10000-01-01T00:00:00+00:00"),
    ("TIMESTAMPTZ '2026-11-29 10:30:00.5+02'", "2026-11-29T08:30:00.5+00:00"),
    ("TIMESTAMP_NS '2026-11-29 10:30:00.123456789'", "2026-11-29T10:30:00.123456789"),
    ("TIME_NS '10:30:00.123456789'", "10:30:00.123456789"),
    ("'[1e400, 12345678901234567890.5, 1.10]'::JSON", ["1e400", "12345678901234567890.5", 1.1]),
    ("['{\"a\": 1}'::JSON]", [{"a": 1}]),
    ("[INTERVAL 1 MONTH, NULL]", ["P1M", None]),
    ("[DATE 'infinity']::DATE[1]", ["infinity"]),
    (
        "{'at': DATE 'infinity', 'N': {'for': INTERVAL 1 YEAR}}",
        {"at": "infinity", "N": {"for": "P1Y"}},
    ),
    ("row(1, INTERVAL 1 MONTH)", [1, "P1M"]),
    ("MAP {INTERVAL 1 MONTH: DATE 'infinity'}", {"P1M": "infinity"}),
    ("MAP {[1]: INTERVAL 1 MONTH}", {"key": [[1]], "value": ["P1M"]}),
    ("MAP {row(1, 2): '{\"a\": 1}'::JSON}", {"key": [[1, 2]], "value": [{"a": 1}]}),
    ("NULL::STRUCT(a INTERVAL)", None),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
async def test_values_are_as_json_has_them(duckdb: Shop, expression: str, expected: object) -> None:
    rows = await duckdb.read(f"SELECT {expression}")

    assert rows.rows == [[expected]]


@pytest.mark.parametrize(
    ("type_", "named"),
    [
        ("DECIMAL(9,2)", "decimal(9,2)"),
        ("ENUM('Sad', 'it''s OK')", "enum('Sad', 'it''s OK')"),
        ('STRUCT("When" TIMESTAMP)', 'struct("When" timestamp)'),
    ],
)
async def test_a_type_is_named_with_its_labels_as_they_are(type_: str, named: str) -> None:
    assert type_name(type_) == named


ELSEWHERE = """
import asyncio, sys
from tests.data.engines.shops import datasource_of
from remit.data.engines.engine import Prepared
from remit.data.engines.opening import open_engine
from remit.model.data import EngineKind

async def main():
    engine = open_engine(datasource_of(EngineKind.DUCKDB, sys.argv[1]))
    sql = "SELECT DATE '2026-01-02'::TIMESTAMPTZ, TIMESTAMPTZ '2026-01-02 23:00:00+00'::VARCHAR"
    print((await engine.read(Prepared(sql=sql), limit=1, seconds=30)).rows)
    await engine.aclose()

asyncio.run(main())
"""


async def test_the_time_zone_of_the_machine_changes_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    library.connect(str(path)).close()

    said = subprocess.run(  # DuckDB asks for the zone once a process
        [sys.executable, "-c", ELSEWHERE, str(path)],
        env={**os.environ, "TZ": "Asia/Tokyo"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert said.stdout.strip() == "[['2026-01-02T00:00:00+00:00', '2026-01-02 23:00:00+00']]"

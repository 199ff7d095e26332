"""Reads from a table of a million rows: how long they take, and how much memory (issue 9).

`python -m bench.engines` makes the table in PostgreSQL and in DuckDB, reads from it as `sample`,
`query` and `probe_column` do, and prints seconds and the growth of resident memory.
"""

import re
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

import anyio
import duckdb
import psycopg

from remit.data.engines.duckdb import open_duckdb
from remit.data.engines.engine import Engine, Prepared
from remit.data.engines.postgresql import open_postgresql
from remit.testing.services import open_postgres, postgres_programs

ROWS = 1_000_000

READS = {
    "sample 100": ("SELECT * FROM events", 100),
    "query, 1000 of all rows": ("SELECT * FROM events", 1000),
    "query, sorted": ("SELECT * FROM events ORDER BY word DESC", 1000),
    "query, grouped": ("SELECT kind, count(*), avg(amount) FROM events GROUP BY kind", 1000),
    "probe_column": (
        """SELECT count(*), count(kind), count(DISTINCT kind), min(length(word)),
        max(length(word)) FROM events""",
        1,
    ),
    "probe of a distinct column": ("SELECT count(DISTINCT word) FROM events", 1),
}

MAKE = (
    "CREATE TABLE events AS SELECT i AS id, i % 7 AS kind, md5(CAST(i AS text)) AS word, "
    "CAST(i % 1000 AS decimal(10, 2)) AS amount FROM {series}"
)


def forget_peak() -> None:
    """Have the kernel count the most memory of this process anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """Return the megabytes that this process has taken at most since then."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def allow(schema: str, table: str) -> bool:
    del schema
    return table == "events"


async def measure(name: str, engine: Engine) -> None:
    await engine.ping()
    forget_peak()
    before = peak()
    for title, (sql, limit) in READS.items():
        started = perf_counter()
        rows = await engine.read(Prepared(sql=sql), limit=limit, seconds=30)
        seconds = perf_counter() - started
        grown = peak() - before
        print(f"{name:10} {title:26} {seconds:6.3f} s {grown:6.1f} MB {len(rows.rows):5} rows")
    await engine.aclose()


def main() -> None:
    programs = postgres_programs()
    if programs is not None:
        with open_postgres(programs) as server, server.database() as url:
            with psycopg.connect(url, autocommit=True) as connection:
                series = f"generate_series(1, {ROWS}) AS s (i)"
                connection.execute(MAKE.format(series=series).encode())
                connection.execute(b"ANALYZE events")
            anyio.run(partial(measure, "postgresql", open_postgresql(url, allowed=allow)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(MAKE.format(series=f"range(1, {ROWS + 1}) AS s (i)"))
        anyio.run(partial(measure, "duckdb", open_duckdb(path, allowed=allow)))


if __name__ == "__main__":
    main()

"""The tables of a shop, in each kind of database."""

import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import duckdb
import psycopg

from remit.model.data import EngineKind

SHOP: Final = """
CREATE TABLE vault (id integer PRIMARY KEY, note varchar(40));
CREATE TABLE customers (
    id integer PRIMARY KEY, name varchar(40) NOT NULL, email varchar(80), region varchar(10),
    password_hash varchar(64), joined date);
CREATE TABLE orders (
    id integer PRIMARY KEY, customer_id integer REFERENCES customers(id),
    vault_id integer REFERENCES vault(id), status varchar(12), total numeric(10,2));
CREATE TABLE visits (
    id integer PRIMARY KEY, customer_id integer, customer varchar(40), note varchar(1000));
CREATE TABLE empties (id integer, note varchar(10));
CREATE TABLE "odd ""name" (id integer PRIMARY KEY, "Total $ (net)" integer, "select" varchar(5));
CREATE VIEW spenders AS
    SELECT customer_id, sum(total) AS spent FROM orders GROUP BY customer_id
"""
"""Makes the shop's tables in every engine; `vault` is not let be used."""

BIG: Final[Mapping[EngineKind, str]] = {
    EngineKind.SQLITE: (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
        " INSERT INTO big"
    ),
    EngineKind.POSTGRESQL: (
        "WITH n AS (SELECT i FROM generate_series(1, 300000) AS s(i)) INSERT INTO big"
    ),
    EngineKind.DUCKDB: (
        "INSERT INTO big WITH n AS (SELECT CAST(range AS INTEGER) AS i FROM range(1, 300001))"
    ),
}
"""How 300,000 numbers are made in each engine."""

CUSTOMERS: Final = 60
ORDERS: Final = 300
VISITS: Final = 100

ALLOWED: Final = ("customers", "orders", "visits", "empties", "spenders", "big", "many", "odd*")


def _rows() -> Iterator[tuple[str, Sequence[object]]]:
    yield "vault", (1, "the code is 1234")
    for i in range(1, CUSTOMERS + 1):
        email = None if i % 4 == 0 else f"c{i}@example.org"
        region = ("north", "south", "west")[i % 3]
        joined = f"2026-01-{i % 28 + 1:02}"
        yield "customers", (i, f"Customer {i}", email, region, f"hash{i}", joined)
    for i in range(1, ORDERS + 1):
        status = "paid" if i % 3 else "open"
        yield "orders", (i, i % CUSTOMERS + 1, 1, status, f"{i}.50")
    yield '"odd ""name"', (1, 7, "a")
    for i in range(1, VISITS + 1):
        customer = 1000 + i if i % 10 == 0 else i % 5 + 1
        yield "visits", (i, customer, f"Customer {i}", "x" * (900 if i == 7 else i % 3))


def _texts() -> Iterator[str]:
    yield from SHOP.split(";")
    for table, values in _rows():
        shown = ", ".join(
            "NULL" if value is None else str(value) if isinstance(value, int) else f"'{value}'"
            for value in values
        )
        yield f"INSERT INTO {table} VALUES ({shown})"  # noqa: S608 - a test's own values


@contextmanager
def executing(kind: EngineKind, location: str) -> Generator[Callable[[str], object]]:
    """Open a database for statements of a test's own."""
    match kind:
        case EngineKind.SQLITE:
            lite = sqlite3.connect(location)
            yield lite.execute
            lite.commit()
            lite.close()
        case EngineKind.POSTGRESQL:
            with psycopg.connect(location) as postgres:
                yield lambda text: postgres.execute(text.encode())
        case EngineKind.DUCKDB:
            with duckdb.connect(location) as duck:
                yield duck.execute


def make_shop(kind: EngineKind, location: str) -> str:
    with executing(kind, location) as execute:
        for text in _texts():
            execute(text)
        execute("CREATE TABLE big (id integer PRIMARY KEY, pair integer, shard integer, name text)")
        columns = "i, (i * 7) % 150000, i % 37, CASE WHEN i % 4 = 0 THEN NULL ELSE 'name ' || i END"
        execute("CREATE VIEW many AS SELECT id AS big_id, shard FROM big")
        execute(f"{BIG[kind]} SELECT {columns} FROM n")  # noqa: S608 - a test's own
    return location

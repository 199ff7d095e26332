"""The same small shop in each kind of database, which the tests of the engines share."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import psycopg

from remit.data.engines.engine import Engine, Prepared
from remit.data.engines.opening import open_engine
from remit.model.data import Bound, Datasource, EngineKind, Rows

A_DAY = datetime(2026, 11, 29, 10, 30, tzinfo=UTC)

TABLES = (
    """CREATE TABLE customers (id integer PRIMARY KEY, name varchar(20) NOT NULL,
    email varchar(50) UNIQUE, born date)""",
    """CREATE TABLE orders (id integer PRIMARY KEY, customer integer REFERENCES customers (id),
    amount decimal(10, 2) CHECK (amount > 0), note text)""",
    "CREATE TABLE secret (word text)",
    "CREATE VIEW words AS SELECT word FROM secret",
    """INSERT INTO customers VALUES (1, 'Ada', 'ada@example.org', '1815-12-10'),
    (2, 'Grace', 'grace@example.org', '1906-12-09'), (3, 'Edsger', NULL, NULL)""",
    "INSERT INTO orders VALUES (10, 1, 12.50, 'first'), (11, 1, 7.25, NULL), (12, 2, 100, 'x')",
    "INSERT INTO secret VALUES ('swordfish')",
)

READER = (
    "CREATE ROLE {role} LOGIN",
    "GRANT USAGE ON SCHEMA public TO {role}",
    "GRANT SELECT ON customers, orders, words TO {role}",
    "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {role}",
)

ALLOWED = ("customers", "orders", "words", "made")
"""Tables of the shop that may be used; `secret` is not among them, but a view of it is."""

ENDLESS = {
    EngineKind.SQLITE: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT max(i) FROM n",
    EngineKind.POSTGRESQL: "SELECT count(*) FROM generate_series(1, 1000000000000)",
    EngineKind.DUCKDB: "SELECT count(*) FROM range(1000000000000) a, range(1000) b",
}
"""A statement that runs until it is stopped."""

MANY_ROWS = {
    EngineKind.SQLITE: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i FROM n",
    EngineKind.POSTGRESQL: "SELECT i FROM generate_series(1, 100000000) AS n (i)",
    EngineKind.DUCKDB: "SELECT range AS i FROM range(1, 1000000000000)",
}
"""A statement of more rows than anybody waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """A shop, and what it is asked by.

    Attributes:
        look: Runs a statement past remit, and returns its rows.
    """

    kind: EngineKind
    engine: Engine
    datasource: Datasource
    url: str
    look: Callable[[str], Sequence[Sequence[object]]]

    def prepared(self, sql: str, *values: Bound) -> Prepared:
        """Return a statement with `$1` for its first value, on whichever engine."""
        if self.kind is EngineKind.SQLITE:
            sql = sql.replace("$", "?")
        return Prepared(sql=sql, values=values)

    async def read(self, sql: str, *values: Bound, limit: int = 100, seconds: float = 30) -> Rows:
        """Run what reads."""
        return await self.engine.read(self.prepared(sql, *values), limit=limit, seconds=seconds)

    async def write(self, sql: str, *values: Bound, limit: int = 100, seconds: float = 30) -> Rows:
        """Run what changes something."""
        return await self.engine.write(self.prepared(sql, *values), limit=limit, seconds=seconds)


def datasource_of(kind: EngineKind, location: str, *, concurrency: int = 60) -> Datasource:
    """Return a writable datasource with the tables of the shop."""
    return Datasource(
        id="d1",
        tenant="acme",
        name="shop",
        engine=kind,
        location=location,
        is_writable=True,
        tables=ALLOWED,
        concurrency=concurrency,
        created=A_DAY,
        updated=A_DAY,
    )


def open_shop(kind: EngineKind, location: str, *, writer: str = "", concurrency: int = 60) -> Shop:
    """Open a shop that was made."""
    datasource = datasource_of(kind, location, concurrency=concurrency)
    look = {
        EngineKind.SQLITE: look_sqlite,
        EngineKind.POSTGRESQL: look_postgresql,
        EngineKind.DUCKDB: look_duckdb,
    }[kind]
    return Shop(
        kind=kind,
        engine=open_engine(datasource, writer=writer),
        datasource=datasource,
        url=writer or location,
        look=lambda sql: look(writer or location, sql),
    )


def make_file_shop(kind: EngineKind, folder: Path) -> str:
    """Make a shop in a file, and return its path."""
    path = folder / f"shop.{kind.value}"
    look = look_sqlite if kind is EngineKind.SQLITE else look_duckdb
    for statement in TABLES:
        look(str(path), statement)
    return str(path)


def make_postgresql_shop(url: str, role: str) -> str:
    """Make a shop in an empty database, and return the URL of a role that may only read it."""
    for statement in (*TABLES, *READER):
        look_postgresql(url, statement.format(role=role))
    return url.replace("postgres@", f"{role}@")


def look_sqlite(path: str, sql: str) -> Sequence[Sequence[object]]:
    """Run a statement on a file."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(sql).fetchall()
    finally:
        connection.close()


def look_duckdb(path: str, sql: str) -> Sequence[Sequence[object]]:
    """Run a statement on a file that nobody else has open."""
    with duckdb.connect(path) as connection:
        return connection.execute(sql).fetchall()


def look_postgresql(url: str, sql: str) -> Sequence[Sequence[object]]:
    """Run a statement on a database."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []

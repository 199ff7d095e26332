"""A small shop as a datasource: the same tables and rows on every engine.

    customers (3) ◀── orders (6) ──▶ products (3)        notes (2): what no pattern below opens

Everything is worth knowing by heart: tests count on it.
"""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from remit.model.data import EngineKind

TABLES: Final = (
    """
    CREATE TABLE customers (
      id INTEGER PRIMARY KEY, name VARCHAR(80) NOT NULL, city VARCHAR(80), email VARCHAR(80)
    )
    """,
    """
    CREATE TABLE products (
      id INTEGER PRIMARY KEY, title VARCHAR(80) NOT NULL, price DECIMAL(10, 2) NOT NULL
    )
    """,
    """
    CREATE TABLE orders (
      id INTEGER PRIMARY KEY,
      customer_id INTEGER NOT NULL REFERENCES customers (id),
      product_id INTEGER NOT NULL REFERENCES products (id),
      status VARCHAR(20) NOT NULL,
      placed DATE NOT NULL
    )
    """,
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, body VARCHAR(200))",
)

ROWS: Final = (
    (
        "INSERT INTO customers VALUES (1, 'Ann', 'Bern', 'ann@shop.test'),"
        " (2, 'Bob', 'Basel', NULL), (3, 'Cleo', 'Bern', 'cleo@shop.test')"
    ),
    "INSERT INTO products VALUES (1, 'Tea', 4.50), (2, 'Cup', 12.00), (3, 'Pot', 39.90)",
    (
        "INSERT INTO orders VALUES (1, 1, 1, 'paid', '2026-01-05'),"
        " (2, 1, 2, 'paid', '2026-01-09'), (3, 2, 1, 'open', '2026-02-01'),"
        " (4, 2, 3, 'paid', '2026-02-14'), (5, 3, 1, 'sent', '2026-03-01'),"
        " (6, 3, 2, 'open', '2026-03-03')"
    ),
    "INSERT INTO notes VALUES (1, 'for our eyes'), (2, 'likewise')",
)

STATEMENTS: Final = (*TABLES, *ROWS)


def make_shop(kind: EngineKind, folder: Path, postgres_url: str = "") -> str:
    """Make the shop and return where it is: a path, or the URL of PostgreSQL.

    Args:
        kind: On which engine.
        folder: Where a file of it is made.
        postgres_url: An empty database.
    """
    if kind is EngineKind.POSTGRESQL:
        _make_on_postgresql(postgres_url)
        return postgres_url
    path = folder / f"shop.{kind.value}"
    _MAKERS[kind](path)
    return str(path)


def run_on_sqlite(path: Path, statements: Sequence[str] = STATEMENTS) -> None:
    """Run statements on a file of SQLite."""
    connection = sqlite3.connect(path)
    try:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    finally:
        connection.close()


def _make_on_duckdb(path: Path) -> None:
    import duckdb  # noqa: PLC0415 - an extra

    with duckdb.connect(str(path)) as connection:
        for statement in STATEMENTS:
            connection.execute(statement)


def _make_on_postgresql(url: str) -> None:
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in STATEMENTS:
            connection.execute(statement.encode())


_MAKERS: Final[dict[EngineKind, Callable[[Path], None]]] = {
    EngineKind.SQLITE: run_on_sqlite,
    EngineKind.DUCKDB: _make_on_duckdb,
}

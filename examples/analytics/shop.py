"""Makes the shop: the same hundred thousand rows each time, in a file of SQLite."""

import random
import sqlite3
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Final

CUSTOMERS: Final = 5_000
PRODUCTS: Final = 500
ORDERS: Final = 30_000
LINES: Final = 64_500
TOTAL: Final = CUSTOMERS + PRODUCTS + ORDERS + LINES

CITIES: Final = ("Basel", "Bern", "Chur", "Genf", "Lugano", "Luzern", "St. Gallen", "Zürich")
_KINDS: Final = ("tea", "cup", "pot", "tray", "spoon")
_STATES: Final = ("paid", "paid", "paid", "sent", "open", "returned")
_FIRST_DAY: Final = date(2025, 1, 1)

_TABLES: Final = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL,
                        email TEXT NOT NULL);
CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT NOT NULL, cents INTEGER NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers,
                     status TEXT NOT NULL, placed DATE NOT NULL);
CREATE TABLE order_lines (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders,
                          product_id INTEGER NOT NULL REFERENCES products,
                          quantity INTEGER NOT NULL);
CREATE INDEX orders_of_customer ON orders (customer_id);
CREATE INDEX lines_of_order ON order_lines (order_id);
"""


def make_shop(path: Path) -> int:
    """Make the shop at *path*, and return how many rows it has."""
    dice = random.Random(9)  # noqa: S311 - the same rows each time
    connection = sqlite3.connect(path)
    try:
        connection.executescript(_TABLES)
        connection.executemany("INSERT INTO customers VALUES (?, ?, ?, ?)", _customers(dice))
        connection.executemany("INSERT INTO products VALUES (?, ?, ?)", _products(dice))
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", _orders(dice))
        connection.executemany("INSERT INTO order_lines VALUES (?, ?, ?, ?)", _lines(dice))
        connection.commit()
    finally:
        connection.close()
    return TOTAL


def _customers(dice: random.Random) -> Iterator[tuple[object, ...]]:
    for number in range(1, CUSTOMERS + 1):
        email = f"c{number}@shop.test"
        yield number, f"Customer {number}", dice.choice(CITIES), email


def _products(dice: random.Random) -> Iterator[tuple[object, ...]]:
    for number in range(1, PRODUCTS + 1):
        yield number, f"{dice.choice(_KINDS)} no. {number}", dice.randrange(200, 9_000, 10)


def _orders(dice: random.Random) -> Iterator[tuple[object, ...]]:
    for number in range(1, ORDERS + 1):
        placed = _FIRST_DAY + timedelta(days=dice.randrange(365))
        customer = dice.randint(1, CUSTOMERS)
        yield number, customer, dice.choice(_STATES), placed.isoformat()


def _lines(dice: random.Random) -> Iterator[tuple[object, ...]]:
    for number in range(1, LINES + 1):
        order, product = dice.randint(1, ORDERS), dice.randint(1, PRODUCTS)
        yield number, order, product, dice.randint(1, 5)

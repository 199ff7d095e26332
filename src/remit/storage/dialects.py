"""The few statements that the two databases spell differently."""

from datetime import datetime
from typing import TypeVarTuple, cast

from sqlalchemy import ColumnElement, Connection, Select, Table, Text, collate, func, text
from sqlalchemy.dialects import sqlite

from remit.storage.asyncio_engine import AsyncConnection

Ts = TypeVarTuple("Ts")


def insert(connection: AsyncConnection | Connection, table: Table) -> sqlite.Insert:
    """Return an insert that can say what happens on a conflict."""
    if connection.dialect.name == "postgresql":
        # Deferred: 2 MB, which a worker on SQLite has no use for.
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - see above

        # the two say it in the same words
        return cast("sqlite.Insert", postgresql.insert(table))
    return sqlite.insert(table)


def take_turn(connection: Connection, key: int) -> None:
    """Wait until no other transaction has taken a turn under *key*; ends with the transaction.

    SQLite's writers come one by one anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


def page_of(
    query: Select[*Ts],
    connection: AsyncConnection | Connection,
    column: ColumnElement[str],
    after: str | None,
    limit: int,
) -> Select[*Ts]:
    """Return the part of a list behind *after*, at most *limit* rows, in the order of a column.

    It is that of Python, by code points, whatever the database's language.
    """
    place = collate(column, "C" if connection.dialect.name == "postgresql" else "BINARY")
    behind = query if after is None else query.where(place > after)
    return behind.order_by(place).limit(limit)


def minute_of(
    connection: AsyncConnection | Connection, time: ColumnElement[datetime]
) -> ColumnElement[str]:
    """Return the minute of a column's time in UTC, as `2027-01-31 18:00`."""
    if connection.dialect.name == "postgresql":
        return func.to_char(func.timezone("UTC", time), "YYYY-MM-DD HH24:MI", type_=Text)
    return func.substr(time, 1, 16, type_=Text)  # how SQLAlchemy spells times

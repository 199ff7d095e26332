"""The few statements that the two databases spell differently."""

from typing import cast

from sqlalchemy import Connection, Table, text
from sqlalchemy.dialects import sqlite

from remit.storage.asyncio_engine import AsyncConnection


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

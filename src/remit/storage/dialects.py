"""The few statements that the two databases spell differently."""

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection


def insert(connection: AsyncConnection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Return an insert that can say what happens on a conflict."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)

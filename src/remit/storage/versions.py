"""Rows of things with versions, each written only if it still is what its writer has seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Table, insert
from sqlalchemy.exc import IntegrityError

from remit.errors import Outdated
from remit.storage.asyncio_engine import AsyncConnection


async def add_new(
    connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Add rows that nobody has seen yet.

    Raises:
        Outdated: One of them is there already.
    """
    if not rows:
        return
    try:
        await connection.execute(insert(table), rows)
    except IntegrityError:
        raise Outdated("somebody else made the same meanwhile") from None

"""Look at a database as it is: nothing is made, migrated or written."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import func, select, text

from remit.errors import StartupError, StorageUnavailable
from remit.model.health import DatabaseHealth
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.database import database_file, is_damaged, is_missing, open_as_it_is
from remit.storage.journal import SUFFIX
from remit.storage.read_only import is_on_read_only_storage
from remit.storage.schema import is_current
from remit.storage.tables import (
    audit_chain,
    audit_cuts,
    audit_events,
    audit_journals,
    metadata,
)

LONGEST: Final = 15.0
"""Seconds after which a database that does not answer counts as away."""


_CLOSED: Final = text(
    "SELECT name FROM unnest(CAST(:names AS text[])) AS name WHERE to_regclass(name) IS NOT NULL"
    " AND NOT (has_table_privilege(name, 'SELECT') AND has_table_privilege(name, 'INSERT'))"
    " ORDER BY name"
)


async def examine(url: str, journal: Path) -> DatabaseHealth:
    """Return how the database at *url* is, and how much of *journal* it does not have yet.

    Args:
        url: As `open_database` takes it.
        journal: The folder of the journal; it need not be there.
    """
    try:
        file = database_file(url)
        if is_missing(url):
            return DatabaseHealth(name=repr(str(file)), is_new=True, backlog=_bytes_in(journal))
        try:
            async with (
                open_as_it_is(url) as database,
                database.reading(within=LONGEST) as connection,
            ):
                return await _examine(connection, database.name, journal)
        except StorageUnavailable as error:
            return DatabaseHealth(
                name="database",
                problem=str(error),
                is_file=file is not None,
                is_read_only=file is not None and is_on_read_only_storage(file),
                is_damaged=is_damaged(error.__cause__),
            )
    except StartupError as error:
        return DatabaseHealth(name="database", problem=str(error))


async def _examine(connection: AsyncConnection, name: str, journal: Path) -> DatabaseHealth:
    began, now = time.perf_counter(), datetime.now(UTC)
    skew = await _skew(connection, now)
    await connection.execute(select(1))
    ms = (time.perf_counter() - began) * 1000
    try:
        current = await connection.run_sync(is_current)
    except StartupError as error:
        return DatabaseHealth(name=name, problem=str(error), is_newer=True, ms=ms, skew=skew)
    if lacking := await _lacking_rights(connection, current=current):
        return DatabaseHealth(name=name, problem=lacking, is_read_only=True, ms=ms, skew=skew)
    if not current:
        return DatabaseHealth(name=name, is_current=False, ms=ms, skew=skew)
    return DatabaseHealth(
        name=name,
        ms=ms,
        skew=skew,
        broken_heads=await _broken_heads(connection),
        backlog=await _backlog(connection, journal),
    )


async def _skew(connection: AsyncConnection, now: datetime) -> float | None:
    if connection.dialect.name != "postgresql":
        return None
    theirs: datetime = (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()
    return (theirs - now).total_seconds()


async def _lacking_rights(connection: AsyncConnection, *, current: bool) -> str:
    """Say what the user of the database may not do, though remit has to; empty if nothing."""
    if connection.dialect.name != "postgresql":
        return ""
    if not current:
        may = await connection.execute(
            text("SELECT has_schema_privilege(current_schema(), 'CREATE')")
        )
        return "" if may.scalar_one() else "its user may make no tables"
    closed = await connection.execute(_CLOSED, {"names": list(metadata.tables)})
    names = closed.scalars().all()
    return f"its user may not read and write {', '.join(map(repr, names[:3]))}" if names else ""


async def _broken_heads(connection: AsyncConnection) -> tuple[str, ...]:
    """Return the tenants whose last row is not the one that their chain ends with."""
    broken: list[str] = []
    for head in (await connection.execute(select(audit_chain))).all():
        mine = audit_events.c.tenant == head.tenant
        query = select(audit_events.c.link, audit_events.c.hash).where(mine)
        last = (
            await connection.execute(query.order_by(audit_events.c.seq.desc()).limit(1))
        ).first()
        if last is None:  # retention may have removed every row, under a marker
            cut = select(func.max(audit_cuts.c.link)).where(audit_cuts.c.tenant == head.tenant)
            fits = ((await connection.execute(cut)).scalar() or 0) == head.length
        else:
            fits = (last.link, last.hash) == (head.length, head.hash)
        if not fits:
            broken.append(head.tenant)
    return tuple(broken)


async def _backlog(connection: AsyncConnection, journal: Path) -> int:
    rows = (await connection.execute(select(audit_journals))).all()
    taken = {row.name: row.taken for row in rows}
    return sum(
        max(0, size - taken.get(path.name, 0)) for path, size in journal_files(journal).items()
    )


def _bytes_in(journal: Path) -> int:
    return sum(journal_files(journal).values())


def journal_files(journal: Path) -> dict[Path, int]:
    """Return the files of the journal with their sizes; one that goes meanwhile is left out."""
    found: dict[Path, int] = {}
    for path in sorted(journal.glob(f"*{SUFFIX}")):
        try:
            found[path] = path.stat().st_size
        except FileNotFoundError:
            continue
    return found

"""Looks at every row of a tenant's chain, and names the first that does not fit."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Row, select

from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.chain import (
    PAGE,
    Break,
    BreakKind,
    ChainReport,
    Head,
    chained_rows,
    fits,
    heads_of,
)
from remit.storage.cuts import ForgedCut, Opener, SignedCut, all_cuts, last_signed
from remit.storage.database import Database
from remit.storage.tables import audit_events


class _Page(NamedTuple):
    """Rows as one moment saw them.

    Attributes:
        stated: The end of the chain, as it is noted beside it.
        cuts: The markers.
        damaged: The row after these that cannot be read, if that is why they end.
    """

    rows: Sequence[Row[Any]]
    stated: Head
    cuts: Sequence[SignedCut]
    damaged: Break | None


async def verify_chain(database: Database, tenant: str, opener: Opener) -> ChainReport:
    """Look at every row of *tenant*, oldest first, up to the first that does not fit.

    Args:
        database: Where they are.
        tenant: Whose.
        opener: What knows the keys that markers are signed with.

    Raises:
        StorageUnavailable: The database cannot be used.
    """
    head, rows, last_seq = Head(), 0, 0
    cuts: Sequence[SignedCut] = ()

    def report(broken: Break | None = None) -> ChainReport:
        return ChainReport(rows=rows, hash=head.hash, broken=broken, cuts=cuts)

    try:
        async for page in _pages(database, tenant, opener):
            cuts = page.cuts
            cut = Head() if not cuts else Head(length=cuts[-1].cut.link, hash=cuts[-1].cut.hash)
            if cut.length > head.length:
                head = cut  # what lies between was removed since, or before we came
            for row in page.rows:
                broken = await _problem_of(database, tenant, head, row, cut=cut.length)
                if broken is not None:
                    return report(broken)
                head, last_seq = Head(length=row.link, hash=row.hash), row.seq
                rows += 1
            if page.damaged is not None:
                return report(replace(page.damaged, link=head.length + 1))
            if not page.rows and page.stated != head:
                return report(_problem_at_the_end(head, page.stated, last_seq))
    except ForgedCut as forged:
        return report(Break(kind="marker", link=forged.link, seq=0, id="", message=str(forged)))
    return report()


async def _pages(database: Database, tenant: str, opener: Opener) -> AsyncGenerator[_Page]:
    """Give all rows in the order of the table; the last page is empty.

    Pages are read in transactions of their own: the record may be long, grows while it is read,
    and loses its beginning to retention.
    """
    seq: int | None = None
    newest = ""
    cuts: Sequence[SignedCut] = ()
    while True:
        async with database.reading() as connection:
            signed = await last_signed(connection, tenant)
            if signed != newest:
                cuts, newest = await all_cuts(connection, tenant, opener), signed
            stated = (await connection.run_sync(heads_of, [tenant]))[tenant]
            rows, damaged = await _rows_of(connection, tenant, seq)
        yield _Page(rows, stated, cuts, damaged)
        if not rows:
            return
        seq = rows[-1].seq


async def _rows_of(
    connection: AsyncConnection, tenant: str, after: int | None
) -> tuple[Sequence[Row[Any]], Break | None]:
    """Return a page of rows; one that holds what is none of its column's is no row, but a break.

    SQLite stores anything in any column, so another hand can leave a time that is none.
    """
    query = chained_rows(tenant, after=after)
    try:
        return (await connection.execute(query.limit(PAGE))).all(), None
    except (ValueError, TypeError):
        rows: list[Row[Any]] = []
    while True:
        name = query.with_only_columns(audit_events.c.seq, audit_events.c.id).limit(1)
        seq, event = (await connection.execute(name)).one()
        try:
            rows += (await connection.execute(query.limit(1))).all()
        except (ValueError, TypeError):
            text = f"row {seq} (event {event}) was changed: it holds what cannot be read"
            return rows, Break(kind="changed", link=0, seq=seq, id=str(event), message=text)
        query = chained_rows(tenant, after=seq)


async def _problem_of(
    database: Database, tenant: str, before: Head, row: Row[Any], *, cut: int
) -> Break | None:
    expected = before.length + 1
    where = f"row {row.seq} (event {row.id})"
    if row.link is None or row.hash is None:
        return _break("added", row, expected, f"{where} was added by another hand than remit's")
    if not isinstance(row.link, int):
        return _break("changed", row, expected, f"{where} was changed: its number is none")
    if row.link <= cut:
        text = f"{where} was put back by another hand: up to number {cut} all were removed"
        return _break("added", row, row.link, text)
    if row.link != expected:
        if row.link > expected and not await _has_link(database, tenant, expected):
            gone = row.link - expected
            text = f"{gone} removed before {where}: number {expected} of the record is missing"
            return _break("removed", row, expected, text)
        text = f"{where} is out of turn: it is number {row.link}, in the place of {expected}"
        return _break("reordered", row, row.link, text)
    if not fits(before, row):
        return _break("changed", row, expected, f"{where} was changed: it does not fit its hash")
    return None


def _problem_at_the_end(head: Head, stated: Head, last_seq: int) -> Break:
    if stated.length > head.length:
        gone = stated.length - head.length
        kind: BreakKind = "removed"
        text = f"{gone} removed at the end, after row {last_seq}"
    elif stated.length < head.length:
        kind, text = "added", f"the rows after number {stated.length} were added by another hand"
    else:
        kind, text = "changed", f"row {last_seq} and its hash were changed"
    return Break(
        kind=kind,
        link=min(stated.length, head.length) + (kind != "changed"),
        seq=0 if kind == "removed" else last_seq,
        id="",
        message=text,
    )


def _break(kind: BreakKind, row: Row[Any], link: int, message: str) -> Break:
    return Break(kind=kind, link=link, seq=row.seq, id=str(row.id), message=message)


async def _has_link(database: Database, tenant: str, link: int) -> bool:
    query = (
        select(audit_events.c.seq)
        .where(audit_events.c.tenant == tenant, audit_events.c.link == link)
        .limit(1)
    )
    async with database.reading() as connection:
        return (await connection.execute(query)).first() is not None

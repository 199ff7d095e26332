"""The rows of a tenant's audit, chained by hash, so that a tampered record shows.

    hash of row n  =  SHA-256(hash of row n-1, n, the row's fields)
    audit_chain    =  how many rows there are, and the hash of the last one

A row that was changed no longer fits its own hash, one that was removed leaves a number out, one
that was moved is out of turn, and rows cut off at the end are missed by `audit_chain`. Whoever can
write the database can compute a whole new chain: note the last hash elsewhere to see that too.
"""

import hashlib
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remit.storage.database import Database
from remit.storage.dialects import insert
from remit.storage.tables import audit_chain, audit_events

FIELDS: Final = (
    "id",
    "kind",
    "call_id",
    "time",
    "tenant",
    "principal",
    "role",
    "member",
    "server",
    "tool",
    "decision",
    "layer",
    "rule",
    "revision",
    "outcome",
    "code",
    "ms",
    "arguments",
    "arguments_size",
    "result",
    "result_size",
    "error",
)
"""What a hash covers, in this order for ever: rows of years ago must still fit theirs."""

PAGE: Final = 1000
"""Rows that are read at once."""

_encode: Final = msgspec.json.Encoder().encode

BreakKind = Literal["removed", "changed", "reordered", "added"]
"""What was done to the row that a report names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a tenant's chain ends: how many rows it has, and the hash of the last one."""

    length: int = 0
    hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """The first place at which a chain does not hold.

    Attributes:
        link: The row's number within its tenant, counted from 1.
        seq: The number of the row in the table; of the row after it when it was removed, and 0
            when nothing comes after it.
        id: The event id of the row that `seq` is the number of, or empty.
        message: One line for people.
    """

    kind: BreakKind
    link: int
    seq: int
    id: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """What looking at every row found.

    Attributes:
        rows: How many rows hold, from the first on.
        hash: Of the last row that holds; worth noting elsewhere.
        broken: Where the chain does not hold, or None.
    """

    rows: int
    hash: str
    broken: Break | None = None


def row_hash(previous: str, link: int, values: Sequence[object]) -> str:
    """Return the hex hash of a row.

    Args:
        previous: Hash of the row before it, empty for the first.
        link: Its number within its tenant.
        values: Of `FIELDS`, as they are stored; the time is aware UTC.
    """
    return hashlib.sha256(previous.encode() + _encode((link, values))).hexdigest()


async def heads_of(connection: AsyncConnection, tenants: Collection[str]) -> dict[str, Head]:
    """Return where the chains of *tenants* end; the caller is the only writer meanwhile."""
    query = select(audit_chain).where(audit_chain.c.tenant.in_(tenants))
    found = (await connection.execute(query)).all()
    heads = {row.tenant: Head(length=row.length, hash=row.hash) for row in found}
    return {tenant: heads.get(tenant, Head()) for tenant in tenants}


async def save_heads(connection: AsyncConnection, heads: Mapping[str, Head]) -> None:
    """Note where the chains end, in the transaction that made them longer."""
    statement = insert(connection, audit_chain)
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=["tenant"],
            set_={"length": statement.excluded.length, "hash": statement.excluded.hash},
        ),
        [
            {"tenant": tenant, "length": head.length, "hash": head.hash}
            for tenant, head in heads.items()
        ],
    )


async def verify_chain(database: Database, tenant: str) -> ChainReport:
    """Look at every row of *tenant*, oldest first, up to the first that does not fit.

    Raises:
        StorageUnavailable: The database cannot be used.
    """
    head = Head()
    last_seq = 0
    async for stated, rows in _pages(database, tenant):
        for row in rows:
            broken = await _problem_of(database, tenant, head, row)
            if broken is not None:
                return ChainReport(rows=head.length, hash=head.hash, broken=broken)
            head = Head(length=row.link, hash=row.hash)
            last_seq = row.seq
        if not rows and stated != head:
            broken = _problem_at_the_end(head, stated, last_seq)
            return ChainReport(rows=head.length, hash=head.hash, broken=broken)
    return ChainReport(rows=head.length, hash=head.hash)


async def _pages(
    database: Database, tenant: str
) -> AsyncGenerator[tuple[Head, Sequence[Row[Any]]]]:
    """Give all rows in the order of the table, each page with the end that was stated before it.

    The last page is empty. Pages are read in transactions of their own: the record may be long,
    and grows while it is read.
    """
    columns = [audit_events.c[name] for name in ("seq", "link", "hash", *FIELDS)]
    seq = 0
    while True:
        page = (
            select(*columns)
            .where(audit_events.c.tenant == tenant, audit_events.c.seq > seq)
            .order_by(audit_events.c.seq)
            .limit(PAGE)
        )
        async with database.reading() as connection:
            stated = (await heads_of(connection, [tenant]))[tenant]
            rows = (await connection.execute(page)).all()
        yield stated, rows
        if not rows:
            return
        seq = rows[-1].seq


async def _problem_of(database: Database, tenant: str, before: Head, row: Row[Any]) -> Break | None:
    expected = before.length + 1
    where = f"row {row.seq} (event {row.id})"
    if row.link is None or row.hash is None:
        return _break("added", row, expected, f"{where} was added by another hand than remit's")
    if row.link != expected:
        if row.link > expected and not await _has_link(database, tenant, expected):
            gone = row.link - expected
            text = f"{gone} removed before {where}: number {expected} of the record is missing"
            return _break("removed", row, expected, text)
        text = f"{where} is out of turn: it is number {row.link}, in the place of {expected}"
        return _break("reordered", row, row.link, text)
    if row.hash != row_hash(before.hash, row.link, _values_of(row)):
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


def _values_of(row: Row[Any]) -> list[object]:
    values = [getattr(row, name) for name in FIELDS]
    return [value if not isinstance(value, datetime) else canonical_time(value) for value in values]


def canonical_time(moment: datetime) -> str:
    """Return the one spelling of a time that is hashed: UTC, to the microsecond."""
    return moment.isoformat(timespec="microseconds")

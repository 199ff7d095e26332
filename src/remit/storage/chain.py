"""The rows of a tenant's audit, chained by hash, so that a tampered record shows.

    hash of row n  =  SHA-256(hash of row n-1, n, the row's fields)
    audit_chain    =  how many rows there are, and the hash of the last one

A row that was changed no longer fits its own hash, one that was removed leaves a number out, one
that was moved is out of turn, and rows cut off at the end are missed by `audit_chain`. Whoever can
write the database can compute a whole new chain: note the last hash elsewhere to see that too.
`verify.py` looks at it all; `cuts.py` has the markers of what retention removed.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Connection, Row, Select, select, text

from remit.storage.cuts import SignedCut
from remit.storage.tables import audit_events
from remit.storage.texts import storable

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
    "agent",
)
"""What a hash covers, in this order for ever: rows of years ago must still fit theirs.

`agent` came later, and is covered where there is one.
"""

PAGE: Final = 1000
"""Rows that are read at once."""

_encode: Final = msgspec.json.Encoder().encode

# made once, since every batch of events needs them; both databases read them
_HEAD: Final = text("SELECT length, hash FROM audit_chain WHERE tenant = :tenant")
_SAVE: Final = text(
    "INSERT INTO audit_chain (tenant, length, hash) VALUES (:tenant, :length, :hash) "
    "ON CONFLICT (tenant) DO UPDATE SET length = excluded.length, hash = excluded.hash"
)

BreakKind = Literal["removed", "changed", "reordered", "added", "marker"]
"""What was done to the row that a report names, or that a marker does not hold."""


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
            when nothing comes after it, or it is a marker that does not hold.
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
        rows: How many rows are there and hold, from the first on.
        hash: Of the last row that holds; worth noting elsewhere.
        broken: Where the chain does not hold, or None.
        cuts: The markers of rows that retention removed, oldest first; each of them holds.
    """

    rows: int
    hash: str
    broken: Break | None = None
    cuts: Sequence[SignedCut] = ()


def row_hash(previous: str, link: int, values: Sequence[object]) -> str:
    """Return the hex hash of a row.

    Args:
        previous: Hash of the row before it, empty for the first.
        link: Its number within its tenant.
        values: Of `FIELDS`, as they are stored; the time is aware UTC.
    """
    return hash_of(previous, hashed_text(link, values))


def hashed_text(link: int, values: Sequence[object]) -> bytes:
    """Return what of a row is hashed; the arguments are those of `row_hash`.

    Raises:
        UnicodeEncodeError: One of the values has no UTF-8.
    """
    return _encode((link, values if values[-1] is not None else values[:-1]))


def hash_of(previous: str, hashed: bytes) -> str:
    """Return the hex hash of a row, of which *hashed* is hashed."""
    return hashlib.sha256(previous.encode() + hashed).hexdigest()


def heads_of(connection: Connection, tenants: Collection[str]) -> dict[str, Head]:
    """Return where the chains of *tenants* end; the caller is the only writer meanwhile."""
    heads: dict[str, Head] = {}
    for tenant in tenants:
        row = connection.execute(_HEAD, {"tenant": storable(tenant)}).one_or_none()
        heads[tenant] = Head() if row is None else Head(length=row.length, hash=row.hash)
    return heads


def save_heads(connection: Connection, heads: Mapping[str, Head]) -> None:
    """Note where the chains end, in the transaction that made them longer."""
    connection.execute(
        _SAVE,
        [
            {"tenant": tenant, "length": head.length, "hash": head.hash}
            for tenant, head in heads.items()
        ],
    )


def chained_rows(tenant: str, *, after: int | None = None) -> Select[Any]:
    """Return the query of the rows of *tenant*, in their order.

    Args:
        tenant: Whose.
        after: Those with a `seq` above it; without it all, also below 0, where another hand put it.
    """
    columns = [audit_events.c[name] for name in ("seq", "link", "hash", *FIELDS)]
    rows = select(*columns).where(audit_events.c.tenant == tenant).order_by(audit_events.c.seq)
    return rows if after is None else rows.where(audit_events.c.seq > after)


def fits(before: Head, row: Row[Any]) -> bool:
    """Whether a row of `chained_rows` is as it was written, and the next one."""
    return row.link == before.length + 1 and row.hash == row_hash(
        before.hash, row.link, _values_of(row)
    )


def _values_of(row: Row[Any]) -> list[object]:
    values = [getattr(row, name) for name in FIELDS]
    return [value if not isinstance(value, datetime) else canonical_time(value) for value in values]


def canonical_time(moment: datetime) -> str:
    """Return the one spelling of a time, aware UTC, that is hashed: to the microsecond."""
    spelled = _encode(moment)[1:-2].decode()  # "…Z" without quotes and zone; three times as fast
    return f"{spelled}+00:00" if "." in spelled else f"{spelled}.000000+00:00"

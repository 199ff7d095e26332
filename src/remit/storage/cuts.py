"""The signed markers that stand for what retention removed from a tenant's chain.

    rows 1 … 900 removed          marker 1: up to 900, hash of 900, who, when, why; signed
    row 901: hash over 900's  ◀── so the chain goes on from the marker

Each marker names the hash of the one before. Whoever can write the database but has no key cannot
make one, so rows that are gone without it are missed as ever.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec
from sqlalchemy import Row, Select, delete, insert, select

from remit.errors import StartupError
from remit.model.retention import Cut
from remit.storage.asyncio_engine import AsyncConnection
from remit.storage.tables import audit_cuts

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_decode: Final = msgspec.json.Decoder(Cut).decode


class Opener(Protocol):
    """Opens what was signed."""

    def open(self, signed: str, /) -> bytes | None:
        """Return what was signed, or None when no trusted key has signed it so."""
        ...


class Signer(Opener, Protocol):
    """Signs, too."""

    def sign(self, payload: bytes, /) -> str:
        """Return *payload* with its signature."""
        ...


class NoKeys:
    """Knows no key."""

    def open(self, signed: str, /) -> bytes | None:  # noqa: ARG002 - the port's
        """Trust nobody."""
        return None

    def sign(self, payload: bytes, /) -> str:
        """Refuse.

        Raises:
            StartupError: Always.
        """
        raise StartupError(f"there is no key to sign a marker of {len(payload)} bytes with")


class ForgedCut(Exception):
    """A marker that does not hold.

    Attributes:
        link: The number of the row that it claims to reach to.
    """

    def __init__(self, message: str, link: int) -> None:
        super().__init__(message)
        self.link = link


class SignedCut(msgspec.Struct, frozen=True):
    """A marker that holds, and the text that proves it."""

    cut: Cut
    signed: str


async def last_signed(connection: AsyncConnection, tenant: str) -> str:
    """Return the newest marker of *tenant* as it is stored, or an empty text."""
    query = _newest_first(tenant).limit(1)
    row = (await connection.execute(query)).one_or_none()
    return "" if row is None else row.signed


async def last_cuts(
    connection: AsyncConnection, tenant: str, opener: Opener
) -> Sequence[SignedCut]:
    """Return the newest two markers of *tenant*, oldest first, each of which holds.

    Raises:
        ForgedCut: One does not.
    """
    rows = (await connection.execute(_newest_first(tenant).limit(2))).all()
    found: list[SignedCut] = []
    for row in reversed(rows):
        opened = _open(row, opener)
        if found:
            _check_place(opened.cut, found[-1])
        found.append(opened)
    return found


async def all_cuts(connection: AsyncConnection, tenant: str, opener: Opener) -> Sequence[SignedCut]:
    """Return every marker of *tenant*, oldest first, each of which holds.

    Raises:
        ForgedCut: One does not.
    """
    query = select(audit_cuts).where(audit_cuts.c.tenant == tenant).order_by(audit_cuts.c.number)
    found: list[SignedCut] = []
    for row in (await connection.execute(query)).all():
        opened = _open(row, opener)
        _check_place(opened.cut, found[-1] if found else None)
        found.append(opened)
    return found


def _newest_first(tenant: str) -> Select[Any]:
    return (
        select(audit_cuts).where(audit_cuts.c.tenant == tenant).order_by(audit_cuts.c.number.desc())
    )


def _open(row: Row[Any], opener: Opener) -> SignedCut:
    payload = opener.open(row.signed)
    if payload is None:
        raise ForgedCut(
            f"marker {row.number}, of rows removed up to number {row.link}, is not signed by a key"
            " that is known here",
            row.link,
        )
    cut = _decode(payload)
    if (row.tenant, row.number, row.link) != (cut.tenant, cut.number, cut.link):
        raise ForgedCut(f"marker {row.number} says something else than it was signed for", row.link)
    return SignedCut(cut=cut, signed=row.signed)


def _check_place(cut: Cut, before: SignedCut | None) -> None:
    number, link = (0, 0) if before is None else (before.cut.number, before.cut.link)
    if (cut.number, cut.previous, cut.removed) != (number + 1, _hash_of(before), cut.link - link):
        raise ForgedCut(f"marker {cut.number} does not continue the one before", cut.link)


async def save_cut(
    connection: AsyncConnection,
    cuts: Sequence[SignedCut],
    *,
    link: int,
    last_hash: str,
    signer: Signer,
    words: "CutWords",
    replaces: bool,
) -> SignedCut:
    """Put a marker at the end of *cuts*, and return it.

    Args:
        connection: In the transaction that removes the rows.
        cuts: The newest that are there.
        link: The number of the last row that is removed.
        last_hash: Its hash.
        signer: What signs.
        words: Who, when and why.
        replaces: Whether the last of *cuts* is of the same run, and goes.
    """
    before = list(cuts[:-1] if replaces else cuts)
    last = before[-1] if before else None
    cut = Cut(
        tenant=words.tenant,
        number=1 if last is None else last.cut.number + 1,
        time=words.time,
        author=words.author,
        reason=words.reason,
        link=link,
        hash=last_hash,
        removed=link - (0 if last is None else last.cut.link),
        previous=_hash_of(last),
    )
    made = SignedCut(cut=cut, signed=signer.sign(_encode(cut)))
    await connection.execute(
        delete(audit_cuts).where(
            audit_cuts.c.tenant == cut.tenant, audit_cuts.c.number >= cut.number
        )
    )
    await connection.execute(
        insert(audit_cuts).values(
            tenant=cut.tenant, number=cut.number, link=cut.link, signed=made.signed
        )
    )
    return made


class CutWords(msgspec.Struct, frozen=True, kw_only=True):
    """Whose rows are removed, by whom, when and why."""

    tenant: str
    author: str
    time: datetime
    reason: str


def _hash_of(marker: SignedCut | None) -> str:
    return "" if marker is None else hashlib.sha256(marker.signed.encode()).hexdigest()

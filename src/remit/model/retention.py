"""How long a tenant's record is kept, and the marker that stands for what was removed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

LONGEST_RETENTION: Final = 365_000
"""Days beyond which nobody keeps a record: a thousand years, and the calendar has as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What may stay; whatever is beyond either bound goes.

    Attributes:
        days: Rows that are older go, or None.
        rows: How many rows stay at most, or None.
    """

    days: int | None = None
    rows: int | None = None

    @property
    def reason(self) -> str:
        """The bounds in words of the declaration; empty when there is none."""
        bounds = (("retention_days", self.days), ("retention_rows", self.rows))
        return ", ".join(f"{name}: {bound}" for name, bound in bounds if bound is not None)


def oldest_kept(now: datetime, days: int) -> datetime | None:
    """Return the moment so many days before *now*; None before the calendar: nothing is older."""
    try:
        return now - timedelta(days=days)
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The marker in place of the oldest rows of a tenant's chain.

    Attributes:
        number: Of the marker within its tenant, counted from 1.
        time: When the last of the rows was removed, aware UTC.
        author: Who removed them.
        reason: Why, in a line.
        link: The number of the last row that was removed.
        hash: Its hash, which the next row continues.
        removed: How many rows went since the marker before.
        previous: SHA-256 of the signed marker before, in hex; empty for the first.
    """

    tenant: str
    number: int
    time: datetime
    author: str
    reason: str
    link: int
    hash: str
    removed: int
    previous: str

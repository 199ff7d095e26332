"""What the id of an event (UUIDv7) tells of its time, so that an index of ids is one of times, too.

Both are of one clock, read one after the other; so ids lie at most DRIFT from their times.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

DRIFT: Final = timedelta(minutes=1)
"""How far a row's id may be from its time."""

_MOST: Final = 2**48 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def first_id(moment: datetime, drift: timedelta = timedelta()) -> str:
    """Return what no id of *moment* or later is below, were it off by *drift*."""
    milliseconds = int((moment.timestamp() + drift.total_seconds()) * 1000)
    digits = f"{min(max(0, milliseconds), _MOST):012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000"


def time_of(event_id: str) -> datetime:
    """Return the moment that an id was made at, aware UTC, to the millisecond."""
    milliseconds = int(event_id.replace("-", "")[:12], 16)
    return _EPOCH + timedelta(milliseconds=milliseconds)

"""Dates and `Retry-After` as HTTP has them (RFC 9110 5.6.7, 10.2.3)."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST_AFTER: Final = 999_999_999.0
"""Seconds that `Retry-After` is taken to ask for at most: far more than anybody waits."""


def http_date(text: str) -> datetime | None:
    """Return the moment that *text* names, or None where it names none.

    One without a zone, or with `-0000`, which says as little, is of UTC like all dates in HTTP.
    """
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def retry_after(text: str, now: datetime) -> float | None:
    """Return the seconds that a `Retry-After` asks to wait, or None when it makes no sense.

    Args:
        text: Whole seconds, or the date until which to wait.
        now: The present, of which such a date is so far ahead; one that is past asks for 0.
    """
    if text.isascii() and text.isdecimal():
        return min(float(text), LONGEST_AFTER)
    until = http_date(text)
    return None if until is None else max(0.0, (until - now).total_seconds())

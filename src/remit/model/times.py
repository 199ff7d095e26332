"""Moments with and without a time zone."""

from datetime import UTC, datetime


def in_utc(moment: datetime) -> datetime:
    """Return *moment* as aware UTC; one without a zone is of UTC.

    Raises:
        OverflowError: It is beyond the calendar in UTC.
    """
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

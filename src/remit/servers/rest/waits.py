"""Rate limits: how long a service asks its clients to wait, and that they do."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

SECONDARY_WAIT: Final = 60.0
"""Seconds to wait when a secondary limit was met and nothing else was said (GitHub's advice)."""

LONGEST_WAIT: Final = 3600.0
"""Seconds after which a service is asked again, whatever it said: no limit counts for longer."""

_FORBIDDEN, _TOO_MANY, _UNAVAILABLE = 403, 429, 503
_LIMIT_WORDS: Final = ("rate limit", "abuse detection")


def is_limit(status: int, headers: Mapping[str, str], said: str) -> bool:
    """Whether an answer means a rate limit, and not a missing permission.

    Args:
        status: Of the answer.
        headers: Of the answer, names in lower case.
        said: What the service said.
    """
    if status == _TOO_MANY:
        return True
    return status == _FORBIDDEN and (
        "retry-after" in headers
        or headers.get("x-ratelimit-remaining", "").strip() == "0"
        or any(words in said.lower() for words in _LIMIT_WORDS)
    )


def wait_asked(status: int, headers: Mapping[str, str], said: str, now: float) -> float | None:
    """Return the seconds that an answer asks its reader to wait, None when it asks for none.

    Args:
        status: Of the answer.
        headers: Of the answer, names in lower case.
        said: What the service said.
        now: Seconds since the epoch, used when the answer itself is undated.
    """
    limited = is_limit(status, headers, said)
    if not limited and status != _UNAVAILABLE:
        return None
    now = _moment(headers.get("date", "")) or now
    asked = _after(headers.get("retry-after", ""), now)
    if asked is None and headers.get("x-ratelimit-remaining", "0").strip() == "0":
        asked = _until(headers.get("x-ratelimit-reset", ""), now)
    if asked is None and limited and any(words in said.lower() for words in _LIMIT_WORDS):
        asked = SECONDARY_WAIT
    return asked


def wait_announced(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds until the next request may be made, when this was the last one allowed."""
    if headers.get("x-ratelimit-remaining", "").strip() != "0":
        return None
    now = _moment(headers.get("date", "")) or now
    return _until(headers.get("x-ratelimit-reset", ""), now)


class Gates:
    """When the next request may be made, for each bucket that the service counts by itself.

    Args:
        clock: Returns seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._closed: dict[str, float] = {}

    def close(self, bucket: str, seconds: float) -> None:
        """Let no request of *bucket* through for that long."""
        self._closed[bucket] = max(
            self._closed.get(bucket, 0.0), self._clock() + min(seconds, LONGEST_WAIT)
        )

    def wait(self, bucket: str) -> float:
        """Return the seconds until a request may be made, 0 when it may now."""
        return max(0.0, self._closed.get(bucket, 0.0) - self._clock())


def _after(value: str, now: float) -> float | None:
    """Read `Retry-After`: seconds, or a date."""
    seconds = _number(value)
    return max(0.0, seconds) if seconds is not None else _until(value, now)


def _until(value: str, now: float) -> float | None:
    """Return the seconds from *now* to a moment: an epoch, an HTTP date or an ISO time."""
    moment = _number(value) or _moment(value)
    return None if moment is None else max(0.0, moment - now)


def _number(value: str) -> float | None:
    text = value.strip()
    return float(text) if text.isascii() and text.replace(".", "", 1).isdigit() else None


def _moment(value: str) -> float | None:
    if not value:
        return None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(value.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            continue
    return None

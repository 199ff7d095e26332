"""Which servers are away, so that whoever is above an agent hears of each of them once (R25)."""

from datetime import datetime, timedelta
from typing import Final

OVER_AFTER: Final = timedelta(minutes=5)
"""Without a further call that fails, until a server is taken to have been back."""

Place = tuple[str, str, str]
"""A tenant, a server of it, and who was told."""


class Outages:
    """What was told of servers that are away; forgotten once no call fails any more."""

    def __init__(self) -> None:
        self._last: dict[Place, datetime] = {}

    def goes_on(self, place: Place, now: datetime) -> bool:
        """Return whether a call that fails now belongs to what was told already."""
        last = self._last.get(place)
        if last is None or abs(now - last) > OVER_AFTER:
            return False
        self._last[place] = now
        return True

    def began(self, place: Place, now: datetime) -> None:
        """Take note that it was told, and forget of others what is over."""
        self._last = {
            each: last for each, last in self._last.items() if abs(now - last) <= OVER_AFTER
        }
        self._last[place] = now

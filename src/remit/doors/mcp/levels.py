"""The level of log messages that a client of the older eras has set for its session."""

from collections import OrderedDict
from typing import Final

MOST: Final = 10_000
"""Sessions whose level is remembered; beyond it the oldest hear everything again."""


class LogLevels:
    """Levels by session."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, str] = OrderedDict()

    def set(self, session: str, level: str) -> None:
        """Let *session* hear of *level* and above."""
        self._levels[session] = level
        self._levels.move_to_end(session)
        while len(self._levels) > MOST:
            self._levels.popitem(last=False)

    def of(self, session: str) -> str:
        """Return the level of *session*, or empty when it has set none."""
        return self._levels.get(session, "")

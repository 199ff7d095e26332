"""When a server that failed is tried again, and when that ends.

closed ──failure──▶ closed: the next attempt after a pause that doubles up to a bound, with jitter
   │  ▲
   │  └── a connection that lasted makes all of it forgotten ──┐
   └── too many failures within the window ──▶ open: probes, far apart
"""

import random
from collections import deque
from collections.abc import Callable

from remit.upstreams.surroundings import Pace


class Attempts:
    """The failures of one server, or of one caller's connection to it.

    Attributes:
        due: When the next attempt may be made, on the event loop's clock.

    Args:
        pace: How long the pauses are, and how many failures are too many.
        chance: Returns a number from 0 to 1 by which a pause is shortened, so that many servers
            that fell together do not come back together.
    """

    def __init__(self, pace: Pace, chance: Callable[[], float] = random.random) -> None:
        self._pace = pace
        self._chance = chance
        self._failures = deque[float](maxlen=pace.most_failures)
        self._pause = pace.pause
        self._is_open = False
        self.due = 0.0

    @property
    def is_open(self) -> bool:
        """Whether there were too many failures, so that only probes are left."""
        return self._is_open

    @property
    def failures(self) -> int:
        """How many failures there were that are not forgotten, as far as they are counted."""
        return len(self._failures)

    def failed(self, now: float) -> float:
        """Take note of a failure and return the seconds until the next attempt.

        Args:
            now: On the event loop's clock.
        """
        pace = self._pace
        self._failures.append(now)
        if len(self._failures) == pace.most_failures and now - self._failures[0] <= pace.window:
            self._is_open = True
        pause, self._pause = self._pause, min(2 * self._pause, pace.longest_pause)
        pause = self._shortened(pace.probe if self._is_open else pause)
        self.due = now + pause
        return pause

    def lasted(self) -> None:
        """Forget what failed, since a connection lasted."""
        self._failures.clear()
        self._pause = self._pace.pause
        self._is_open = False

    def told(self, problem: str) -> str:
        """Return *problem* with what the circuit makes of it, for people."""
        if not self._is_open:
            return problem
        pace = self._pace
        return (
            f"failed {pace.most_failures} times within {pace.window:g} s,"
            f" so it is tried only every {pace.probe:g} s: {problem}"
        )

    def _shortened(self, pause: float) -> float:
        return pause * (1 - self._chance() / 2)

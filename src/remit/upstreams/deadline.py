"""The time limits of calls, at the cost of one timer for all that are under way.

A timer for each would cost a call more than its policy does, and `asyncio.timeout` twice as much.
"""

import asyncio
import math
from types import TracebackType
from typing import Final, Self

BETWEEN_LOOKS: Final = 0.01
"""Seconds that lie between two looks at what is under way, however much of it is due in them."""


class TimeLimits:
    """What is under way on one event loop, and when each of it has to end.

    Attributes:
        loop: Whose clock counts.
        under_way: What has not ended.
    """

    __slots__ = ("_alarm", "_look_at", "loop", "under_way")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.under_way: set[Deadline] = set()
        self._alarm: asyncio.TimerHandle | None = None
        self._look_at = math.inf

    def watch(self, deadline: "Deadline") -> None:
        """Let *deadline* pass when it is due, unless it is taken from `under_way` before.

        The alarm stays then, since the next one would have to set it anew.
        """
        self.under_way.add(deadline)
        if deadline.due < self._look_at:
            self._set_alarm(deadline.due)

    def _set_alarm(self, when: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._look_at = when
        self._alarm = self.loop.call_at(when, self._look)

    def _look(self) -> None:
        """Let pass what is due, and look again when the next of them is."""
        self._alarm, self._look_at = None, math.inf
        now = self.loop.time()
        for deadline in [one for one in self.under_way if one.due <= now]:
            self.under_way.discard(deadline)
            deadline.has_passed()
        if self.under_way:
            earliest = min(deadline.due for deadline in self.under_way)
            self._set_alarm(max(earliest, now + BETWEEN_LOOKS))


class Deadline:
    """Raises `TimeoutError` in the task that entered it when the block takes too long.

    Args:
        limits: What lets it pass.
        seconds: How long the block may take.

    Attributes:
        due: When it passes, on the event loop's clock.
    """

    __slots__ = ("_before", "_is_over", "_limits", "_seconds", "_task", "due")

    def __init__(self, limits: TimeLimits, seconds: float) -> None:
        self._limits = limits
        self._seconds = seconds

    def __enter__(self) -> Self:
        """Begin."""
        self._is_over = False
        limits = self._limits
        task = self._task = asyncio.current_task(limits.loop)
        self._before = task.cancelling() if task is not None else 0
        self.due = limits.loop.time() + self._seconds
        limits.watch(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End; a cancellation that is only ours becomes `TimeoutError`."""
        self._limits.under_way.discard(self)
        if not self._is_over or self._task is None or self._task.uncancel() > self._before:
            return
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError from error

    def has_passed(self) -> None:
        """End the block; called once, while it is entered."""
        if self._task is not None:
            self._is_over = True
            self._task.cancel()


class PausableDeadline(Deadline):
    """A time limit that may stand still, for a call that waits for somebody else meanwhile."""

    __slots__ = ("_has_ended", "_left")

    def __init__(self, limits: TimeLimits, seconds: float) -> None:
        super().__init__(limits, seconds)
        self._left: float | None = None
        self._has_ended = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, paused or not."""
        self._has_ended = True
        super().__exit__(kind, error, trace)

    def has_passed(self) -> None:
        """End the block, which neither pauses nor resumes any more."""
        self._has_ended = True
        super().has_passed()

    def pause(self, longest: float) -> None:
        """Let the time stand still, but not for more than *longest* seconds."""
        if self._left is None and not self._has_ended:
            now = self._limits.loop.time()
            self._left = self.due - now
            self._be_due(now + longest)

    def resume(self) -> None:
        """Let the time go on."""
        left, self._left = self._left, None
        if left is not None and not self._has_ended:
            self._be_due(self._limits.loop.time() + left)

    def _be_due(self, when: float) -> None:
        self.due = when
        self._limits.watch(self)

"""A time limit at the cost of a timer: `asyncio.timeout` takes four times as long to enter."""

import asyncio
from types import TracebackType
from typing import Self


class Deadline:
    """Raises `TimeoutError` in the task that entered it when the block takes too long.

    Args:
        seconds: How long the block may take.
    """

    __slots__ = ("_before", "_is_over", "_seconds", "_task", "_timer")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> Self:
        """Begin."""
        self._is_over = False
        loop = asyncio.get_running_loop()
        task = self._task = asyncio.current_task(loop)
        self._before = task.cancelling() if task is not None else 0
        self._timer = loop.call_later(self._seconds, self._end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End; a cancellation that is only ours becomes `TimeoutError`."""
        self._timer.cancel()
        if not self._is_over or self._task is None or self._task.uncancel() > self._before:
            return
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError from error

    def _end(self) -> None:
        if self._task is not None:
            self._is_over = True
            self._task.cancel()


class PausableDeadline(Deadline):
    """A time limit that may stand still, for a call that waits for somebody else meanwhile."""

    __slots__ = ("_has_ended", "_left")

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
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

    def pause(self, longest: float) -> None:
        """Let the time stand still, but not for more than *longest* seconds."""
        loop = asyncio.get_running_loop()
        if self._left is None and not self._has_ended:
            self._left = max(0.0, self._timer.when() - loop.time())
            self._timer.cancel()
            self._timer = loop.call_later(longest, self._end)

    def resume(self) -> None:
        """Let the time go on."""
        left, self._left = self._left, None
        if left is not None and not self._has_ended:
            self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(left, self._end)

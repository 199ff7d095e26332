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
        self._is_over = False

    def __enter__(self) -> Self:
        """Begin."""
        self._task = asyncio.current_task()
        self._before = self._task.cancelling() if self._task is not None else 0
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End; a cancellation that is only ours becomes `TimeoutError`."""
        self._timer.cancel()
        if self._task is None or not self._is_over or self._task.uncancel() > self._before:
            return
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError from error

    def _end(self) -> None:
        if self._task is not None:
            self._is_over = True
            self._task.cancel()

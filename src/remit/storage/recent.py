"""The events that were recorded last, so that a batch need not read and decode its own lines again.

The journal stays the truth: what is not known here is read from its file.
"""

from bisect import bisect_right
from typing import Final

from remit.model.events import AuditEvent
from remit.storage.journal import JournalFile

MOST: Final = 2000
"""Events; older ones give way while the database is away."""

LARGEST: Final = 4096
"""Bytes of a line; the event of a longer one is not kept."""


class Recent:
    """The events of one unbroken stretch of a file of this process, in the order of recording."""

    def __init__(self) -> None:
        self._file: JournalFile | None = None
        self._start = self._end = 0
        self._events: list[AuditEvent] = []
        self._ends: list[int] = []

    def keep(self, file: JournalFile, length: int, event: AuditEvent) -> None:
        """Keep *event*, whose line of *length* bytes is now the last of *file*."""
        end = file.size
        if file is not self._file or self._end + length != end or len(self._ends) == MOST:
            self._begin(file, end - length)
        if length <= LARGEST:
            self._events.append(event)
            self._ends.append(end)
            self._end = end

    def take(self, file: JournalFile, stop: int, *, most: int) -> tuple[list[AuditEvent], int]:
        """Hand over the events of the lines that follow what is taken of *file*.

        Args:
            file: A file of this process.
            stop: Offset to go to.
            most: How many at most.

        Returns:
            The events, and the offset after their lines; none when the next one is not known, or
            somebody cut the file.
        """
        taken, ends = file.taken, self._ends
        if file is not self._file or not file.is_whole:
            return [], taken
        first = bisect_right(ends, taken)
        last = min(bisect_right(ends, stop), first + most)
        if last == first or taken != (ends[first - 1] if first else self._start):
            return [], taken
        events = self._events[first:last]
        self._start = ends[last - 1]
        del self._events[:last], ends[:last]
        return events, self._start

    def _begin(self, file: JournalFile, start: int) -> None:
        """Forget what there is, and keep what follows an offset of *file*."""
        self._file, self._start, self._end = file, start, start
        self._events, self._ends = [], []

"""The events that were recorded last, so that a batch need not read and decode its own lines again.

The journal stays the truth: what is not known here is read from its file.
"""

from collections import deque
from typing import Final

from remit.model.events import AuditEvent
from remit.storage.journal import JournalFile

MOST: Final = 2000
"""Events; older ones give way while the database is away."""

LARGEST: Final = 4096
"""Bytes of a line; the event of a longer one is not kept."""


class Recent:
    """Events of this process by the place of their lines, in the order of recording."""

    def __init__(self) -> None:
        self._kept: deque[tuple[JournalFile, int, int, AuditEvent]] = deque(maxlen=MOST)

    def keep(self, file: JournalFile, length: int, event: AuditEvent) -> None:
        """Keep *event*, whose line of *length* bytes is now the last of *file*."""
        if length <= LARGEST:
            self._kept.append((file, file.size - length, file.size, event))

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
        kept, end = self._kept, file.taken
        events: list[AuditEvent] = []
        if not file.is_whole:
            return events, end
        while kept and len(events) < most:
            where, start, after, event = kept[0]
            if after > where.taken:
                if where is not file or start != end or after > stop:
                    break
                events.append(event)
                end = after
            kept.popleft()
        return events, end

"""Requests of servers that callers have yet to answer; an answer counts for its session alone."""

from collections.abc import Hashable
from itertools import count
from typing import Final

from remit.model.conversation import Answering

MOST_OPEN: Final = 1024
"""Questions of one process that wait for an answer."""


class Questions:
    """The open questions, by session and by the id that we gave each.

    Args:
        prefix: Begins every id, and tells it from those of other processes.
    """

    def __init__(self, prefix: str = "remit-") -> None:
        self._prefix = prefix
        self._numbers = count(1)
        self._open: dict[tuple[Hashable, bytes], Answering] = {}

    def begin(self, session: Hashable, answer: Answering) -> bytes | None:
        """Return the raw id of a new question to *session*, or None when too many are open."""
        if len(self._open) >= MOST_OPEN:
            return None
        number = b'"%b%d"' % (self._prefix.encode(), next(self._numbers))
        self._open[(session, number)] = answer
        return number

    def answered(self, session: Hashable, number: bytes, tail: bytes) -> bool:
        """Hand an answer on; whether somebody waited for it."""
        answer = self._open.pop((session, number), None)
        if answer is None:
            return False
        answer(tail)
        return True

    def drop(self, session: Hashable, number: bytes) -> None:
        """Wait for an answer no longer."""
        self._open.pop((session, number), None)

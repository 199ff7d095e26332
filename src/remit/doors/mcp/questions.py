"""Requests of servers that callers have yet to answer; an answer counts for its session alone."""

from collections.abc import Hashable
from itertools import count
from typing import Final

from remit.model.conversation import Answering
from remit.upstreams.dialogue import refusal

MOST_OPEN: Final = 1024
"""Questions of one process that wait for an answer."""

MOST_ENDED: Final = 10_000
"""Ended sessions that are remembered; beyond it the oldest could be asked again, in vain."""

LEFT: Final = "the caller has left"


class Questions:
    """The open questions, by session and by the id that we gave each.

    Args:
        prefix: Begins every id, and tells it from those of other processes.
    """

    def __init__(self, prefix: str = "remit-") -> None:
        self._prefix = prefix
        self._numbers = count(1)
        self._open: dict[tuple[Hashable, bytes], Answering] = {}
        self._ended: dict[Hashable, None] = {}

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

    def end(self, session: Hashable) -> None:
        """Refuse what *session* is asked, now and from now on: nobody can answer in it any more."""
        self._ended[session] = None
        if len(self._ended) > MOST_ENDED:
            del self._ended[next(iter(self._ended))]
        for whose, number in list(self._open):
            if whose == session:
                self.answered(session, number, refusal(LEFT))

    def has_ended(self, session: Hashable) -> bool:
        """Whether nobody can answer in *session* any more."""
        return session in self._ended

    def drop(self, session: Hashable, number: bytes) -> None:
        """Wait for an answer no longer."""
        self._open.pop((session, number), None)

"""Answers given before, on rules that cannot change while they stand."""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

MEMO_LIMIT: Final = 16_384
"""Most answers that one snapshot remembers of a kind: roles times tools of a large installation."""

Answer = TypeVar("Answer")


class Memo(Generic[Answer]):
    """Answers by question, at most *limit*.

    A question is all that its answer depends on besides the rules; forgetting changes no answer.
    """

    def __init__(self, limit: int = MEMO_LIMIT) -> None:
        self._limit = limit
        self._kept: dict[Hashable, Answer] = {}

    def find(self, question: Hashable) -> Answer | None:
        """Return the answer given before, or None."""
        return self._kept.get(question)

    def keep(self, question: Hashable, answer: Answer) -> None:
        """Remember *answer*, forgetting all others when there are too many."""
        if len(self._kept) >= self._limit:
            self._kept.clear()
        self._kept[question] = answer

    def __len__(self) -> int:
        """Return how many answers are kept."""
        return len(self._kept)

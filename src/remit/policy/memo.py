"""A memory with a bound, for answers that cannot change while their snapshot stands."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


class Memo(Generic[Question, Answer]):
    """Answers given before; at most *limit*."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[Question, Answer] = {}

    def find(self, question: Question) -> Answer | None:
        """Return the answer given before, or None."""
        return self._kept.get(question)

    def keep(self, question: Question, answer: Answer) -> None:
        """Remember *answer*, forgetting all others when there are too many."""
        if len(self._kept) >= self._limit:
            self._kept.clear()
        self._kept[question] = answer

    def __len__(self) -> int:
        """Return how many answers are kept."""
        return len(self._kept)

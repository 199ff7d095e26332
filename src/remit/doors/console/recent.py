"""Answers that many ask for and few have to be made: those who look at the same share one."""

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from anyio import CancelScope, Lock, current_time

T = TypeVar("T")

FORGOTTEN_AFTER: Final = 600.0
"""Seconds after which an answer that nobody asks for is let go."""


@dataclass(slots=True)
class _Kept:
    """The last answer to a question.

    Attributes:
        asked: When it was asked for, by the clock of the event loop.
    """

    lock: Lock = field(default_factory=Lock)
    asked: float = float("-inf")
    answer: Any = None


class Recent:
    """The last answers, each asked for by one while the others wait for it."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, _Kept] = {}

    async def get(
        self, question: Hashable, ask: Callable[[], Awaitable[T]], *, since: float
    ) -> tuple[T, float]:
        """Return an answer and when it was asked for.

        Args:
            question: What makes answers the same; also whose they are, if not everybody's.
            ask: Makes one. It is not cut off when whoever asks leaves, as others may wait for it.
            since: An answer that was asked for from then on does, by the clock of the event loop.

        Raises:
            Exception: Whatever *ask* does; then the next one asks again.
        """
        self._forget(current_time() - FORGOTTEN_AFTER)
        kept = self._kept.setdefault(question, _Kept())
        async with kept.lock:
            if kept.asked < since:
                asked = current_time()
                with CancelScope(shield=True):
                    kept.answer = await ask()
                kept.asked = asked
            return cast("T", kept.answer), kept.asked

    def _forget(self, before: float) -> None:
        old = [
            question
            for question, kept in self._kept.items()
            if kept.asked < before and not kept.lock.locked()
        ]
        for question in old:
            del self._kept[question]

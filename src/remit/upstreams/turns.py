"""Waiting for a place that others have taken: first come, first served.

Whoever leaves a place hands it to the first who waits, so that nobody who comes later can take it.
While nobody waits, which is nearly always, a place costs its owner a number.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Place = TypeVar("Place")


class Turns(Generic[Place]):
    """Those who wait.

    Args:
        leave: Gives back a place that somebody was handed who had left meanwhile.

    Attributes:
        waiting: The first of them first; some may have left.
    """

    __slots__ = ("_leave", "waiting")

    def __init__(self, leave: Callable[[Place], None]) -> None:
        self._leave = leave
        self.waiting = deque[asyncio.Future[Place]]()

    async def wait(self) -> Place:
        """Return the place that is handed over."""
        waiter: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        self.waiting.append(waiter)
        is_taken = False
        try:
            place = await waiter
            is_taken = True
        finally:
            if not is_taken and waiter.done() and not waiter.cancelled():
                self._leave(waiter.result())
        return place

    def hand(self, place: Place) -> bool:
        """Hand *place* over; return whether anybody waits for it."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(place)
                return True
        return False

"""Who changes what: one after the other where two at once would do a thing twice."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

import anyio

from remit.servers.errors import ToolError

_REMEMBERED: Final = 60.0
"""Seconds after which Jira's search surely finds what was made."""


class Turns:
    """One change at a time of each ticket, and for each key of a caller.

    Args:
        patience: Seconds that a call waits for its turn.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncGenerator[None]:
        """Wait until nobody else has the turn of that name, and have it.

        Raises:
            ToolError: It takes too long.
        """
        lock = self._locks.setdefault(name, anyio.Lock())
        with anyio.move_on_after(self._patience) as waiting:
            await lock.acquire()
        if waiting.cancelled_caught:
            raise ToolError("nothing was done: another change of it is under way; try again")
        try:
            yield
        finally:
            lock.release()


class MadeLately:
    """Tickets made a moment ago, by the request that made them: Jira's search may be late."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, ...], tuple[float, str]] = {}

    def add(self, request: tuple[str, ...], key: str) -> None:
        """Remember the ticket *key* for a while."""
        now = anyio.current_time()
        self._made = {
            name: made for name, made in self._made.items() if now - made[0] < _REMEMBERED
        }
        self._made[request] = (now, key)

    def find(self, request: tuple[str, ...]) -> str | None:
        """Return the key of the ticket that the request made, if that was a moment ago."""
        made = self._made.get(request)
        if made is None or anyio.current_time() - made[0] >= _REMEMBERED:
            return None
        return made[1]

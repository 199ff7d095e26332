"""Much that is to be removed, in small transactions, so that nobody waits long for the lock."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

PAUSE: Final = 0.02
"""Seconds between two steps, in which others write."""


async def in_steps(step: Callable[[], Awaitable[bool]], *, most: int | None = None) -> bool:
    """Take one step after the other until there is nothing left, or *most* are taken.

    Args:
        step: Removes some in a transaction of its own; returns whether there may be more. What
            ends it half-way leaves the rest for the next time.
        most: How many; None for as many as it takes.

    Returns:
        Whether nothing is left.
    """
    taken = 0
    while most is None or taken < most:
        if taken:
            await anyio.sleep(PAUSE)
        if not await step():
            return True
        taken += 1
    return False

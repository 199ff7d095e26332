"""Looking again where somebody else was faster: of two who change one thing, the second does."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from remit.errors import Outdated

Made = TypeVar("Made")

MOST_LOOKS: Final = 20
"""How often a change is tried while others change the same; one of them succeeds each time."""


async def looking_again(attempt: Callable[[], Awaitable[Made]]) -> Made:
    """Look and change, and look again as long as somebody else was faster.

    Raises:
        Outdated: Others were, too often; nothing was changed.
    """
    for _ in range(MOST_LOOKS - 1):
        try:
            return await attempt()
        except Outdated:
            continue
    return await attempt()

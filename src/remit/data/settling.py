"""Looking again where somebody else was faster, in the words of the data tools."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from remit.calls.settling import looking_again
from remit.errors import DataFailure, Outdated
from remit.model.data import DataCode

Made = TypeVar("Made")


async def settled(attempt: Callable[[], Awaitable[Made]]) -> Made:
    """Look and change, and look again as long as somebody else was faster.

    Raises:
        DataFailure: `resource_conflict`: others were, too often; nothing was changed.
    """
    try:
        return await looking_again(attempt)
    except Outdated:
        raise DataFailure(
            DataCode.RESOURCE_CONFLICT,
            "others change the same all the time; nothing was done: try again",
        ) from None

"""What costs much and may never be used: made when somebody first needs it."""

from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

Made = TypeVar("Made")


class WhenNeeded(Generic[Made]):
    """Something that is made once, in a thread, so that everybody else goes on.

    Args:
        make: Makes it.

    Attributes:
        made: What it made, or None before.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self.made: Made | None = None
        self._make = make
        self._making = anyio.Lock()

    async def get(self) -> Made:
        """Return it, made now if nobody needed it before."""
        if self.made is None:
            async with self._making:
                if self.made is None:
                    self.made = await to_thread.run_sync(self._make)
        return self.made

"""How many statements run at once in one process, on one datasource or for one caller."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from remit.errors import DataFailure
from remit.model.data import DataCode

LONGEST_WAIT: Final = 5.0
"""Seconds that a statement waits for a place before it is told to come again."""


class Places:
    """So many places; whoever finds none waits a while, first come, first served.

    A slow statement takes one place and no more, so that it stands in nobody's way while others
    are free.
    """

    def __init__(
        self, count: int, *, wait: float = LONGEST_WAIT, where: str = "on this datasource"
    ) -> None:
        self._count = count
        self._where = where
        self._free = anyio.Semaphore(count)
        self._wait = wait

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[None]:
        """Hold one place.

        Raises:
            DataFailure: `service_unavailable`, where none became free in time.
        """
        try:
            with anyio.fail_after(self._wait):
                await self._free.acquire()
        except TimeoutError:
            raise DataFailure(
                DataCode.SERVICE_UNAVAILABLE,
                f"busy: {self._count} statements run {self._where} at once; try again",
            ) from None
        try:
            yield
        finally:
            self._free.release()

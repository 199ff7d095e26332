"""A client that takes nothing of what it is sent is cut off, since that stands in our memory.

answer ──▶ socket ──full──▶ buffer ──over its mark──▶ a look every minute: taken some? ──no──▶ cut
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SEND_TIME: Final = 60.0
"""Seconds in which a client takes some of what it is sent."""

LEAST_TAKEN: Final = 64 * 1024
"""Bytes that are some of it."""


class TakingProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, which would wait for ever, with patience that ends."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._taking: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """Take note that the client is slower than we are."""
        super().pause_writing()
        if self._taking is None:
            self._look_later()

    def resume_writing(self) -> None:
        """Take note that it has taken nearly all."""
        super().resume_writing()
        self._look_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note that the client has left."""
        super().connection_lost(exc)
        self._look_no_more()

    def _look_later(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._taking = self.loop.call_later(SEND_TIME, self._look, left)

    def _look(self, left: int) -> None:
        self._taking = None
        if left - self.transport.get_write_buffer_size() < LEAST_TAKEN:
            self.transport.abort()  # to close it would wait for the client
        else:
            self._look_later()

    def _look_no_more(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

"""An answer of the relay: filled by its connection, read by one task."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from remit.errors import UnreadableAnswer, UpstreamError
from remit.upstreams.relay_coding import Inflation, decoder_of

MOST_UNREAD = 256 * 1024
"""Bytes that may wait for a slow reader before the server is made to wait."""


class Source(Protocol):
    """Where an answer comes from."""

    def resume(self) -> None:
        """Let more bytes come."""
        ...

    def give_up(self) -> None:
        """Break the connection, since nobody will read the rest."""
        ...


class RelayAnswer:
    """What one request is answered with.

    Attributes:
        status: Its status code; 0 until the head has arrived.
        headers: Its header fields by names in lower case; the first of several counts.
        whole: Its body if it came at once with a head like the last one's; else None.
    """

    __slots__ = (
        "_data",
        "_inflation",
        "_is_complete",
        "_is_wanted_whole",
        "_loop",
        "_max_message",
        "_problem",
        "_source",
        "_waiter",
        "headers",
        "status",
        "whole",
    )

    def __init__(self, source: Source, max_message: int, loop: asyncio.AbstractEventLoop) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.whole: bytes | None = None
        self._source = source
        self._max_message = max_message
        self._loop = loop
        self._data: bytes | bytearray = b""
        self._inflation: Inflation | None = None
        self._is_complete = False
        self._is_wanted_whole = False
        self._problem: UpstreamError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def news(self) -> asyncio.Future[None]:
        """Return what is done when there is more of it than now: the head, or some of the body.

        Raises:
            UpstreamError: No more will come.
        """
        if self._problem is not None:
            raise self._problem
        waiter = self._waiter = self._loop.create_future()
        return waiter

    async def read(self) -> bytes:
        """Return the whole body."""
        while not self._is_complete:
            self._is_wanted_whole = True
            if len(self._data) > self._max_message:
                raise _too_large()
            self._source.resume()
            await self.news()
        body, self._data = bytes(self._data), b""
        if len(body) > self._max_message:
            raise _too_large()
        coding = self.headers.get("content-encoding")
        return body if coding is None else self._decoded(body, coding)

    async def piece(self) -> bytes:
        """Return more of the body as it arrives; nothing once it is over."""
        coding = self.headers.get("content-encoding")
        if coding is None:
            return await self._arrived()
        if self._inflation is None:
            self._inflation = Inflation(coding, self._arrived)
        return await self._inflation.piece()

    async def _arrived(self) -> bytes:
        while not self._data and not self._is_complete:
            await self.news()
        data, self._data = bytes(self._data), b""
        self._source.resume()
        return data

    def close(self) -> None:
        """Give up what has not arrived yet."""
        if not self._is_complete and self._problem is None:
            self._source.give_up()

    # What follows is for the connection.

    @property
    def is_full(self) -> bool:
        """Whether no more should come before some has been read."""
        return len(self._data) > (self._max_message if self._is_wanted_whole else MOST_UNREAD)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head."""
        self.status = status
        self.headers = headers

    def add(self, data: bytes) -> None:
        """Take a piece of the body."""
        if not self._data:
            self._data = data
        elif isinstance(self._data, bytearray):
            self._data += data
        else:
            # A list of pieces would cost many times their size, were they small.
            self._data = bytearray(self._data) + data

    def take_whole(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Take head and body at once; the body is no stream of events, and not compressed."""
        self.status = status
        self.headers = headers
        self._data = body
        if len(body) <= self._max_message:
            self.whole = body
        self._is_complete = True
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def complete(self) -> None:
        """Take note that this is all."""
        self._is_complete = True
        self.stir()

    def fail(self, problem: UpstreamError) -> None:
        """Take note that no more will come, although more should."""
        self._problem = problem
        self.stir()

    def stir(self) -> None:
        """Wake the reader if what it waits for is there."""
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        if self._is_wanted_whole:
            is_due = self._is_complete or self._problem is not None or self.is_full
        else:
            is_due = self.status != 0 or self._problem is not None
        if is_due:
            waiter.set_result(None)

    def _decoded(self, body: bytes, coding: str) -> bytes:
        decoder = decoder_of(coding)
        if decoder is None:
            return body
        parts: list[bytes] = []
        size = 0
        for piece in decoder.feed(body):
            parts.append(piece)
            size += len(piece)
            if size > self._max_message:
                raise _too_large()
        decoder.finish()
        return b"".join(parts)


def _too_large() -> UnreadableAnswer:
    return UnreadableAnswer("answered with more bytes than its max_message")

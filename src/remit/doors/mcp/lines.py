"""Newline-delimited messages from a stream of bytes."""

from collections.abc import AsyncGenerator
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream

from remit.model.lines import Lines, TooLong

LARGEST_LINE: Final = 4 * 1024 * 1024
"""Bytes of one message; a longer line is skipped to its end."""


async def lines_of(
    stream: ByteReceiveStream, *, largest: int = LARGEST_LINE
) -> AsyncGenerator[bytes | TooLong]:
    """Give each line without its end, or what is left of a longer one; blank ones are left out."""
    lines = Lines(largest)
    is_open = True
    while is_open:
        try:
            chunk = await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            chunk, is_open = b"\n", False  # which ends the last line
        for line in lines.feed(chunk):
            kept = line if isinstance(line, TooLong) else line.strip()
            if kept:
                yield kept

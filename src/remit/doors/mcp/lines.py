"""Newline-delimited messages from a stream of bytes."""

from collections.abc import AsyncGenerator
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream

LARGEST_LINE: Final = 4 * 1024 * 1024
"""Bytes of one message; a longer line is skipped to its end."""


async def lines_of(
    stream: ByteReceiveStream, *, largest: int = LARGEST_LINE
) -> AsyncGenerator[bytes | None]:
    """Give each line without its end; None for one that was too long. Blank lines are left out."""
    pending = bytearray()
    is_skipping = False
    while True:
        try:
            chunk = await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            break
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line = bytes(pending + part).strip()
            pending.clear()
            if is_skipping or len(line) > largest:
                is_skipping = False
                yield None
            elif line:
                yield line
        pending += rest
        if len(pending) > largest:
            is_skipping = True
            pending.clear()
    line = bytes(pending).strip()
    if line and not is_skipping:
        yield line

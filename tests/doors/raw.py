"""Requests as bytes on a raw connection."""

import anyio
import anyio.lowlevel
from anyio.abc import ByteStream

PING = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}'


def post(number: int, *lines: bytes, version: bytes = b"1.1", path: bytes = b"/mcp") -> bytes:
    body = PING % number
    head = [
        b"POST %b HTTP/%b" % (path, version),
        b"Host: localhost",
        b"Authorization: Bearer reader-key",
        b"Content-Type: application/json",
        b"Accept: application/json, text/event-stream",
        b"Content-Length: %d" % len(body),
        *lines,
    ]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


async def answer(line: ByteStream, number: int) -> bytes:
    """Read up to the end of the answer to *number*."""
    received = b""
    end = b'"id":%d,"result":{}}' % number
    with anyio.fail_after(30):
        while end not in received:
            received += await line.receive()
    return received


async def closed(line: ByteStream) -> bool:
    with anyio.fail_after(30):
        try:
            while True:
                await line.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True


async def in_pieces(line: ByteStream, parsed: list[bytes], *pieces: bytes) -> None:
    """Send pieces that are read one by one."""
    for number, piece in enumerate(pieces, len(parsed) + 1):
        await line.send(piece)
        with anyio.fail_after(30):
            while len(parsed) < number:
                await anyio.lowlevel.checkpoint()

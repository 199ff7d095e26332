"""What stands behind a body in chunks is no part of the head (RFC 9110 §6.5.1)."""

import re

import anyio
import pytest
from anyio.abc import ByteStream
from tests.doors.raw import PING, in_pieces

BODY = PING % 1
KEY = b"Authorization: Bearer reader-key"
WRONG = b"Authorization: Bearer nobodys"


def chunked(*lines: bytes, trailer: tuple[bytes, ...] = (), path: bytes = b"/mcp") -> bytes:
    """Return a ping in one chunk, with more lines in its head and behind it."""
    head = [
        b"POST %b HTTP/1.1" % path,
        b"Host: localhost",
        b"Content-Type: application/json",
        b"Accept: application/json, text/event-stream",
        b"Transfer-Encoding: chunked",
        *lines,
    ]
    chunks = [b"%x" % len(BODY), BODY, b"0", *trailer]
    return b"\r\n".join(head) + b"\r\n\r\n" + b"\r\n".join(chunks) + b"\r\n\r\n"


async def status(line: ByteStream) -> int:
    """Read one whole answer and return its status."""
    received = b""
    with anyio.fail_after(30):
        while True:
            head, end, body = received.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            if end and length is not None and len(body) >= int(length[1]):
                assert len(body) == int(length[1])
                return int(head.split()[1])
            received += await line.receive()


# What a path has beside its name goes over ASGI, also where it comes at once.
PATHS = (b"/mcp", b"/mcp?a=b")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("lines", "trailer", "expected"),
    [
        ((), (KEY,), 401),
        ((), (b"X-API-Key: reader-key",), 401),
        ((), (b"Empty:", KEY), 401),
        ((KEY,), (WRONG,), 200),
        ((KEY,), (b"Host: evil.example",), 200),
        ((KEY,), (b"Origin: http://evil.example",), 200),
        ((KEY,), (b"Content-Type: text/plain",), 200),
        ((KEY,), (b"Expect: 100-continue",), 200),
        ((WRONG,), (KEY,), 401),
    ],
)
async def test_what_comes_behind_a_body_counts_for_nothing(
    line: ByteStream,
    path: bytes,
    lines: tuple[bytes, ...],
    trailer: tuple[bytes, ...],
    expected: int,
) -> None:
    await line.send(chunked(*lines, trailer=trailer, path=path))

    assert await status(line) == expected


async def test_nor_does_it_wherever_the_bytes_are_cut(
    line: ByteStream, parsed: list[bytes]
) -> None:
    without, with_key = chunked(trailer=(KEY,)), chunked(KEY, trailer=(WRONG, b"Host: evil"))

    for message, expected in ((without, 401), (with_key, 200)):
        for cut in range(1, len(message)):
            parsed.clear()
            await in_pieces(line, parsed, message[:cut])
            await line.send(message[cut:])

            assert await status(line) == expected, message[:cut]
            assert parsed[0] == message[:cut]


async def test_nor_does_it_for_the_request_behind_it(line: ByteStream) -> None:
    await line.send(chunked(KEY, trailer=(b"X-One: 1", KEY)) + chunked())

    received = b""
    with anyio.fail_after(30):
        while received.count(b"HTTP/1.1 ") < 2:
            received += await line.receive()

    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"401"]

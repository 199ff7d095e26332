"""The head of a request is bounded before anybody is known (issue 3, 'a 5 MB token')."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream
from tests.doors.worlds import Wire, initialize

from remit.doors import protocol
from remit.doors.protocol import LARGEST_HEAD

pytestmark = pytest.mark.parametrize("files_url", ["the short way"], indirect=True)
"""The bound is the protocol's own, which the other way of these tests has not."""

BODY = json.dumps(initialize()).encode()


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[SocketStream]:
    host, port = url.removeprefix("http://").split(":")
    with anyio.fail_after(30):
        async with await anyio.connect_tcp(host, int(port)) as stream:
            yield stream


def head(wire: Wire, *more: bytes) -> bytes:
    host = wire.url.removeprefix("http://").encode()
    lines = [
        b"POST /mcp HTTP/1.1", b"Host: " + host, b"Authorization: Bearer reader-key",
        b"Content-Type: application/json", b"Content-Length: %d" % len(BODY), *more,
    ]  # fmt: skip
    return b"\r\n".join(lines) + b"\r\n\r\n"


@pytest.mark.parametrize(
    "begun",
    [b"POST /mcp HTTP/1.1\r\nAuthorization: Bearer ", b"POST /", b"POST /mcp HTTP/1.1\r\nX: 1\r\n"],
)
async def test_a_head_without_end_is_refused_and_read_no_further(wire: Wire, begun: bytes) -> None:
    sent = 0
    async with connected(wire.url) as stream:
        await stream.send(begun)
        try:
            while sent < 5_000_000:
                await stream.send(
                    b"x" * 10_000 if not begun.endswith(b"\n") else b"y: 2\r\n" * 2000
                )
                sent += 10_000
                await anyio.lowlevel.checkpoint()
            answer = await stream.receive()
        except (anyio.BrokenResourceError, anyio.EndOfStream):
            answer = b""  # closing the connection under a client that sends is an answer, too

    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")
    assert (await wire.send(initialize())).status == 200


async def test_a_client_that_stops_to_listen_is_told_why(wire: Wire) -> None:
    async with connected(wire.url) as stream:
        await stream.send(b"POST /mcp HTTP/1.1\r\nAuthorization: Bearer ")
        await stream.send(b"x" * LARGEST_HEAD)
        answer = await stream.receive()

    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_head_that_comes_in_pieces_is_fine_and_so_is_the_next_one(wire: Wire) -> None:
    padding = b"X-Padding: " + b"x" * (LARGEST_HEAD // 2)
    async with connected(wire.url) as stream:
        for _ in range(3):
            whole = head(wire, padding) + BODY
            for at in range(0, len(whole), 5000):
                await stream.send(whole[at : at + 5000])
                await anyio.lowlevel.checkpoint()
            assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "lines",
    [
        (b"Content-Length: 5",),
        (b"Transfer-Encoding: chunked",),
        (b"Authorization: Bearer editor-key",),
        (b"X-API-Key: a", b"X-API-Key: a"),
        (b"Host: evil.example.test",),
        (b"Host: localhost",),
        (b"Origin: http://localhost", b"Origin: http://localhost"),
        (b"Mcp-Session-Id: a", b"Mcp-Session-Id: a"),
        (b"Bad Name: x",),
        (b"X: a\0b",),
        (b" folded: x",),
    ],
)
async def test_headers_that_come_twice_or_are_none_never_open_anything(
    wire: Wire, lines: tuple[bytes, ...]
) -> None:
    async with connected(wire.url) as stream:
        sent = head(wire, *lines) + BODY
        if lines[0].startswith(b"Mcp-Session-Id"):
            sent = sent.replace(b'"initialize"', b'"tools/list"')
        await stream.send(sent)
        answer = await stream.receive()

    assert answer.startswith(
        (b"HTTP/1.1 400 ", b"HTTP/1.1 403 ", b"HTTP/1.1 404 ", b"HTTP/1.1 421 ")
    )


@pytest.mark.parametrize("begun", [b"", b"POST /mcp HTTP/1.1\r\nHost: local", b"\r\n\r\n"])
async def test_a_head_that_does_not_arrive_is_waited_for_no_longer(
    wire: Wire, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIME", 0.3)
    async with connected(wire.url) as stream:
        await stream.send(begun)
        assert (await stream.receive()).startswith(b"HTTP/1.1 408 ")
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()


async def test_the_second_head_of_a_connection_is_not_waited_for_either(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIME", 0.5)
    async with connected(wire.url) as stream:
        await stream.send(head(wire) + BODY)
        received = b""
        while b'"result"' not in received:
            received += await stream.receive()
        await stream.send(b"POST /mcp HTT")
        async for more in stream:
            received += more

    assert b"HTTP/1.1 408 " in received


async def test_empty_lines_do_not_keep_a_connection_that_rests(wire: Wire) -> None:
    async with connected(wire.url) as stream:
        await stream.send(head(wire) + BODY)
        received = b""
        while b'"result"' not in received:
            received += await stream.receive()
        await stream.send(b"\r\n")
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()

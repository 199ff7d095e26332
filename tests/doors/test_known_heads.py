"""Heads are read once and known again by their bytes; nothing is let in by that."""

import anyio
import pytest
from anyio.abc import ByteStream
from tests.doors.raw import PING, answer, in_pieces, post
from tests.doors.worlds import World

from remit.doors import head as heads_module
from remit.doors.head import LARGEST_KEPT, Head, Heads
from remit.model.declaration import HttpSettings


async def status(line: ByteStream) -> bytes:
    with anyio.fail_after(30):
        return (await line.receive()).partition(b"\r\n")[0]


async def test_a_head_is_parsed_once(line: ByteStream, parsed: list[bytes]) -> None:
    for number in range(1, 10):
        await line.send(post(number))
        assert b'"id":%d,' % number in await answer(line, number)

    assert parsed == [post(1)]


async def test_another_length_of_the_body_is_another_head(
    line: ByteStream, parsed: list[bytes]
) -> None:
    for number in (1, 10, 2, 20):
        await line.send(post(number))
        await answer(line, number)

    assert parsed == [post(1), post(10)]


async def test_known_heads_are_found_wherever_the_bytes_are_cut(
    line: ByteStream, parsed: list[bytes]
) -> None:
    await line.send(post(1))
    await answer(line, 1)
    both = post(2) + post(3)

    for cut in range(1, len(both), 31):
        await in_pieces(line, parsed, both[:cut], both[cut:] + post(4))
        received = await answer(line, 4)

        places = [received.index(b'"id":%d,' % number) for number in (2, 3, 4)]
        assert places == sorted(places)


async def test_a_body_in_chunks_is_parsed_every_time(line: ByteStream, parsed: list[bytes]) -> None:
    body = PING % 1
    chunked = (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer reader-key\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    )
    for _ in range(3):
        await line.send(chunked)
        await answer(line, 1)

    assert parsed == [chunked] * 3


async def test_a_known_head_lets_nobody_in_whose_key_is_gone(
    line: ByteStream, files_world: World, parsed: list[bytes]
) -> None:
    # R17
    await line.send(post(1))
    await answer(line, 1)
    del files_world.keys["reader-key"]

    await line.send(post(2))

    assert await status(line) == b"HTTP/1.1 401 Unauthorized"
    assert parsed == [post(1)]


async def test_a_known_head_is_judged_by_the_origins_that_are_listed_now(
    line: ByteStream, files_world: World
) -> None:
    asked = post(1, b"Origin: https://pages.example")
    await line.send(asked)
    assert await status(line) == b"HTTP/1.1 403 Forbidden"

    files_world.http = HttpSettings(allowed_origins=("https://pages.example",))
    await line.send(asked)
    received = await answer(line, 1)
    assert b"access-control-allow-origin: https://pages.example" in received.lower()

    files_world.http = HttpSettings()
    await line.send(asked)
    assert await status(line) == b"HTTP/1.1 403 Forbidden"


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads_module, "MOST_HEADS", 3)
    heads, head = Heads(), Head("POST", "/mcp", ())
    sent = [b"POST /%d HTTP/1.1\r\n\r\nbody" % number for number in range(5)]
    large = b"POST / HTTP/1.1\r\nX: %b\r\n\r\nbody" % (b"x" * LARGEST_KEPT)

    for data in (*sent, large):
        heads.keep(data, head, b"body")

    known = [data for data in (*sent, large) if heads.find(data) is not None]
    assert known == sent[3:]


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\nPOST / HTTP/1.1\r\n\r\nbody",
        b"POST / HTTP/1.1\n\nbo\r\n\r\ndy",
        b"POST / HTTP/1.1\r\n\r\nbodyPOST",
        b"POST / HTTP/1.1\r\n\r\nbod",
        b"body",
    ],
)
def test_what_is_more_or_less_than_head_and_body_is_not_kept(data: bytes) -> None:
    heads = Heads()

    heads.keep(data, Head("POST", "/", ()), b"body")

    assert heads.find(data) is None


def test_bytes_that_end_before_the_head_does_are_no_known_head() -> None:
    heads, head = Heads(), Head("POST", "/", ())
    heads.keep(b"POST / HTTP/1.1\r\n\r\n", head, b"")

    assert heads.find(b"POST / HTTP/1.1\r\n\r\n") == (head, b"")
    assert heads.find(b"POST / HTTP/1.1") is None
    assert heads.find(b"POST / HTTP/1.1\r\n") is None


def test_what_follows_from_a_head_is_made_once() -> None:
    head, asked = Head("POST", "/mcp", ()), list[Head]()

    def path_of(of: Head) -> str:
        asked.append(of)
        return of.path

    assert [head.made(path_of) for _ in range(3)] == ["/mcp"] * 3
    assert head.made(lambda of: of.method) == "POST"
    assert asked == [head]


CHUNKED = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "body", "other"),
    [
        (CHUNKED + b"4\r\nbody\r\n0\r\n\r\n", b"body", CHUNKED + b"1\r\nx"),
        (b"POST / HTTP/1.1\n\n", b"", b"POST / HTTP/1.1\n\n\r\n\r\n"),
    ],
    ids=["a body in chunks", "ends of lines that are none"],
)
def test_a_head_that_was_not_plain_is_not_known_before_other_bytes_either(
    data: bytes, body: bytes, other: bytes
) -> None:
    heads = Heads()

    heads.keep(data, Head("POST", "/", ()), body)

    assert heads.find(other) is None

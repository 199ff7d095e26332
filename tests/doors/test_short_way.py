"""The short way of `doors/protocol.py`: what takes it, what does not, and that nobody can tell."""

import socket

import anyio
import pytest
from anyio.abc import ByteStream
from tests.doors.raw import answer, closed, in_pieces, post
from tests.doors.worlds import World, serving

from remit.doors.asgi import Exchange
from remit.doors.mcp.http import McpEndpoint
from remit.doors.protocol import WholeExchange


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What took which way, in order."""
    taken: list[str] = []
    whole, general = WholeExchange.__init__, Exchange.__init__

    def note_whole(self: WholeExchange, *given: object) -> None:
        taken.append("short")
        whole(self, *given)  # pyright: ignore[reportArgumentType] - passed on as it came

    def note_general(self: Exchange, *given: object) -> None:
        taken.append("long")
        general(self, *given)  # pyright: ignore[reportArgumentType] - passed on as it came

    monkeypatch.setattr(WholeExchange, "__init__", note_whole)
    monkeypatch.setattr(Exchange, "__init__", note_general)
    return taken


async def test_whole_requests_on_a_kept_connection_take_the_short_way(
    line: ByteStream, ways: list[str]
) -> None:
    for number in (1, 2, 3):
        await line.send(post(number))
        assert (await answer(line, number)).startswith(b"HTTP/1.1 200 OK\r\n")

    assert ways == ["short"] * 3


async def test_a_request_that_comes_in_pieces_takes_the_long_way(
    line: ByteStream, ways: list[str], parsed: list[bytes]
) -> None:
    whole = post(7)
    await in_pieces(line, parsed, whole[:20], whole[20:-30], whole[-30:-5], whole[-5:])

    await answer(line, 7)
    await line.send(post(8))
    await answer(line, 8)

    assert ways == ["long", "short"]


async def test_requests_sent_at_once_are_answered_in_turn(line: ByteStream) -> None:
    await line.send(post(1) + post(2) + post(3))

    received = await answer(line, 3)

    places = [received.index(b'"id":%d' % number) for number in (1, 2, 3)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("lines", "version"),
    [((b"Connection: close",), b"1.1"), ((), b"1.0")],
    ids=["the client closes", "an older client"],
)
async def test_a_connection_that_does_not_go_on_is_closed(
    line: ByteStream, ways: list[str], lines: tuple[bytes, ...], version: bytes
) -> None:
    await line.send(post(1, *lines, version=version))

    await answer(line, 1)

    assert await closed(line)
    assert ways == ["long"]


@pytest.mark.parametrize("path", [b"/mcp?x=1", b"/mc%70"])
async def test_what_is_no_plain_path_takes_the_long_way(
    line: ByteStream, ways: list[str], path: bytes
) -> None:
    await line.send(post(1, path=path))

    with anyio.fail_after(30):
        await line.receive()

    assert ways == ["long"]


async def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(line: ByteStream) -> None:
    whole = post(1, b"Expect: 100-continue")
    head, _, body = whole.partition(b"\r\n\r\n")
    await line.send(head + b"\r\n\r\n")

    with anyio.fail_after(30):
        assert (await line.receive()).startswith(b"HTTP/1.1 100 ")
    await line.send(body)

    await answer(line, 1)


async def test_a_connection_that_rests_is_closed_and_one_in_use_is_not(files_world: World) -> None:
    async with serving(files_world, rest=1) as url:
        port = int(url.rpartition(":")[2])
        async with await anyio.connect_tcp("127.0.0.1", port) as line:
            for number in range(1, 6):
                await line.send(post(number))
                await answer(line, number)

            assert await closed(line)


async def test_bytes_that_are_no_http_are_refused(line: ByteStream) -> None:
    await line.send(b"\x00\x01 nonsense\r\n\r\n")

    with anyio.fail_after(30):
        assert (await line.receive()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("missing", [0, 5], ids=["whole", "without the end of its body"])
async def test_a_path_that_the_parser_takes_for_none_is_refused(
    line: ByteStream, missing: int, caplog: pytest.LogCaptureFixture
) -> None:
    # found by the fuzz: the connection broke, and the log had a traceback
    whole = post(1, path=b"http://[/mcp")
    await line.send(whole[: len(whole) - missing])

    with anyio.fail_after(30):
        assert (await line.receive()).startswith(b"HTTP/1.1 400 ")
    assert await closed(line)
    assert not any(record.exc_info for record in caplog.records)


async def test_a_request_cut_off_in_its_body_answers_nobody(
    files_world: World, ways: list[str]
) -> None:
    async with serving(files_world) as url:
        port = int(url.rpartition(":")[2])
        for cut in (-1, -20):
            with socket.create_connection(("127.0.0.1", port)) as line:
                line.sendall(post(1)[:cut])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(post(2))
            await answer(stream, 2)

    assert ways[-1] == "short"


async def test_a_client_that_leaves_after_the_answer_stops_nobody_who_still_watches_it(
    line: ByteStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    # found by the soak: the watcher of a call that was over spun for ever, and the worker with it
    done = anyio.Event()

    async def answered_and_watched(_: object, exchange: Exchange) -> None:
        await exchange.respond(200, b"{}")
        with anyio.move_on_after(0.5):
            await exchange.gone()
        done.set()

    monkeypatch.setattr(McpEndpoint, "__call__", answered_and_watched)
    await line.send(post(1))
    await line.receive()
    await line.aclose()
    with anyio.fail_after(30):
        await done.wait()

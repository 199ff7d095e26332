"""What offers another protocol is answered over this one, with its body, and nothing behind it."""

import re
import shutil

import anyio
import pytest
from anyio.abc import ByteStream
from tests.doors.raw import PING, answer, closed, in_pieces, post
from tests.doors.worlds import World, serving

from remit.doors.framing import FramingProtocol

H2C = (
    b"Connection: Upgrade, HTTP2-Settings",
    b"Upgrade: h2c",
    b"HTTP2-Settings: AAMAAABkAAQAAP__",
)
FOO = (b"Connection: upgrade", b"uPGRADE: foo", b"Upgrade: bar/2")
WEB_SOCKET = (b"Upgrade: websocket", b"Connection: keep-alive, Upgrade")
OFFERS = pytest.mark.parametrize("offer", [H2C, FOO, WEB_SOCKET], ids=["h2c", "foo", "websocket"])

INNER = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nX: y\r\n\r\n"
"""A body that would be a request."""


def cut(request: bytes) -> tuple[bytes, bytes]:
    """Cut a request behind its head."""
    head, end, body = request.partition(b"\r\n\r\n")
    return head + end, body


def with_body(body: bytes, *lines: bytes, path: bytes = b"/mcp", key: bool = True) -> bytes:
    head = [
        b"POST %b HTTP/1.1" % path,
        b"Host: localhost",
        *([b"Authorization: Bearer reader-key"] if key else []),
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        *lines,
    ]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


@OFFERS
@pytest.mark.parametrize("path", [b"/mcp", b"/mcp?a=b"])
async def test_an_offer_of_another_protocol_is_passed_over(
    line: ByteStream, offer: tuple[bytes, ...], path: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    for number in (1, 2, 3):  # the connection goes on, and the head is known by then
        await line.send(post(number, *offer, path=path))

        assert (await answer(line, number)).startswith(b"HTTP/1.1 200 OK\r\n")
    assert not caplog.records


@OFFERS
async def test_its_body_is_its_own_wherever_the_bytes_are_cut(
    line: ByteStream, parsed: list[bytes], offer: tuple[bytes, ...]
) -> None:
    whole = post(1, *offer)
    for place in range(1, len(whole), 7):
        await in_pieces(line, parsed, whole[:place])
        await line.send(whole[place:])

        assert (await answer(line, 1)).startswith(b"HTTP/1.1 200 OK\r\n"), whole[:place]
        parsed.clear()


@pytest.mark.parametrize("offer", [(), H2C, FOO], ids=["none", "h2c", "foo"])
async def test_a_body_is_never_the_next_request(
    line: ByteStream, parsed: list[bytes], offer: tuple[bytes, ...]
) -> None:
    await in_pieces(line, parsed, *cut(with_body(INNER, *offer)))
    await line.send(with_body(INNER, *offer))
    await line.send(post(7))

    received = await answer(line, 7)

    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"400", b"400", b"200"]


async def test_requests_behind_it_are_answered_in_turn(line: ByteStream) -> None:
    await line.send(
        post(1) + post(2, *H2C) + post(3, *FOO) + with_body(INNER, *FOO) + post(4, *H2C) + post(5)
    )

    received = await answer(line, 5)

    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200"] * 3 + [b"400"] + [b"200"] * 2
    places = [received.index(b'"id":%d' % number) for number in (1, 2, 3, 4, 5)]
    assert places == sorted(places)


async def test_a_body_in_chunks_is_read_too(line: ByteStream, parsed: list[bytes]) -> None:
    head, body = cut(post(1, *H2C))
    head = re.sub(rb"Content-Length: \d+", b"Transfer-Encoding: chunked", head)
    chunks = b"%x\r\n%b\r\n0\r\nUpgrade: foo\r\nConnection: upgrade\r\n\r\n" % (len(body), body)

    await in_pieces(line, parsed, head, chunks[:9])
    await line.send(chunks[9:] + post(2))

    assert re.findall(rb"HTTP/1.1 (\d+)", await answer(line, 2)) == [b"200", b"200"]


@pytest.mark.parametrize(
    ("lines", "version"),
    [((b"Connection: close, Upgrade", b"Upgrade: foo"), b"1.1"), (H2C, b"1.0")],
    ids=["the client closes", "an older client"],
)
async def test_a_connection_that_does_not_go_on_is_answered_and_closed(
    line: ByteStream, parsed: list[bytes], lines: tuple[bytes, ...], version: bytes
) -> None:
    await in_pieces(line, parsed, *cut(post(1, *lines, version=version)))

    assert (await answer(line, 1)).startswith(b"HTTP/1.1 200 OK\r\n")
    assert await closed(line)


async def test_who_waits_to_be_asked_for_the_body_is_asked(line: ByteStream) -> None:
    head, body = cut(post(1, *H2C, b"Expect: 100-continue"))
    await line.send(head)

    with anyio.fail_after(30):
        assert (await line.receive()).startswith(b"HTTP/1.1 100 ")
    await line.send(body)

    await answer(line, 1)


async def test_other_doors_get_the_body_too(line: ByteStream, parsed: list[bytes]) -> None:
    call = b'{"toolName":"nosuchtool","input":{}}'
    request = with_body(call, *H2C, path=b"/mcp/execute")
    await in_pieces(line, parsed, *cut(request))

    with anyio.fail_after(30):
        received = await line.receive()

    assert b"nosuchtool" in received
    await line.send(post(2))
    assert (await answer(line, 2)).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("place", [b"evil.example:443", b"/mcp"])
async def test_what_is_behind_a_connect_is_not_read(line: ByteStream, place: bytes) -> None:
    await line.send(b"CONNECT %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n" % place)
    with anyio.fail_after(30):
        received = await line.receive()

    assert received.startswith(b"HTTP/1.1 400 ")
    assert await closed(line)


@pytest.mark.skipif(shutil.which("curl") is None, reason="has no curl")
async def test_curl_that_offers_http_2_is_answered(files_world: World) -> None:
    async with serving(files_world) as url:
        ran = await anyio.run_process(
            ["curl", "-sS", "--max-time", "30", "--http2", "-d", (PING % 1).decode(),
             "-H", "Authorization: Bearer reader-key", "-H", "Content-Type: application/json",
             "-H", "Accept: application/json, text/event-stream", f"{url}/mcp"]
        )  # fmt: skip

    assert ran.stdout == b'{"jsonrpc":"2.0","id":1,"result":{}}'


async def test_a_connection_whose_next_request_has_begun_is_not_closed_for_its_rest(
    line: ByteStream, parsed: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, feed = list[FramingProtocol](), FramingProtocol.data_received

    def note(self: FramingProtocol, data: bytes) -> None:
        feed(self, data)
        served.append(self)

    monkeypatch.setattr(FramingProtocol, "data_received", note)
    await line.send(post(1))
    await answer(line, 1)
    begun, body = cut(post(2, b"X-Other: a"))
    await in_pieces(line, parsed, begun)

    served[-1].timeout_keep_alive = 0
    served[-1].timeout_keep_alive_handler()  # as the timer of the first answer does
    await line.send(body)

    assert (await answer(line, 2)).startswith(b"HTTP/1.1 200 OK\r\n")

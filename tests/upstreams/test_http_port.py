"""What both implementations of `HttpExchange` promise, against a server that writes raw bytes."""

import gzip
import socket
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, closing

import anyio
import pytest

from remit.errors import UpstreamError, UpstreamProtocolError, UpstreamUnavailable
from remit.model.servers import ServerConfig, Transport
from remit.testing.fleets import PATIENCE, eventually
from remit.testing.raw import CLOSE, Step, bytewise, open_raw_server
from remit.upstreams.http import HttpAnswer, HttpExchange
from remit.upstreams.http_aiohttp import open_aiohttp
from remit.upstreams.relay import open_relay
from remit.upstreams.trust import Trust

Opener = Callable[..., AbstractAsyncContextManager[HttpExchange]]

OK = b"HTTP/1.1 200 OK\r\n"
HI = OK + b"Content-Length: 2\r\n\r\nhi"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@pytest.fixture(params=["relay", "aiohttp"])
def open_exchange(request: pytest.FixtureRequest) -> Opener:
    def open_it(
        url: str, headers: Mapping[str, str] | None = None, *, max_message: int = 1 << 20
    ) -> AbstractAsyncContextManager[HttpExchange]:
        config = ServerConfig(
            name="s", transport=Transport.HTTP, url=url, max_message=max_message, max_concurrency=4
        )
        if request.param == "aiohttp":
            return open_aiohttp(config, url, headers or {})
        return open_relay(config, url, headers or {}, trust=Trust())

    return open_it


async def ask(exchange: HttpExchange, body: bytes = b"{}") -> bytes:
    with anyio.fail_after(PATIENCE), closing(await exchange.prepare("POST", {}).send(body)) as it:
        return await it.read()


async def read_into(got: list[bytes], answer: HttpAnswer) -> None:
    while piece := await answer.piece():
        got += [piece]


@pytest.mark.parametrize(
    "answer",
    [
        HI,
        CHUNKED + b"2\r\nhi\r\n0\r\n\r\n",
        CHUNKED + b"1;name=value\r\nh\r\n1\r\ni\r\n0\r\nX-Trailer: late\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + HI,
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nX-Early: 1\r\n\r\n" + HI,
        b"\r\n" + HI,
    ],
    ids=["length", "chunked", "extensions-and-trailers", "continue", "hints", "empty-line-first"],
)
@pytest.mark.parametrize("cut", [False, True], ids=["at-once", "bytewise"])
async def test_an_answer_is_read_whole_however_it_is_framed_and_the_connection_kept(
    open_exchange: Opener, answer: bytes, cut: bool
) -> None:
    steps = bytewise(answer) if cut else [answer]
    async with open_raw_server(steps, steps) as server, open_exchange(server.url) as exchange:
        request = exchange.prepare("POST", {})
        for _ in range(2):
            with closing(await request.send(b"{}")) as got:
                assert await got.read() == b"hi"
                assert got.status == 200
                assert "x-trailer" not in got.headers
                assert "x-early" not in got.headers
        assert [one.connection for one in server.requests] == [1, 1]


async def test_header_fields_are_found_in_lower_case(open_exchange: Opener) -> None:
    answer = OK + b"CONTENT-type: text/x\r\nMcp-Session-ID:  abc \r\nContent-Length: 0\r\n\r\n"
    async with open_raw_server([answer]) as server, open_exchange(server.url) as exchange:
        with closing(await exchange.prepare("POST", {}).send()) as got:
            assert got.headers.get("content-type") == "text/x"
            assert got.headers.get("mcp-session-id") == "abc"
            assert got.headers.get("location") is None


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"\r\nhi",
        b"HTTP/1.0 200 OK\r\n\r\nhi",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi",
        OK + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    ],
    ids=["no-length", "old", "old-with-length", "close", "chunked-close"],
)
async def test_a_connection_that_ends_with_its_answer_is_used_once(
    open_exchange: Opener, answer: bytes
) -> None:
    async with (
        open_raw_server([answer, CLOSE], [HI]) as server,
        open_exchange(server.url) as exchange,
    ):
        assert await ask(exchange) == b"hi"
        assert await ask(exchange) == b"hi"
        assert [one.connection for one in server.requests] == [1, 2]


@pytest.mark.parametrize("status", [b"204 No Content", b"200 OK"])
async def test_an_answer_without_a_body_leaves_the_connection_usable(
    open_exchange: Opener, status: bytes
) -> None:
    length = b"" if status.startswith(b"204") else b"Content-Length: 0\r\n"
    answer = b"HTTP/1.1 " + status + b"\r\n" + length + b"\r\n"
    async with open_raw_server([answer], [HI]) as server, open_exchange(server.url) as exchange:
        assert await ask(exchange) == b""
        assert await ask(exchange) == b"hi"
        assert server.opened == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTT",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        OK + b"Content-Length: 3\r\n\r\nhi",
        CHUNKED + b"2\r\nhi\r\n",
        CHUNKED + b"5\r\nhi",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
    ids=["nothing", "a-beginning", "half-a-head", "half-a-body", "no-end", "half-a-chunk", "100"],
)
async def test_an_answer_that_breaks_off_is_an_error_after_which_the_outcome_is_unknown(
    open_exchange: Opener, answer: bytes
) -> None:
    # R23; a POST is never sent twice.
    async with (
        open_raw_server([answer, CLOSE], [HI]) as server,
        open_exchange(server.url) as exchange,
    ):
        with pytest.raises(UpstreamUnavailable, match="broke") as caught:
            await ask(exchange)
        assert caught.value.sent
        assert len(server.requests) == 1
        assert await ask(exchange) == b"hi"


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 twohundred OK\r\n\r\n",
        OK + b"no colon here\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi",
        OK + b"X: a\x00b\r\nContent-Length: 2\r\n\r\nhi",
    ],
    ids=["ssh", "status", "field", "negative", "two-lengths", "length-and-chunks", "nul"],
)
async def test_what_is_no_http_is_an_error_and_the_next_request_goes_elsewhere(
    open_exchange: Opener, answer: bytes
) -> None:
    async with open_raw_server([answer], [HI]) as server, open_exchange(server.url) as exchange:
        with pytest.raises(UpstreamUnavailable, match=f"127.0.0.1:{server.port}") as caught:
            await ask(exchange)
        assert caught.value.sent
        assert await ask(exchange) == b"hi"
        assert [one.connection for one in server.requests] == [1, 2]


async def test_chunks_that_are_none_break_the_answer_off(open_exchange: Opener) -> None:
    answer = CHUNKED + b"zz\r\nhi\r\n0\r\n\r\n"
    async with open_raw_server([answer], [HI]) as server, open_exchange(server.url) as exchange:
        with pytest.raises(UpstreamUnavailable) as caught:
            await ask(exchange)
        assert caught.value.sent
        assert await ask(exchange) == b"hi"


@pytest.mark.parametrize(
    "flood",
    [
        OK + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n",
        OK + b"X: y\r\n" * 200_000 + b"\r\n",
        OK + b"x" * 1_000_000,
    ],
    ids=["one-field", "many-fields", "a-name"],
)
async def test_a_head_without_bounds_is_refused(open_exchange: Opener, flood: bytes) -> None:
    async with open_raw_server([flood], [HI]) as server, open_exchange(server.url) as exchange:
        with pytest.raises(UpstreamUnavailable):
            await ask(exchange)
        assert await ask(exchange) == b"hi"


async def test_what_follows_an_answer_is_not_taken_for_the_next_one(open_exchange: Opener) -> None:
    more = OK + b"Content-Length: 3\r\n\r\nbad"
    async with open_raw_server([HI + more], [HI]) as server, open_exchange(server.url) as exchange:
        assert await ask(exchange) == b"hi"
        assert await ask(exchange) == b"hi"
        assert [one.connection for one in server.requests] == [1, 2]


async def test_a_connection_that_was_closed_while_idle_is_not_used(open_exchange: Opener) -> None:
    async with (
        open_raw_server([HI, CLOSE], [HI]) as server,
        open_exchange(server.url) as exchange,
    ):
        assert await ask(exchange) == b"hi"
        # One round trip on another socket lets the news of the end arrive.
        async with await anyio.connect_tcp("127.0.0.1", server.port):
            await eventually(lambda: server.opened == 2)
        assert await ask(exchange) == b"hi"
        assert len(server.requests) == 2


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
async def test_a_body_beyond_max_message_is_refused(open_exchange: Opener, framing: str) -> None:
    body = b"x" * 300_000
    heads = {
        "length": OK + b"Content-Length: 300000\r\n\r\n" + body,
        "chunked": CHUNKED + b"493e0\r\n" + body + b"\r\n0\r\n\r\n",
        "close": OK + b"\r\n" + body,
    }
    async with (
        open_raw_server([heads[framing], CLOSE], [HI]) as server,
        open_exchange(server.url, max_message=100_000) as exchange,
    ):
        with pytest.raises(UpstreamProtocolError, match="max_message"):
            await ask(exchange)
        assert await ask(exchange) == b"hi"


async def test_a_body_of_exactly_max_message_is_taken(open_exchange: Opener) -> None:
    answer = OK + b"Content-Length: 300000\r\n\r\n" + b"x" * 300_000
    async with (
        open_raw_server([answer]) as server,
        open_exchange(server.url, max_message=300_000) as exchange,
    ):
        assert len(await ask(exchange)) == 300_000


@pytest.mark.parametrize("is_chunked", [False, True], ids=["close", "chunked"])
async def test_a_stream_comes_as_it_arrives_and_may_be_left(
    open_exchange: Opener, is_chunked: bool
) -> None:
    def framed(data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data) if is_chunked else data

    head = CHUNKED if is_chunked else OK + b"\r\n"
    go_on = anyio.Event()
    async with (
        open_raw_server([head + framed(b"one"), go_on, framed(b"two")], [HI]) as server,
        open_exchange(server.url) as exchange,
    ):
        with (
            anyio.fail_after(PATIENCE),
            closing(await exchange.prepare("GET", {}).send()) as answer,
        ):
            assert await answer.piece() == b"one"
            go_on.set()
            assert await answer.piece() == b"two"
        await eventually(lambda: server.hung_up == [1])
        assert await ask(exchange) == b"hi"


async def test_a_stream_that_breaks_off_gives_what_came_first(open_exchange: Opener) -> None:
    got: list[bytes] = []
    async with (
        open_raw_server([CHUNKED + b"3\r\none\r\n", CLOSE]) as server,
        open_exchange(server.url) as exchange,
    ):
        with closing(await exchange.prepare("GET", {}).send()) as answer:
            with pytest.raises(UpstreamUnavailable, match="broke off") as caught:
                await read_into(got, answer)
            assert caught.value.sent
    assert b"".join(got) == b"one"


async def test_a_slow_reader_makes_the_server_wait(open_exchange: Opener) -> None:
    whole = 64 << 20
    head = OK + b"Content-Length: %d\r\n\r\n" % whole
    stalled = anyio.Event()
    async with (
        open_raw_server([head, b"x" * whole]) as server,
        open_exchange(server.url, max_message=1 << 30) as exchange,
    ):
        with closing(await exchange.prepare("GET", {}).send()) as answer:
            size = len(await answer.piece())
            # It stands still once the buffers between are full.
            while not stalled.is_set():
                sent = server.sent
                await anyio.wait_all_tasks_blocked()
                with anyio.move_on_after(0.2):
                    await eventually(lambda before=sent: server.sent > before)
                    continue
                stalled.set()
            assert server.sent < whole / 2
            while piece := await answer.piece():
                size += len(piece)
        assert size == whole


async def test_a_caller_that_leaves_takes_its_connection_along(open_exchange: Opener) -> None:
    async with open_raw_server([], [HI]) as server, open_exchange(server.url) as exchange:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, exchange)
            await eventually(lambda: server.requests)
            tasks.cancel_scope.cancel()
        await eventually(lambda: server.hung_up == [1])
        assert await ask(exchange) == b"hi"
        assert [one.connection for one in server.requests] == [1, 2]


async def test_half_a_body_that_is_not_read_takes_its_connection_along(
    open_exchange: Opener,
) -> None:
    half = OK + b"Content-Length: 9\r\n\r\nhalf"
    async with open_raw_server([half], [HI]) as server, open_exchange(server.url) as exchange:
        (await exchange.prepare("POST", {}).send(b"{}")).close()
        assert await ask(exchange) == b"hi"
        assert [one.connection for one in server.requests] == [1, 2]


async def test_a_server_that_is_not_there_has_heard_nothing(open_exchange: Opener) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        port = taken.getsockname()[1]
        async with open_exchange(f"http://127.0.0.1:{port}/mcp?key=sentinel") as exchange:
            with pytest.raises(UpstreamUnavailable, match="connection refused") as caught:
                await ask(exchange)
    assert not caught.value.sent
    assert f"127.0.0.1:{port}" in str(caught.value)
    assert "sentinel" not in str(caught.value)


@pytest.mark.parametrize("status", [b"307 Temporary Redirect", b"308 Permanent Redirect"])
async def test_a_redirect_that_keeps_the_method_is_followed(
    open_exchange: Opener, status: bytes
) -> None:
    away = b"HTTP/1.1 " + status + b"\r\nLocation: /new?a=1\r\nContent-Length: 0\r\n\r\n"
    async with (
        open_raw_server([away], [HI]) as server,
        open_exchange(server.url, {"X-Key": "k"}) as exchange,
    ):
        with closing(await exchange.prepare("POST", {}).send(b"[1]", {"X-Own": "o"})) as answer:
            assert await answer.read() == b"hi"
    first, second = server.requests
    assert first.line == "POST /mcp HTTP/1.1"
    assert second.line == "POST /new?a=1 HTTP/1.1"
    assert second.body == b"[1]"
    assert second.values("x-key") == ["k"]
    assert second.values("x-own") == ["o"]


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (b"302 Found", b"/new"),
        (b"303 See Other", b"/new"),
        (b"304 Not Modified", b"/new"),
        (b"307 Temporary Redirect", b"https://127.0.0.1/new"),
        (b"308 Permanent Redirect", b"http://other.invalid/new?key=sentinel"),
    ],
)
async def test_other_redirects_are_not_followed(
    open_exchange: Opener, status: bytes, location: bytes
) -> None:
    away = b"HTTP/1.1 %s\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, location)
    async with open_raw_server([away], [HI]) as server, open_exchange(server.url) as exchange:
        with pytest.raises(UpstreamUnavailable, match="redirects to") as caught:
            await ask(exchange)
        # These two are answers to a request that was taken, and may have run.
        assert caught.value.sent == (status[:3] in (b"303", b"304"))
        assert "sentinel" not in str(caught.value)
        assert await ask(exchange) == b"hi"


@pytest.mark.parametrize("status", [b"304 Not Modified", b"307 Temporary Redirect"])
async def test_a_redirect_that_leads_nowhere_is_told_as_such(
    open_exchange: Opener, status: bytes
) -> None:
    away = b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % status
    async with open_raw_server([away], [HI]) as server, open_exchange(server.url) as exchange:
        with pytest.raises(UpstreamUnavailable, match="without saying where") as caught:
            await ask(exchange)
        assert caught.value.sent == (status[:3] == b"304")
        assert len(server.requests) == 1


async def test_a_redirect_in_a_circle_ends(open_exchange: Opener) -> None:
    away = b"HTTP/1.1 307 Away\r\nLocation: /mcp\r\nContent-Length: 0\r\n\r\n"
    async with open_raw_server(*[[away]] * 9) as server, open_exchange(server.url) as exchange:
        with pytest.raises(UpstreamUnavailable, match="more than 3 times"):
            await ask(exchange)
        assert len(server.requests) == 3


@pytest.mark.parametrize("bad", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b"])
async def test_no_header_can_be_injected(open_exchange: Opener, bad: str) -> None:
    async with open_raw_server([HI]) as server, open_exchange(server.url) as exchange:
        for fields in ({"X": bad}, {bad: "x"}):
            with pytest.raises(UpstreamUnavailable, match="cannot be used") as caught:
                await exchange.prepare("POST", {}).send(b"{}", fields)
            assert not caught.value.sent
            with pytest.raises(UpstreamUnavailable, match="cannot be used"):
                await exchange.prepare("POST", fields).send(b"{}")
        assert server.requests == []


async def test_a_request_arrives_as_it_was_meant(open_exchange: Opener) -> None:
    headers = {"X-Key": "ü", "accept": "static"}
    async with open_raw_server([HI]) as server:
        url = server.url.replace("//", "//us%40er:pass@") + "/a b?q=%2F&r=x y#fragment"
        async with open_exchange(url, headers) as exchange:
            request = exchange.prepare("POST", {"Accept": "one", "X-More": "1"})
            with closing(await request.send(b"[\n1]", {"ACCEPT": "two", "X-Last": "2"})) as answer:
                await answer.read()
    (got,) = server.requests
    assert got.line in (  # both are the same URL
        "POST /mcp/a%20b?q=%2F&r=x%20y HTTP/1.1",
        "POST /mcp/a%20b?q=/&r=x+y HTTP/1.1",
    )
    assert got.body == b"[\n1]"
    assert got.values("host") == [f"127.0.0.1:{server.port}"]
    assert got.values("content-length") == ["4"]
    assert got.values("user-agent") == ["remit"]
    assert got.values("authorization") == ["Basic dXNAZXI6cGFzcw=="]
    assert got.values("accept") == ["two"]
    assert [got.values(name) for name in ("x-more", "x-last")] == [["1"], ["2"]]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_compressed_body_is_decoded(open_exchange: Opener, coding: str) -> None:
    body = b"hello " * 100_000
    packed = gzip.compress(body) if coding == "gzip" else zlib.compress(body)
    head = OK + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (
        coding.encode(),
        len(packed),
    )
    steps: list[Step] = [head + packed]
    async with open_raw_server(steps, steps) as server, open_exchange(server.url) as exchange:
        assert await ask(exchange) == body
        with closing(await exchange.prepare("GET", {}).send()) as answer:
            got: list[bytes] = []
            await read_into(got, answer)
            assert b"".join(got) == body


@pytest.mark.parametrize(
    ("coding", "body"),
    [(b"gzip", b"nonsense"), (b"gzip", gzip.compress(bytes(1 << 24)))],
    ids=["nonsense", "bomb"],
)
async def test_a_body_that_cannot_be_decoded_within_bounds_is_an_error(
    open_exchange: Opener, coding: bytes, body: bytes
) -> None:
    head = OK + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding, len(body))
    async with open_raw_server([head + body], [HI]) as server, open_exchange(server.url) as opened:
        with pytest.raises(UpstreamError) as caught:
            await ask(opened)
        assert caught.value.sent
        assert await ask(opened) == b"hi"


async def test_calls_at_once_do_not_mix(open_exchange: Opener) -> None:
    async with open_raw_server(*[[HI]] * 40) as server, open_exchange(server.url) as exchange:
        async with anyio.create_task_group() as tasks:
            for _ in range(40):
                tasks.start_soon(ask, exchange)
        assert server.opened <= 6  # max_concurrency and two streams

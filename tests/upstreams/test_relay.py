"""What the relay promises beyond the port: its connections, its bytes, its bounds."""

import gzip
import itertools
import socket
import ssl
import subprocess
import tracemalloc
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.upstreams.transports import TakesAll, connected

from remit.errors import UpstreamProtocolError, UpstreamUnavailable
from remit.testing.fleets import PATIENCE, eventually
from remit.testing.raw import CLOSE, RawServer, open_raw_server
from remit.upstreams.http import place
from remit.upstreams.relay import Relay
from remit.upstreams.relay_answer import MOST_UNREAD, RelayAnswer
from remit.upstreams.relay_bytes import RequestHead, Target
from remit.upstreams.relay_coding import Inflater, decoder_of
from remit.upstreams.relay_connection import MOST_HEAD, RelayConnection
from remit.upstreams.relay_pool import RelayPool
from remit.upstreams.trust import Trust

law = settings(deadline=None)

OK = b"HTTP/1.1 200 OK\r\n"
HI = OK + b"Content-Length: 2\r\n\r\nhi"


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@asynccontextmanager
async def open_relay_to(
    server: RawServer,
    headers: dict[str, str] | None = None,
    *,
    most: int = 4,
    idle: float = 600.0,
    trust: Trust | None = None,
) -> AsyncGenerator[Relay]:
    with anyio.fail_after(PATIENCE):
        target = Target.parse(server.url)
        pool = RelayPool(target, place(server.url), most=most, trust=trust or Trust(), idle=idle)
        try:
            yield Relay(pool, server.url, headers or {}, max_message=1 << 20)
        finally:
            await pool.close()


async def ask(relay: Relay, body: bytes = b"{}") -> bytes:
    with closing(await relay.prepare("POST", {}).send(body)) as answer:
        return await answer.read()


async def in_pieces(answer: RelayAnswer) -> bytes:
    whole = b""
    while piece := await answer.piece():
        whole += piece
    return whole


async def test_who_waits_for_a_connection_is_served_in_order() -> None:
    gate = anyio.Event()
    asked: list[bytes] = []
    async with open_raw_server([gate, HI], *[[HI]] * 9) as server:
        async with open_relay_to(server, most=1) as relay, anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(ask, relay, b"%d" % number)
                await checkpoint()
            await eventually(lambda: server.requests)
            gate.set()
        asked = [request.body for request in server.requests]
        assert server.opened == 1
    assert asked == [b"%d" % number for number in range(10)]


async def test_a_caller_that_stops_waiting_leaves_its_place_to_the_next() -> None:
    gate = anyio.Event()
    async with (
        open_raw_server([gate, HI], [HI]) as server,
        open_relay_to(server, most=1) as relay,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(ask, relay)
        await eventually(lambda: server.requests)
        with anyio.move_on_after(0.01):
            await ask(relay, b"left")
        gate.set()
        assert await ask(relay, b"came") == b"hi"
        assert [request.body for request in server.requests] == [b"{}", b"came"]


async def test_the_connection_used_last_is_taken_first_and_the_others_age() -> None:
    gate = anyio.Event()
    replies = [[gate, HI], [gate, HI], [HI], [HI], [HI]]
    async with (
        open_raw_server(*replies) as server,
        open_relay_to(server, idle=0.5) as relay,
    ):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, relay)
            await eventually(lambda: len(server.requests) == 1)
            tasks.start_soon(ask, relay)
            await eventually(lambda: len(server.requests) == 2)
            gate.set()
        for _ in range(3):
            await ask(relay)
        (used,) = {request.connection for request in server.requests[2:]}
        await eventually(lambda: len(server.hung_up) == 2)
        assert server.hung_up[-1] == used
        assert server.opened == 2


async def test_bytes_that_nobody_asked_for_close_an_idle_connection() -> None:
    go_on = anyio.Event()
    async with open_raw_server([HI, go_on, OK], [HI]) as server, open_relay_to(server) as relay:
        assert await ask(relay) == b"hi"
        go_on.set()
        await eventually(lambda: server.hung_up == [1])
        assert await ask(relay) == b"hi"
        assert [request.connection for request in server.requests] == [1, 2]


async def test_what_follows_an_answer_does_not_spoil_it() -> None:
    async with open_raw_server([HI + b"junk"], [HI]) as server, open_relay_to(server) as relay:
        assert await ask(relay) == b"hi"
        assert await ask(relay) == b"hi"
        assert [request.connection for request in server.requests] == [1, 2]


async def test_a_server_that_hangs_up_at_once_has_heard_nothing_or_may_have() -> None:
    # R23: whichever comes first, a request that was written counts as sent.
    async with open_raw_server() as server, open_relay_to(server) as relay:
        server.greeting = [CLOSE]
        with pytest.raises(UpstreamUnavailable) as caught:
            await ask(relay)
        if not caught.value.sent:
            assert "hung up" in str(caught.value)


async def test_a_failed_connection_gives_its_place_back() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = RawServer(port=taken.getsockname()[1], replies=[])
        async with open_relay_to(server, most=1) as relay:
            for _ in range(3):
                with pytest.raises(UpstreamUnavailable, match="refused"):
                    await ask(relay)


async def test_an_answer_before_the_request_was_taken_ends_the_connection() -> None:
    async with open_raw_server([HI]) as server, open_relay_to(server) as relay:
        server.greeting = [HI]
        request = relay.prepare("POST", {})
        with closing(await request.send(bytes(64 << 20))) as answer:
            assert await answer.read() == b"hi"
        server.greeting = ()
        assert await ask(relay) == b"hi"
        assert server.opened == 2


async def test_closing_fails_what_is_under_way_and_what_waits() -> None:
    failed: list[UpstreamUnavailable] = []

    async def ask_and_fail(relay: Relay) -> None:
        with pytest.raises(UpstreamUnavailable) as caught:
            await ask(relay)
        failed.append(caught.value)

    async with open_raw_server([]) as server, anyio.create_task_group() as tasks:
        async with open_relay_to(server, most=1) as relay:
            tasks.start_soon(ask_and_fail, relay)
            await eventually(lambda: server.requests)
            tasks.start_soon(ask_and_fail, relay)
            await checkpoint()
        await eventually(lambda: len(failed) == 2)
    assert [error.sent for error in failed] == [True, False]


async def test_closing_while_a_connection_opens_leaves_none_open() -> None:
    async with open_raw_server([]) as server, anyio.create_task_group() as tasks:
        async with open_relay_to(server) as relay:
            tasks.start_soon(ask_in_vain, relay)
            await checkpoint()
        await eventually(lambda: server.hung_up == [1])
        assert server.requests == []


async def ask_in_vain(relay: Relay) -> None:
    with pytest.raises(UpstreamUnavailable, match="was stopped") as caught:
        await ask(relay)
    assert not caught.value.sent


async def test_fields_that_frame_a_message_are_ours_alone() -> None:
    copied = {
        "Content-Length": "7",
        "transfer-encoding": "chunked",
        "Connection": "close",
        "X": "1",
    }
    async with open_raw_server([HI], [HI]) as server, open_relay_to(server, copied) as relay:
        request = relay.prepare("POST", copied)
        for _ in range(2):
            with closing(await request.send(b"{}", copied)) as answer:
                await answer.read()
        assert len(server.requests) == 2
        for got in server.requests:
            assert got.connection == 1
            assert got.values("content-length") == ["2"]
            assert got.values("transfer-encoding") == got.values("connection") == []
            assert got.values("x") == ["1"]
            assert got.values("accept-encoding") == []


async def test_a_coding_that_changes_nothing_is_fine() -> None:
    answer = OK + b"Content-Encoding: identity\r\nContent-Length: 2\r\n\r\nhi"
    async with open_raw_server([answer]) as server, open_relay_to(server) as relay:
        assert await ask(relay) == b"hi"


async def test_an_unknown_coding_is_refused() -> None:
    answer = OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\nhi"
    async with open_raw_server([answer], [HI]) as server, open_relay_to(server) as relay:
        with pytest.raises(UpstreamProtocolError, match="Content-Encoding"):
            await ask(relay)
        assert await ask(relay) == b"hi"


async def test_interim_answers_without_end_are_refused() -> None:
    flood = b"HTTP/1.1 102 Processing\r\n\r\n" * (2 * MOST_HEAD // 27)
    async with open_raw_server([flood], [HI]) as server, open_relay_to(server) as relay:
        with pytest.raises(UpstreamUnavailable, match="no HTTP"):
            await ask(relay)
        assert await ask(relay) == b"hi"


async def test_trailers_without_end_are_refused() -> None:
    head = OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
    flood = b"X: y\r\n" * MOST_HEAD
    async with open_raw_server([head, flood]) as server, open_relay_to(server) as relay:
        with pytest.raises(UpstreamUnavailable, match="broke off"):
            await ask(relay)


async def test_a_change_of_protocol_is_refused() -> None:
    answer = b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
    async with open_raw_server([answer]) as server, open_relay_to(server) as relay:
        with pytest.raises(UpstreamUnavailable, match="no HTTP"):
            await ask(relay)


async def test_another_origin_is_not_spoken_to() -> None:
    async with open_raw_server() as server, open_relay_to(server) as relay:
        with pytest.raises(UpstreamUnavailable, match="cannot be used"):
            relay.prepare("POST", {}, url="http://127.0.0.1:1/mcp")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, made = folder / "key.pem", folder / "certificate.pem"
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(key), "-out", str(made))
    making = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    subprocess.run(["openssl", *making, *files, *subject], check=True, capture_output=True)
    return key, made


async def test_tls_is_spoken_where_the_certificate_holds(certificate: tuple[Path, Path]) -> None:
    key, made = certificate
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made, key)
    trust = Trust()
    streamed = OK + b"Transfer-Encoding: chunked\r\n\r\n"
    big = bytes(3 * MOST_UNREAD)
    async with (
        open_raw_server(
            [HI],
            [streamed, b"%x\r\n" % len(big), big, b"\r\n0\r\n\r\n"],
            [OK + b"\r\nhi", CLOSE],
            [HI],
            tls=tls,
        ) as server,
        open_relay_to(server, trust=trust) as relay,
    ):
        with pytest.raises(UpstreamUnavailable, match="certificate") as caught:
            await ask(relay)
        assert not caught.value.sent
        trust.context.load_verify_locations(made)
        assert await ask(relay) == b"hi"
        with closing(await relay.prepare("GET", {}).send()) as answer:
            assert await in_pieces(answer) == big
        assert [request.connection for request in server.requests] == [1, 1]
        assert await ask(relay) == b"hi"
        assert await ask(relay) == b"hi"
        assert [request.connection for request in server.requests][2:] == [1, 2]


ANSWER = (
    b"HTTP/1.1 100 Continue\r\nX: 1\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;x=y\r\none\r\n5\r\n, two\r\n0\r\nLate: 1\r\n\r\n"
)


def started(rested: list[RelayConnection]) -> tuple[RelayConnection, RelayAnswer]:
    connection = connected(TakesAll(), on_rest=rested.append)
    return connection, connection.start(b"", 1 << 20)


def whole(answer: RelayAnswer) -> bytes:
    """Read a body that is there."""
    reading = answer.read()
    try:
        reading.send(None)
    except StopIteration as done:
        return bytes(done.value)
    raise AssertionError("it is not there")


@law
@given(st.sets(st.integers(1, len(ANSWER) - 1)))
def test_an_answer_is_the_same_however_it_is_cut(cuts: set[int]) -> None:
    rested: list[RelayConnection] = []
    connection, answer = started(rested)
    places = [0, *sorted(cuts), len(ANSWER)]
    for start, end in itertools.pairwise(places):
        connection.data_received(ANSWER[start:end])
    assert whole(answer) == b"one, two"
    assert answer.headers == {"a": "b", "transfer-encoding": "chunked"}
    assert rested == [connection]
    assert not connection.is_closing()


@law
@given(st.binary(), st.booleans())
def test_whatever_comes_an_exchange_ends_once(data: bytes, is_http: bool) -> None:
    rested: list[RelayConnection] = []
    connection, answer = started(rested)
    connection.data_received((OK if is_http else b"") + data)
    connection.eof_received()
    connection.connection_lost(None)
    answer.close()
    assert rested == [connection]
    assert connection.is_closing()


def test_a_body_in_tiny_pieces_takes_little_more_memory_than_its_size() -> None:
    connection, answer = started([])
    connection.data_received(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    tracemalloc.start()
    for _ in range(1000):
        connection.data_received(b"2\r\nhi\r\n" * 200)
    connection.data_received(b"0\r\n\r\n")
    assert len(whole(answer)) == 400_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 400_000


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mcp",
        "ftp://host/",
        "http://",
        "http:///x",
        "http://h:99999/",
        "http://a..b/",
        "http://[x",
    ],
)
def test_a_url_that_leads_nowhere_has_no_target(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Target.parse(url)


@pytest.mark.parametrize(
    ("url", "authority", "resource"),
    [
        ("http://Host", "host", "/"),
        ("http://host:80?q", "host", "/?q"),
        ("https://host:443/a;b?c=d%20e#f", "host", "/a;b?c=d%20e"),
        ("https://host:80/", "host:80", "/"),
        ("http://[::1]:8080/ü", "[::1]:8080", "/%C3%BC"),
        ("http://bücher.example/a b\\c", "xn--bcher-kva.example", "/a%20b%5Cc"),
        ("http://h/a\r\nb?c\td", "h", "/ab?cd"),
    ],
)
def test_a_target_is_what_the_request_names(url: str, authority: str, resource: str) -> None:
    target = Target.parse(url)
    assert (target.authority, target.resource) == (authority, resource)


def test_a_target_does_not_show_its_secrets() -> None:
    assert "sentinel" not in repr(Target.parse("http://u:sentinel@h/sentinel?sentinel"))


@law
@given(st.text(), st.text())
def test_a_head_has_exactly_the_lines_it_was_given(name: str, value: str) -> None:
    head = RequestHead("POST", Target.parse("http://h/"), ())
    try:
        lines = head.with_fields({name: value})
    except ValueError:
        return
    assert lines.count(b"\r\n") <= 3
    assert lines.count(b"\r") == lines.count(b"\n") == lines.count(b"\r\n")
    assert b"\0" not in lines


def test_of_two_values_for_one_field_the_later_is_sent() -> None:
    head = RequestHead("GET", Target.parse("http://u@h/"), ({"A": "1"}, {"a": "2", "HOST": "x"}))
    assert head.with_fields({}) == (
        b"GET / HTTP/1.1\r\nHOST: x\r\nAuthorization: Basic dTo=\r\na: 2\r\n"
    )
    assert head.with_fields({"B": "3"}).endswith(b"a: 2\r\nB: 3\r\n")
    assert head.with_fields({"AUTHORIZATION": "t"}) == (
        b"GET / HTTP/1.1\r\nHOST: x\r\nAUTHORIZATION: t\r\na: 2\r\n"
    )


def test_what_latin_1_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match=r"latin-1"):
        RequestHead("GET", Target.parse("http://h/"), ({"A": "\u2713"},))


@law
@given(st.binary(max_size=2000), st.integers(1, 100), st.sampled_from(["gzip", "zlib", "raw"]))
def test_every_kind_of_deflate_is_decoded(data: bytes, step: int, kind: str) -> None:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = {
        "gzip": gzip.compress(data),
        "zlib": zlib.compress(data),
        "raw": raw.compress(data) + raw.flush(),
    }[kind]
    inflater = Inflater()
    got = b"".join(
        piece
        for at in range(0, len(packed), step)
        for piece in inflater.feed(packed[at : at + step])
    )
    inflater.finish()
    assert got == data


def test_what_is_cut_short_is_not_taken_for_whole() -> None:
    inflater = Inflater()
    list(inflater.feed(gzip.compress(b"data" * 100)[:-4]))
    with pytest.raises(UpstreamProtocolError, match="decoded"):
        inflater.finish()


def test_pieces_are_bounded_and_identity_needs_no_decoder() -> None:
    inflater = Inflater()
    pieces = list(inflater.feed(gzip.compress(bytes(1 << 22))))
    assert max(map(len, pieces)) <= 256 * 1024
    assert sum(map(len, pieces)) == 1 << 22
    assert decoder_of(" Identity ") is None

"""What goes wrong between a client and its gateway, and what must not come of it."""

import asyncio
import logging
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import anyio
import pytest
from tests.client.either import Either, open_either

from remit.client import AsyncClient, Client, audit, keys, me, roles
from remit.client.exchange import LARGEST
from remit.client.transport import LIMITS
from remit.errors import CallRefused, ClientError, CredentialRefused, GatewayUnreachable
from remit.testing.faulty_web import Fault, FaultyWeb, as_json, open_faulty_web
from remit.testing.gateway import Running

KINDS = ["asynchronous", "synchronous"]
KEY = "rmt_" + "a" * 12 + "_" + "s" * 43

FORKING = """
import os, sys
from contextlib import suppress
from remit.client import Client, me
from remit.errors import ClientError

def ask():
    with suppress(ClientError):
        client.ask(me.get())

client = Client(sys.argv[1], key=sys.argv[2])
ask()
child = os.fork()
ask() if not child else os.waitpid(child, 0)
if child:
    ask()
"""

either_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def web(gateway: Running) -> Generator[FaultyWeb]:
    """A place on the way to the real gateway where things go wrong."""
    with open_faulty_web(behind=gateway.base) as web:
        yield web


@contextmanager
def answering(*answers: Fault) -> Generator[FaultyWeb]:
    """Serve what no gateway would say, one answer after the other, the last one for ever."""
    left = list(answers)
    with open_faulty_web(lambda _: left.pop(0) if len(left) > 1 else left[0]) as web:
        yield web


def event(data: bytes) -> bytes:
    return b"event: message\ndata: " + data + b"\n\n"


def stream(body: bytes) -> Fault:
    return Fault(status=200, headers={"Content-Type": "text/event-stream"}, body=body)


@either_kind
@pytest.mark.parametrize("way", ["cut", "cut-body", "lost"])
async def test_a_call_is_never_sent_twice_whatever_breaks(
    kind: str, way: Any, web: FaultyWeb, gateway: Running
) -> None:
    async with open_either(kind, web.url, key=gateway.key("reader")) as client:
        await client.list_tools()
        web.fail(Fault(way=way, status=200, body=b'{"jsonrpc"'), method="POST", part="/mcp")
        before = len(web.requests("POST"))
        with pytest.raises(GatewayUnreachable, match="unknown") as broken:
            await client.call_tool("tools__read")
        assert len(web.requests("POST")) == before + 1
        assert not (await client.call_tool("tools__read")).is_error

    assert broken.value.sent


@either_kind
async def test_a_change_is_never_sent_twice_and_what_only_reads_once_more(
    kind: str, web: FaultyWeb, gateway: Running
) -> None:
    async with open_either(kind, web.url, key=gateway.admin_key) as client:
        web.fail(Fault(way="cut"), method="POST")
        with pytest.raises(GatewayUnreachable):
            await client.run("ask", keys.create("once", role="reader"))
        assert len(web.requests("POST")) == 1
        web.fail(Fault(way="cut"), method="GET")
        assert (await client.run("ask", me.get())).admin
        assert len(web.requests("GET")) == 2
        web.fail(Fault(way="cut"), method="GET", times=2)
        with pytest.raises(GatewayUnreachable):
            await client.run("ask", me.get())
    async with open_either(kind, web.url, key=gateway.key("reader")) as client:
        web.fail(Fault(way="cut"), part="/mcp")
        assert await client.list_tools()


@either_kind
async def test_an_answer_that_never_ends_is_given_up(kind: str, web: FaultyWeb) -> None:
    async with open_either(kind, web.url, key=KEY, timeout=0.3) as client:
        for ask in (partial(client.call_tool, "t"), partial(client.run, "ask", me.get())):
            web.fail(Fault(way="stall", status=200, body=b"{"))
            with pytest.raises(GatewayUnreachable, match="did not answer within"):
                await ask()


@contextmanager
def trickling(head: bytes, drop: bytes) -> Generator[str]:
    """Serve an answer that goes on for ever, a drop every few milliseconds."""
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    connection.recv(65536)
                    connection.sendall(head)
                    while not over.wait(0.02):
                        connection.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(30)


@either_kind
@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (b"content-length: 1000000000", b" "),
        (b"content-type: text/event-stream", b": alive\n\n"),
    ],
)
async def test_an_answer_that_trickles_is_given_up(kind: str, head: bytes, drop: bytes) -> None:
    with trickling(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n", drop) as url:
        async with open_either(kind, url, key=KEY, timeout=0.3) as client:
            with pytest.raises(GatewayUnreachable, match="did not answer within"):
                await client.call_tool("t")


@either_kind
async def test_what_never_got_a_connection_was_not_sent(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):  # all that may wait to be taken
            async with open_either(
                kind, f"http://127.0.0.1:{port}", key=KEY, timeout=0.3
            ) as client:
                for ask in (
                    partial(client.call_tool, "t"),
                    partial(client.call_tool, "t", timeout=0),
                    partial(client.run, "ask", me.get()),
                ):
                    with pytest.raises(GatewayUnreachable, match="was not sent") as refused:
                        await ask()
                    assert not refused.value.sent


async def test_a_call_that_waits_for_those_before_it_was_not_sent() -> None:
    told: list[GatewayUnreachable] = []
    with answering(Fault(way="stall", status=200, body=b"{")) as web:
        async with AsyncClient(web.url, key=KEY) as client, anyio.create_task_group() as tasks:
            for _ in range(LIMITS.max_connections or 0):
                tasks.start_soon(client.call_tool, "before")
            await anyio.wait_all_tasks_blocked()
            try:
                await client.call_tool("later", timeout=0.3)
            except GatewayUnreachable as error:
                told.append(error)
            tasks.cancel_scope.cancel()

        assert [one.sent for one in told] == [False]
        assert "at most 100 at once" in str(told[0])
        assert not [one for one in web.requests("POST") if b"later" in one.body]


@either_kind
async def test_an_answer_has_a_largest_size(kind: str) -> None:
    huge = b"x" * (LARGEST + 1)
    with answering(Fault(status=200, body=huge)) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            with pytest.raises(ClientError, match="more than"):
                await client.run("ask", me.get())
    with answering(stream(b"data: " + huge + b"\n\n")) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            with pytest.raises(ClientError, match="more than"):
                await client.call_tool("t")


@either_kind
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nobody_else_ever_gets_the_key(kind: str, status: int) -> None:
    with answering(as_json({})) as elsewhere:
        away = Fault(status=status, headers={"Location": f"{elsewhere.url}/mcp"})
        with answering(away) as web:
            async with open_either(kind, web.url, key=KEY) as client:
                for ask in (
                    client.list_tools,
                    partial(client.call_tool, "t"),
                    partial(client.run, "ask", me.get()),
                    partial(read_whole, client),
                ):
                    with pytest.raises(ClientError, match="leads elsewhere"):
                        await ask()
        assert elsewhere.seen == []


async def read_whole(client: Either) -> None:
    if isinstance(client.client, AsyncClient):
        async with client.client.stream(audit.export()) as parts:
            async for _ in parts:
                pass
    else:
        with client.client.stream(audit.export()) as parts:
            for _ in parts:
                pass


@either_kind
@pytest.mark.parametrize(
    "answer",
    [
        Fault(status=200, body=b""),
        Fault(status=200, body=b"<html>welcome</html>"),
        Fault(status=200, body=b"[" * 100_000),
        Fault(status=200, body=b'"\xff\xfe"'),
        Fault(status=200, headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8b"),
        Fault(status=404, body=b"nothing here"),
        Fault(status=418, headers={"Content-Type": "application/problem+json"}, body=b"[]"),
        Fault(status=502, body=b"<html>bad gateway</html>"),
        as_json([]),
        as_json(None),
        as_json({"result": []}),
        as_json({"result": {"tools": {}, "content": 7, "resultType": "input_required"}}),
        as_json({"error": 7}),
        as_json({"error": {"code": "x", "message": None, "data": []}}),
        as_json({"detail": None, "errors": [7, {"where": None}]}, status=400),
        stream(b""),
        stream(event(b"7")),
        stream(event(b"{")),
        stream(event(b'{"jsonrpc":"2.0","id":"other","result":{"tools":[],"content":[]}}')),
        stream(b"data: \n\n: alive\n\nid\n"),
    ],
)
async def test_whatever_answers_the_client_says_that_it_is_no_gateway(
    kind: str, answer: Fault
) -> None:
    with answering(answer) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            for ask in (
                client.list_tools,
                partial(client.call_tool, "t"),
                partial(client.run, "ask", keys.list_all()),
            ):
                with pytest.raises(ClientError) as told:
                    await ask()
                assert KEY not in "".join(traceback.format_exception(told.value))


@either_kind
async def test_odd_members_of_a_good_answer_are_left_out(kind: str) -> None:
    tools: list[Any] = [
        7,
        {"name": 1, "inputSchema": {}},
        {"name": "a"},
        {"name": "b", "inputSchema": {}},
    ]
    result = {"content": [7, {"text": 1}, {"type": "text", "text": "x"}], "isError": "yes"}
    with answering(as_json({"result": {"tools": tools, "nextCursor": None}})) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            assert [tool.name for tool in await client.list_tools()] == ["b"]
    with answering(as_json({"result": {**result, "_meta": [], "vendor": 1}})) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            found = await client.call_tool("t")

    assert (found.is_error, found.meta, found.text) == (False, {}, "[None]\nx")
    assert found.to_json()["vendor"] == 1


@either_kind
async def test_half_a_character_in_an_answer_loses_no_call(kind: str) -> None:
    body = b'{"id":1,"result":{"content":[{"type":"text","text":"a\\ud800"}]}}'
    progress = b'{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
    odd = (b'{"method":"notifications/progress","params":7}', b'{"method":7}', progress, body)
    for answer in (Fault(status=200, body=body), stream(b"".join(map(event, odd)))):
        with answering(answer) as web:
            async with open_either(kind, web.url, key=KEY) as client:
                assert (await client.call_tool("t")).text == "a\ud800"


@either_kind
async def test_lists_without_an_end_are_given_up(kind: str) -> None:
    page: dict[str, Any] = {"tools": [], "nextCursor": "again"}
    with answering(as_json({"result": page})) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            with pytest.raises(ClientError, match="without an end"):
                await client.list_tools()
    with answering(as_json({"items": [], "next": "again"})) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            with pytest.raises(ClientError, match="without an end"):
                await every_key(client)


async def every_key(client: Either) -> list[Any]:
    if isinstance(client.client, AsyncClient):
        return [key async for key in client.client.pages(keys.list_all())]
    return list(client.client.pages(keys.list_all()))


@either_kind
async def test_what_cannot_be_sent_is_refused_before_anything_is(kind: str) -> None:
    half = "a\ud800"
    with answering(as_json({})) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            for ask in (
                partial(client.call_tool, half),
                partial(client.call_tool, "t", {"x": float("nan")}),
                partial(client.run, "ask", keys.create("k", reason=half)),
                partial(client.run, "ask", roles.remove("r", if_match="a\r\nX-Other: b")),
                partial(client.run, "ask", roles.remove("r", if_match="ü")),
                partial(client.run, "ask", roles.create("r", {"allow": {1, 2}})),
            ):
                with pytest.raises(CallRefused) as refused:
                    await ask()
                assert refused.value.code == "INVALID_INPUT"
        assert web.seen == []


@either_kind
async def test_a_gateway_that_cannot_serve_now_says_when(kind: str) -> None:
    busy = as_json({"error": {"code": -32600, "message": "try again later"}}, 503, Retry_After="5")
    with answering(busy) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            with pytest.raises(GatewayUnreachable, match="try again later") as told:
                await client.call_tool("t")

    assert (told.value.status, told.value.retry_after) == (503, 5)


@either_kind
async def test_a_gateway_that_stops_in_the_middle_of_an_answer_is_one_that_is_away(
    kind: str,
) -> None:
    told = {"message": "the gateway is stopping", "data": {"remit/outcome": "unknown"}}
    with answering(as_json({"error": {"code": -32603, **told}})) as web:
        async with open_either(kind, web.url, key=KEY) as client:
            with pytest.raises(GatewayUnreachable, match="is stopping") as away:
                await client.call_tool("t")

    assert away.value.sent


async def test_closing_ends_what_runs(gateway: Running) -> None:
    client = AsyncClient(gateway.base, key=gateway.key("reader"))
    told: list[ClientError] = []

    async def call() -> None:
        try:
            await client.call_tool("tools__silent")
        except ClientError as error:
            told.append(error)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            await client.aclose()

    assert [str(error) for error in told] == ["the client is closed"] * 3
    with pytest.raises(ClientError, match="closed"):
        await client.list_tools()
    with pytest.raises(ClientError, match="closed"):
        async with client.stream(audit.export()):
            pass


def test_a_client_of_another_event_loop_says_so(gateway: Running) -> None:
    client = AsyncClient(gateway.base, key=gateway.key("reader"))
    with asyncio.Runner() as first:
        first.run(client.list_tools())

        for use in (client.list_tools, client.aclose):
            with pytest.raises(ClientError, match="used in another event loop; make one in each"):
                asyncio.run(use())

        first.run(client.aclose())


def test_a_forked_process_has_connections_of_its_own() -> None:
    with answering(as_json({})) as web:
        done = subprocess.run(
            [sys.executable, "-c", FORKING, web.url, KEY],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        before, childs, after = (one.port for one in web.requests("GET"))

    assert childs not in {before, after}


def test_closing_ends_what_other_threads_wait_for(gateway: Running) -> None:
    client = Client(gateway.base, key=gateway.key("reader"), timeout=8)
    told: list[ClientError] = []
    begun = threading.Event()

    def call() -> None:
        def hear(*_: object) -> None:
            begun.set()

        try:
            client.call_tool("tools__stuck", progress=hear)
        except ClientError as error:
            told.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert begun.wait(30)
    client.close()
    thread.join(30)

    assert [str(error) for error in told] == ["the client is closed"]
    with pytest.raises(ClientError, match="closed"):
        client.list_tools()


@either_kind
async def test_many_callers_share_one_client(kind: str, gateway: Running) -> None:
    found: list[str] = []

    async with open_either(kind, gateway.base, key=gateway.key("reader")) as client:

        async def call(number: int) -> None:
            result = await client.call_tool("tools__read", {"n": number})
            found.append(result.text)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in range(60):
                    tasks.start_soon(call, number)

    assert len(found) == 60


@either_kind
async def test_the_key_is_in_no_log_line(
    kind: str, gateway: Running, caplog: pytest.LogCaptureFixture
) -> None:
    key = gateway.key("reader")
    with caplog.at_level(logging.DEBUG):
        async with open_either(kind, gateway.base, key=key) as client:
            await client.list_tools()
            with pytest.raises(CallRefused):
                await client.call_tool("tools__delete")
        async with open_either(kind, gateway.base, key=KEY) as client:
            with pytest.raises(CredentialRefused) as refused:
                await client.run("ask", me.get())

    assert key not in caplog.text
    assert KEY not in caplog.text
    assert KEY not in "".join(traceback.format_exception(refused.value))


@either_kind
async def test_no_proxy_stands_before_this_machine(
    kind: str, gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    async with open_either(kind, gateway.base, key=gateway.key("reader")) as client:
        assert await client.list_tools()

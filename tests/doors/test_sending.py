"""How answers leave (`doors/sending.py`): among others together, and before what follows them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import ByteStream
from tests.doors.raw import closed, post
from tests.doors.worlds import World, serving

from remit.doors.asgi import Exchange
from remit.doors.mcp.http import McpEndpoint
from remit.doors.protocol import DoorProtocol
from remit.doors.sending import SendingProtocol

WHOLE = b'{"id":1,"result":{}}'

Then = Callable[[DoorProtocol], object]


@pytest.fixture
def protocols(monkeypatch: pytest.MonkeyPatch) -> list[DoorProtocol]:
    """The connections, in their order."""
    made: list[DoorProtocol] = []
    begin = DoorProtocol.connection_made

    def note(self: DoorProtocol, transport: object) -> None:
        made.append(self)
        begin(self, transport)  # pyright: ignore[reportArgumentType] - passed on as it came

    monkeypatch.setattr(DoorProtocol, "connection_made", note)
    return made


@asynccontextmanager
async def two_lines(world: World) -> AsyncGenerator[tuple[ByteStream, ByteStream]]:
    async with serving(world) as url:
        port = int(url.rpartition(":")[2])
        async with (
            await anyio.connect_tcp("127.0.0.1", port) as first,
            await anyio.connect_tcp("127.0.0.1", port) as second,
        ):
            yield first, second


async def received(line: ByteStream) -> bytes:
    with anyio.fail_after(30):
        got = b""
        while WHOLE not in got:
            got += await line.receive()
    return got


def half_closed(protocol: DoorProtocol) -> None:
    protocol.eof_received()  # as the event loop does
    protocol.transport.close()


def nonsense(protocol: DoorProtocol) -> None:
    protocol.data_received(b"\x00 nonsense\r\n\r\n")


@pytest.mark.parametrize(
    ("then", "follows"),
    [
        (DoorProtocol.shutdown, b""),
        (half_closed, b""),
        (nonsense, b"HTTP/1.1 400 "),
        (DoorProtocol.end_slow_head, b"HTTP/1.1 408 "),
    ],
    ids=[
        "the end of the connection",
        "the end of what the client sends",
        "a refusal of what is no request",
        "one of a slow head",
    ],
)
async def test_an_answer_that_is_held_leaves_before_what_follows_it(
    files_world: World,
    protocols: list[DoorProtocol],
    monkeypatch: pytest.MonkeyPatch,
    then: Then,
    follows: bytes,
) -> None:
    go_on = anyio.Event()
    held: list[bool] = []

    async def answered(_: object, exchange: Exchange) -> None:
        asked = protocols[0] if b'"id":1,' in await exchange.body() else protocols[1]
        if asked is protocols[1]:
            await go_on.wait()
        else:
            monkeypatch.setattr(asked, "send_soon", note)
        await exchange.respond(200, WHOLE)
        if asked is protocols[0]:
            then(asked)

    def note(answer: bytes) -> None:
        held.append(True)
        DoorProtocol.send_soon(protocols[0], answer)

    monkeypatch.setattr(McpEndpoint, "__call__", answered)
    async with two_lines(files_world) as (first, second):
        await second.send(post(2))
        with anyio.fail_after(30):
            while len(protocols) < 2 or not protocols[1].tasks:
                await anyio.lowlevel.checkpoint()
        await first.send(post(1))

        got = await received(first)
        assert got.startswith(b"HTTP/1.1 200 OK\r\n")
        with anyio.fail_after(30):
            while follows not in got:
                got += await first.receive()
        assert await closed(first)
        go_on.set()
        assert WHOLE in await received(second)
    assert held == [True]


async def test_an_answer_alone_leaves_at_once_and_the_client_is_waited_for(
    files_world: World, protocols: list[DoorProtocol], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(SendingProtocol, "send_soon")
    asked: list[bool] = []

    async def answered(_: object, exchange: Exchange) -> None:
        asked.append(protocols[0].promptness.since == 0)
        await exchange.respond(200, WHOLE)
        asked.append(protocols[0].promptness.since > 0)

    monkeypatch.setattr(McpEndpoint, "__call__", answered)
    async with two_lines(files_world) as (line, _):
        for _ in range(2):
            await line.send(post(1))
            await received(line)

    assert asked == [True] * 4

"""How answers leave (`doors/sending.py`): among others together, and before what follows them."""

import asyncio
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import ByteStream
from tests.doors.raw import answer, closed, post

from remit.doors.asgi import Exchange
from remit.doors.mcp.http import McpEndpoint
from remit.doors.protocol import DoorProtocol
from remit.doors.sending import SendingProtocol
from remit.upstreams.company import Company

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


class Noted:
    """A transport that takes note of what it writes."""

    def __init__(self, transport: asyncio.Transport, written: list[bytes]) -> None:
        self._transport = transport
        self._written = written

    def write(self, data: bytes) -> None:
        self._written.append(data)
        self._transport.write(data)

    def is_closing(self) -> bool:
        return self._transport.is_closing()


def others(_: Company) -> bool:
    return True


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
    protocols: list[DoorProtocol],
    line: ByteStream,
    monkeypatch: pytest.MonkeyPatch,
    then: Then,
    follows: bytes,
) -> None:
    async def answered(_: object, exchange: Exchange) -> None:
        await exchange.respond(200, WHOLE)
        then(protocols[0])

    monkeypatch.setattr(Company, "has_others", others)
    monkeypatch.setattr(McpEndpoint, "__call__", answered)
    await line.send(post(1))

    got = await received(line)
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    with anyio.fail_after(30):
        while follows not in got:
            got += await line.receive()
    assert await closed(line)


async def test_an_answer_in_company_leaves_at_the_end_of_the_turn(
    protocols: list[DoorProtocol], line: ByteStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[bool] = []

    async def answered(_: object, exchange: Exchange) -> None:
        written: list[bytes] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(protocols[0], "transport", Noted(protocols[0].transport, written))
            await exchange.respond(200, WHOLE)
            left.append(bool(written))
            await anyio.lowlevel.checkpoint()
        left.append(bool(written))

    monkeypatch.setattr(Company, "has_others", others)
    monkeypatch.setattr(McpEndpoint, "__call__", answered)
    await line.send(post(1))
    await received(line)

    assert left == [False, True]


async def test_an_answer_alone_leaves_at_once_and_the_client_is_waited_for(
    protocols: list[DoorProtocol], line: ByteStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(SendingProtocol, "send_soon")
    asked: list[bool] = []

    async def answered(_: object, exchange: Exchange) -> None:
        asked.append(protocols[0].promptness.since == 0)
        await exchange.respond(200, WHOLE)
        asked.append(protocols[0].promptness.since > 0)

    monkeypatch.setattr(McpEndpoint, "__call__", answered)
    for _ in range(2):
        await line.send(post(1))
        await received(line)

    assert asked == [True] * 4


async def test_a_stop_has_no_request_to_wait_for_that_was_answered(
    protocols: list[DoorProtocol], line: ByteStream
) -> None:
    for number in (1, 2, 3):
        await line.send(post(number))
        await answer(line, number)
    await anyio.lowlevel.checkpoint()

    assert not protocols[0].tasks

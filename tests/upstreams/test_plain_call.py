"""What nearly every call is: an answer that begins as the last one did, and comes in one piece.

It is made cheap by remembering, and what is remembered must never be seen from outside.
"""

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.upstreams.transports import TakesAll, connected

import remit.upstreams
from remit.errors import UnreadableAnswer, UpstreamError
from remit.model.servers import ServerConfig, Transport
from remit.testing.fleets import call_tool, open_servers
from remit.upstreams import promptness
from remit.upstreams.fleet import Fleet
from remit.upstreams.relay_answer import RelayAnswer
from remit.upstreams.relay_connection import RelayConnection

MOST_STEPS = 50
"""Functions of `remit.upstreams` that a plain call enters, or goes on in after a wait."""

OK = b"HTTP/1.1 200 OK\r\n"
HEADS = (
    OK + b"Content-Type: application/json\r\nContent-Length: %s\r\n\r\n",
    OK + b"content-length: %s\r\nDate: Sat, 28 Nov 2026 11:00:00 GMT\r\n\r\n",
    OK + b"Content-Length:%s \r\nconnection: close\r\n\r\n",
    OK + b"Content-Length: %s\r\nContent-Length: 3\r\n\r\n",
    OK + b"X-Content-Length: 3\r\ncontent-Length: %s\r\n\r\n",
    OK + b"Content-Length: %s\r\nTransfer-Encoding: chunked\r\n\r\n",
    OK + b"X: %s\r\n\r\n",
    OK + b"Content-Type: text/event-stream\r\nContent-Length: %s\r\n\r\n",
    OK + b"Content-Encoding: gzip\r\nContent-Length: %s\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nContent-Length: %s\r\n\r\n",
    b"HTTP/1.1 204 None\r\nContent-Length: %s\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: %s\r\n\r\n",
    b"HTTP/1.1 500 Oh\r\nContent-Length: %s\r\n\r\n",
)
LENGTHS = (
    "",
    "0",
    "3",
    "03",
    "+3",
    "-3",
    "3 ",
    " 3",
    "3\r",
    "0x3",
    "5",
    "3" * 9,
    "0" * 10,
    "9" * 5000,
)
NO_BODY = HEADS[10] % b"3"
BODIES = (b"", b"one", b"three", b"\r\n\r", b"3\r\none\r\n0\r\n\r\n", OK, HEADS[0] % b"3" + b"one")


@pytest.fixture(scope="module", autouse=True)
def asleep() -> Generator[None]:
    """Nobody stays awake: most of these exchanges have no event loop to do it in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(promptness, "WINDOW", 0.0)
        yield


class Resting:
    """A connection, and how often it came to rest."""

    def __init__(self) -> None:
        self.rested = 0
        self.connection = connected(TakesAll(), on_rest=self.take_note)

    def take_note(self, connection: RelayConnection) -> None:
        assert connection is self.connection
        self.rested += 1

    def exchange(self, *pieces: bytes) -> object:
        """Return all that can be seen of an exchange, and of the connection after it."""
        before = self.rested
        answer = self.connection.start(b"", 1 << 20)
        for piece in pieces:
            self.connection.data_received(piece)
        fields = {k: v for k, v in answer.headers.items() if k != "content-length"}
        seen = (answer.status, fields, read(answer), self.rested - before)
        answer.close()
        return (*seen, self.rested - before, not self.connection.is_closing())


def read(answer: RelayAnswer) -> object:
    """Return the body if it is there, whole."""
    reading = answer.read()
    try:
        reading.send(None)
    except StopIteration as done:
        return bytes(done.value)
    except UpstreamError as error:
        return type(error), str(error)
    except RuntimeError:  # there is no event loop to wait in
        return None
    raise AssertionError("it waits for nothing")


answers = st.tuples(
    st.sampled_from(HEADS), st.sampled_from(LENGTHS), st.sampled_from(BODIES), st.binary(max_size=2)
).map(lambda parts: parts[0] % parts[1].encode() + parts[2] + parts[3])
mostly_good = st.one_of(
    answers,
    st.tuples(st.sampled_from(HEADS[:2]), st.binary(max_size=12)).map(
        lambda parts: parts[0] % b"%d" % len(parts[1]) + parts[1]
    ),
)


@settings(deadline=None, max_examples=400)
@given(st.lists(mostly_good, max_size=5), mostly_good, st.integers(0, 200))
@example([HEADS[0] % b"3" + b"one"], HEADS[0] % (b"9" * 5000) + b"one", 200)
@example([HEADS[0] % b"3" + b"one"], HEADS[0] % b"3" + b"one" + HEADS[0] % b"3" + b"one", 200)
@example([HEADS[0] % b"3" + b"one"], HEADS[0] % b"3" + b"one", 20)
@example([NO_BODY + b"\r\n\r"], NO_BODY + b"one", 0)  # blank lines before an answer are none
def test_what_came_before_changes_nothing_in_what_an_answer_is(
    before: list[bytes], data: bytes, cut: int
) -> None:
    pieces = [piece for piece in (data[:cut], data[cut:]) if piece]
    used = Resting()
    for earlier in before:
        used.exchange(earlier)
        if used.connection.is_closing():
            used = Resting()
    assert used.exchange(*pieces) == Resting().exchange(*pieces)


def test_an_answer_like_the_last_one_is_not_parsed_again() -> None:
    connection = Resting()
    parsed: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        del argument
        if event == "call":
            parsed[frame.f_code.co_name] += 1

    connection.exchange(HEADS[1] % b"3" + b"one")
    sys.setprofile(note)
    try:
        seen = connection.exchange(HEADS[1] % b"5" + b"three")
        unlike = connection.exchange(HEADS[0] % b"3" + b"one")
    finally:
        sys.setprofile(None)
    assert seen == Resting().exchange(HEADS[1] % b"5" + b"three")
    assert unlike == Resting().exchange(HEADS[0] % b"3" + b"one")
    assert parsed["on_header"] == 2  # of the one that is unlike the first


def twice(head: bytes, body: bytes, *, max_message: int = 1 << 20) -> RelayAnswer:
    """Return the second of two answers that are alike."""
    connection, answers = Resting().connection, list[RelayAnswer]()
    for _ in range(2):
        answers.append(connection.start(b"", max_message))
        connection.data_received(head % b"%d" % len(body) + body)
    return answers[-1]


def test_the_body_of_an_answer_like_the_last_one_is_there_at_once() -> None:
    answer = twice(HEADS[0], b"three")

    assert answer.whole == b"three" == read(answer)


@pytest.mark.parametrize(
    "field",
    [
        b"Content-Type: text/event-stream",
        b"Content-Type: Text/Event-Stream; charset=utf-8",
        b"Content-Encoding: gzip",
        b"content-encoding: identity",
    ],
)
def test_a_stream_of_events_and_what_is_compressed_are_not_taken_for_a_body(field: bytes) -> None:
    head = OK + field + b"\r\nContent-Length: %s\r\n\r\n"

    assert twice(head, b"data: 1\n\n").whole is None


def test_a_body_beyond_max_message_is_not_there_at_once() -> None:
    answer = twice(HEADS[0], b"three", max_message=4)

    assert answer.whole is None
    assert read(answer) == (UnreadableAnswer, "answered with more bytes than its max_message")


class Brief(asyncio.Protocol):
    """A modern server that says the least, each time in one piece.

    Attributes:
        names: What each call was of, by its header.
    """

    def __init__(self, tools: int, names: list[str]) -> None:
        listed = ",".join(f'{{"name":"t{number}","inputSchema":{{}}}}' for number in range(tools))
        self._results = {
            "server/discover": '{"supportedVersions":["2026-07-28"],"capabilities":{}}',
            "tools/list": f'{{"tools":[{listed}]}}',
            "tools/call": '{"content":[]}',
        }
        self.names = names
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, end, body = self._held.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        if not end or length is None or len(body) < int(length[1]):
            return
        self._held = b""
        asked = json.loads(body)
        name = re.search(rb"Mcp-Name: (\S+)", head, re.IGNORECASE)
        if name is not None:
            self.names.append(name[1].decode())
        result = self._results[asked["method"]]
        said = f'{{"jsonrpc":"2.0","id":{asked["id"]},"result":{result}}}'.encode()
        self._transport.write(HEADS[0] % b"%d" % len(said) + said)


@asynccontextmanager
async def open_brief(tools: int) -> AsyncGenerator[tuple[Fleet, list[str]]]:
    """Give a fleet of one such server, and the names that it was called with."""
    names: list[str] = []
    loop = asyncio.get_running_loop()
    async with await loop.create_server(partial(Brief, tools, names), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/mcp"
        async with open_servers(ServerConfig(name="s", transport=Transport.HTTP, url=url)) as fleet:
            yield fleet, names


async def test_a_plain_call_takes_few_steps() -> None:
    # Unlike time, their number is the same on every machine; what makes it grow is felt.
    steps: Counter[str] = Counter()
    ours = str(Path(remit.upstreams.__file__).parent)

    def note(frame: FrameType, event: str, argument: object) -> None:
        del argument
        if event == "call" and frame.f_code.co_filename.startswith(ours):
            steps[frame.f_code.co_qualname] += 1

    async with open_brief(1) as (fleet, _):
        for _ in range(2):
            await call_tool(fleet, "s", "t0", meta=b'{"a":1}')
        sys.setprofile(note)
        try:
            await call_tool(fleet, "s", "t0", meta=b'{"a":1}')
        finally:
            sys.setprofile(None)
    assert steps["RelayConnection.data_received"] == 1
    assert steps.total() <= MOST_STEPS, steps.most_common()


async def test_each_tool_of_many_goes_by_its_own_name() -> None:
    # More than the requests that are remembered, and the first of them once more.
    async with open_brief(600) as (fleet, names):
        wanted = [f"t{number}" for number in (*range(600), 0)]
        for name in wanted:
            await call_tool(fleet, "s", name)
    assert names == wanted

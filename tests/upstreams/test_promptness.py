"""Staying awake for an answer that is about to come, and leaving together."""

import asyncio
from contextlib import closing
from functools import partial

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.upstreams.transports import TakesAll, Together, connected

from remit.errors import UpstreamUnavailable
from remit.testing.raw import open_raw_server
from remit.upstreams import promptness
from remit.upstreams.company import Company
from remit.upstreams.http import place
from remit.upstreams.promptness import WINDOW, Promptness
from remit.upstreams.relay import Relay
from remit.upstreams.relay_bytes import Target
from remit.upstreams.relay_connection import RelayConnection
from remit.upstreams.relay_pool import RelayPool
from remit.upstreams.trust import Trust

HI = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Clock:
    """A clock that is set by hand, and knows how often it was looked at."""

    def __init__(self) -> None:
        self.now = 1.0
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(promptness, "monotonic", clock)
    return clock


async def awake_for(clock: Clock, turns: int) -> int:
    """Return in how many turns of the event loop somebody looked at the clock."""
    before = clock.looks
    for _ in range(turns):
        await checkpoint()
    return clock.looks - before


async def spoke_after(one: Promptness, clock: Clock, seconds: float) -> None:
    one.begin()
    clock.now += seconds
    one.end()
    await awake_for(clock, 3)  # so that nobody looks any more


async def test_who_has_not_answered_at_once_is_waited_for_asleep(clock: Clock) -> None:
    one = Promptness()
    one.begin()
    assert await awake_for(clock, 5) == 0  # the first time, nothing is known

    clock.now += 2 * WINDOW
    one.end()
    one.begin()
    assert await awake_for(clock, 5) == 0


async def test_who_answered_at_once_is_waited_for_awake_and_not_for_long(clock: Clock) -> None:
    one = Promptness()
    await spoke_after(one, clock, WINDOW / 2)

    one.begin()
    assert await awake_for(clock, 5) >= 4
    clock.now += 2 * WINDOW
    await awake_for(clock, 2)
    assert await awake_for(clock, 5) == 0


async def test_nobody_stays_awake_once_the_other_side_has_spoken(clock: Clock) -> None:
    one = Promptness()
    await spoke_after(one, clock, 0)

    one.begin()
    await checkpoint()
    one.end()
    await awake_for(clock, 2)
    assert await awake_for(clock, 5) == 0


async def test_who_lets_it_wait_once_loses_it_until_it_was_prompt_again(clock: Clock) -> None:
    one = Promptness()
    await spoke_after(one, clock, 0)
    await spoke_after(one, clock, 2 * WINDOW)

    one.begin()
    assert await awake_for(clock, 5) == 0
    one.end()
    one.begin()
    assert await awake_for(clock, 5) >= 4


class Sent(TakesAll):
    """A transport that keeps what it was given."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))


def among_others() -> tuple[RelayConnection, Sent]:
    sent = Sent()
    loop = asyncio.get_running_loop()
    return connected(sent, company=Together(), loop=loop), sent


async def test_a_request_among_others_leaves_at_the_end_of_the_turn() -> None:
    connection, sent = among_others()

    connection.start(b"request", 100)
    assert sent.written == []

    await checkpoint()
    assert sent.written == [b"request"]


async def test_a_request_that_is_given_up_before_it_left_is_never_sent() -> None:
    connection, sent = among_others()

    connection.start(b"request", 100).close()
    await checkpoint()

    assert sent.written == []
    assert sent.closed


async def test_an_answer_before_the_request_has_left_ends_the_connection() -> None:
    connection, sent = among_others()

    answer = connection.start(b"request", 100)
    connection.data_received(HI)
    await checkpoint()

    assert await answer.read() == b"hi"
    assert sent.written == []
    assert sent.closed


@pytest.mark.parametrize(("turns", "sent"), [(0, False), (1, True)])
async def test_a_request_that_never_left_a_lost_connection_counts_as_not_sent(
    turns: int, sent: bool
) -> None:
    # R23: such a call may be made once more, whatever its tool does.
    connection, transport = among_others()
    answer = connection.start(b"request", 100)
    for _ in range(turns):
        await checkpoint()

    transport.close()  # as the event loop does at the end of what the server sends
    await checkpoint()
    connection.connection_lost(None)

    with pytest.raises(UpstreamUnavailable) as caught:
        await answer.news()
    assert caught.value.sent == sent
    assert transport.written == [b"request"] * sent


async def test_what_leaves_in_one_turn_is_in_company_and_so_is_what_leaves_in_the_next() -> None:
    company = Company()

    assert [company.has_others(), company.has_others()] == [False, True]
    await checkpoint()
    assert company.has_others()
    await checkpoint()
    assert not company.has_others()
    await checkpoint()
    await checkpoint()
    assert not company.has_others()


async def test_what_cannot_be_sent_keeps_nobody_else_and_is_told() -> None:
    company, sent, told = Company(), list[int](), list[object]()

    def fail() -> None:
        raise RuntimeError("the handler is closed")

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(
        lambda _, context: told.append(f"{context['message']}: {context['exception']}")
    )
    for send in (partial(sent.append, 1), fail, partial(sent.append, 2)):
        company.hold(send)
    await checkpoint()

    assert sent == [1, 2]
    assert told == ["what was held cannot be sent: the handler is closed"]


async def test_a_request_waits_for_the_end_of_the_turn_in_company_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together: list[bool] = []
    has_others = Company.has_others

    def note(self: Company) -> bool:
        together.append(has_others(self))
        return together[-1]

    async def ask() -> None:
        with closing(await relay.prepare("POST", {}).send(b"{}")) as answer:
            await answer.read()

    monkeypatch.setattr(Company, "has_others", note)
    async with open_raw_server(*[[HI]] * 7) as server:
        pool = RelayPool(Target.parse(server.url), place(server.url), most=8, trust=Trust())
        relay = Relay(pool, server.url, {}, max_message=100)
        for calls in (2, 1, 1, 1, 2):  # the first two open connections, the last two find them
            async with anyio.create_task_group() as tasks:
                for _ in range(calls):
                    tasks.start_soon(ask)
        await pool.close()

    assert together[3:] == [False, False, False, True]

"""What every place that counts calls has to do: memory, both databases, Redis (T23, issue 4)."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import urlsplit
from uuid import uuid4

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis
from sqlalchemy import text

from remit.calls.allowances import OwnAllowances
from remit.calls.limit import Allowances
from remit.model.limits import Allowance, Shortage
from remit.storage.database import default_url, open_database
from remit.storage.limits import SlotsInDatabase
from remit.storage.limits_redis import open_windows


@dataclass(slots=True)
class Clock:
    """A clock that stands unless it is put forward."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """A place that counts, as several workers have it.

    Attributes:
        let_pass: Makes everything that was counted so many seconds older.
    """

    workers: tuple[Allowances, ...]
    let_pass: Callable[[float], Awaitable[None]]
    mark: str = field(default_factory=lambda: uuid4().hex)

    def allowance(self, calls: int, seconds: int = 60, name: str = "a") -> Allowance:
        return Allowance(
            key=f"{self.mark}-{name}", calls=calls, seconds=seconds, rule="limits[0]", rate=""
        )

    async def take(self, *wanted: Allowance, worker: int = 0) -> Shortage | None:
        return await self.workers[worker % len(self.workers)].take(wanted)

    async def took(self, *wanted: Allowance, worker: int = 0) -> bool:
        return await self.take(*wanted, worker=worker) is None


async def _in_memory() -> AsyncGenerator[Counting]:
    clock = Clock()

    async def let_pass(seconds: float) -> None:
        clock.now += seconds

    yield Counting(workers=(OwnAllowances(clock),), let_pass=let_pass)


async def _in_database(url: str) -> AsyncGenerator[Counting]:
    async with open_database(url) as one, open_database(url) as two:

        async def let_pass(seconds: float) -> None:
            async with one.writing() as connection:
                older = text("UPDATE limit_slots SET free_at = free_at - :seconds")
                await connection.execute(older, {"seconds": seconds})

        yield Counting(workers=(SlotsInDatabase(one), SlotsInDatabase(two)), let_pass=let_pass)


OLDER = """
for _, key in ipairs(redis.call('KEYS', '*' .. ARGV[1] .. '*')) do
  for at, use in ipairs(redis.call('LRANGE', key, 0, -1)) do
    redis.call('LSET', key, at - 1, string.format('%.6f', use - ARGV[2]))
  end
end
"""


class _Client(Protocol):
    async def eval(self, script: str, keys: int, *arguments: str) -> object: ...

    async def aclose(self) -> None: ...


async def _in_redis(url: str) -> AsyncGenerator[Counting]:
    port = urlsplit(url).port or 0
    async with open_windows(url) as one, open_windows(url) as two:
        mark, client = uuid4().hex, cast("_Client", Redis(port=port))

        async def let_pass(seconds: float) -> None:
            await client.eval(OLDER, 0, mark, str(seconds))

        yield Counting(workers=(one, two), let_pass=let_pass, mark=mark)
        await client.aclose()


@pytest.fixture(params=["memory", "sqlite", "postgresql", "redis"])
async def counting(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Counting]:
    if request.param == "memory":
        opened = _in_memory()
    elif request.param == "redis":
        opened = _in_redis(request.getfixturevalue("redis_url"))
    elif request.param == "sqlite":
        opened = _in_database(default_url(tmp_path))
    else:
        opened = _in_database(request.getfixturevalue("postgres_url"))
    async for one in opened:
        yield one


async def test_as_many_calls_as_a_limit_says_go_through(counting: Counting) -> None:
    three = counting.allowance(3)

    taken = [await counting.took(three, worker=n) for n in range(5)]

    assert taken == [True, True, True, False, False]


async def test_a_call_that_has_to_wait_is_told_how_long(counting: Counting) -> None:
    two = counting.allowance(2)
    await counting.take(two)
    await counting.let_pass(20)
    await counting.take(two)

    shortage = await counting.take(two)

    assert shortage is not None
    assert shortage.at == 0
    assert 30 < shortage.wait <= 40


async def test_the_window_moves_and_does_not_start_anew(counting: Counting) -> None:
    # two calls late in one minute and two early in the next are four in a minute
    two = counting.allowance(2)
    await counting.take(two)
    await counting.let_pass(50)
    await counting.take(two)
    await counting.let_pass(11)

    assert await counting.took(two)
    assert not await counting.took(two)
    await counting.let_pass(50)
    assert await counting.took(two)
    assert not await counting.took(two)


async def test_waiting_as_long_as_one_is_told_is_enough(counting: Counting) -> None:
    one = counting.allowance(1, seconds=3600)
    await counting.take(one)
    shortage = await counting.take(one)
    assert shortage is not None

    await counting.let_pass(shortage.wait + 0.001)

    assert await counting.took(one)


async def test_a_call_that_had_to_wait_counts_for_nothing(counting: Counting) -> None:
    # T23: denied attempts do not eat quota
    one = counting.allowance(1)
    await counting.take(one)
    for _ in range(5):
        await counting.let_pass(10)
        assert not await counting.took(one)

    await counting.let_pass(11)

    assert await counting.took(one)


async def test_one_key_is_nothing_to_another(counting: Counting) -> None:
    mine, yours = counting.allowance(1, name="a"), counting.allowance(1, name="b")
    await counting.take(mine)

    assert await counting.took(yours)
    assert not await counting.took(mine)


async def test_of_several_limits_a_call_counts_against_all_or_none(counting: Counting) -> None:
    wide, narrow = counting.allowance(3, name="wide"), counting.allowance(1, name="narrow")
    assert await counting.took(wide, narrow)

    shortage = await counting.take(wide, narrow)
    assert shortage is not None
    assert shortage.at == 1

    assert await counting.took(wide)
    assert await counting.took(wide)
    assert not await counting.took(wide)


@pytest.mark.parametrize("turned", [False, True])
async def test_of_several_limits_the_longest_wait_is_told(counting: Counting, turned: bool) -> None:
    soon = counting.allowance(1, seconds=60, name="soon")
    late = counting.allowance(1, seconds=3600, name="late")
    wanted = (late, soon) if turned else (soon, late)
    await counting.take(*wanted)

    shortage = await counting.take(*wanted)

    assert shortage is not None
    assert wanted[shortage.at] is late
    assert 3500 < shortage.wait <= 3600


async def test_how_many_calls_count_now_is_told_and_counts_none(counting: Counting) -> None:
    # T23
    three, two = counting.allowance(3), counting.allowance(2)
    other = counting.allowance(3, name="other")

    async def used(worker: int) -> list[int]:
        return list(await counting.workers[worker].used((three, other, two)))

    assert await used(-1) == [0, 0, 0]
    await counting.take(three)
    await counting.let_pass(50)
    for worker in range(3):  # the last one has to wait, and counts for nothing
        await counting.take(three, worker=worker)

    assert await used(0) == await used(-1) == [3, 0, 2]
    await counting.let_pass(11)
    assert (await used(-1))[0] == 2
    assert await counting.took(three)


@pytest.mark.parametrize("counting", ["sqlite", "postgresql", "redis"], indirect=True)
async def test_a_clock_that_is_set_back_blocks_nobody_for_as_long(counting: Counting) -> None:
    two = counting.allowance(2)
    for _ in range(2):
        await counting.take(two)

    await counting.let_pass(-30)  # less than a span: what was counted may be of a minute ago
    shortage = await counting.take(two)
    assert shortage is not None
    assert shortage.wait <= 2 * two.seconds

    await counting.let_pass(-3600)
    assert await counting.workers[0].used((two,)) == [0]
    assert [await counting.took(two, worker=n) for n in range(3)] == [True, True, False]
    assert await counting.workers[0].used((two,)) == [2]


async def test_a_limit_that_is_raised_or_lowered_goes_on_counting(counting: Counting) -> None:
    for _ in range(3):
        assert await counting.took(counting.allowance(3))

    assert not await counting.took(counting.allowance(2))
    assert await counting.took(counting.allowance(5))
    assert await counting.took(counting.allowance(5))
    assert not await counting.took(counting.allowance(5))


async def test_forty_calls_at_once_over_two_workers_share_ten(counting: Counting) -> None:
    # T23
    ten = counting.allowance(10)
    answers: list[Shortage | None] = []

    async def call(worker: int) -> None:
        answers.append(await counting.take(ten, worker=worker))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(call, number)

    refused = [answer for answer in answers if answer is not None]
    assert (len(answers), len(refused)) == (40, 30)
    assert all(0 < answer.wait <= 60 for answer in refused)


async def test_forty_calls_at_once_share_what_others_left(counting: Counting) -> None:
    ten, pair = counting.allowance(10), counting.allowance(4, name="pair")
    for _ in range(10):
        await counting.take(ten)
    await counting.let_pass(61)
    taken: list[bool] = []

    async def call(worker: int) -> None:
        wanted = (ten, pair) if worker % 2 else (pair, ten)
        taken.append(await counting.took(*wanted, worker=worker))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(call, number)

    assert taken.count(True) == 4
    assert [await counting.took(ten) for _ in range(7)] == [True] * 6 + [False]


@given(
    calls=st.integers(1, 4),
    seconds=st.integers(1, 50),
    pauses=st.lists(st.floats(0, 30), max_size=40),
)
async def test_no_span_has_more_calls_than_it_may_and_none_is_refused_without_need(
    calls: int, seconds: int, pauses: list[float]
) -> None:
    clock = Clock()
    allowances = OwnAllowances(clock)
    allowance = Allowance(key="a", calls=calls, seconds=seconds, rule="", rate="")
    granted: list[float] = []

    for pause in pauses:
        clock.now += pause
        within = [moment for moment in granted if moment + seconds > clock.now]
        taken = await allowances.take([allowance]) is None
        assert taken == (len(within) < calls)
        if taken:
            granted.append(clock.now)

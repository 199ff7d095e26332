"""Time limits, with one timer for all that are under way."""

import asyncio
from collections.abc import Callable

import pytest

from remit.upstreams.deadline import BETWEEN_LOOKS, Deadline, PausableDeadline, TimeLimits


class Alarm(asyncio.TimerHandle):
    """A timer of a clock that is set by hand."""

    def __init__(self, when: float, look: Callable[[], None], loop: "Clock") -> None:
        super().__init__(when, look, (), loop)
        self.look = look


class Clock(asyncio.AbstractEventLoop):
    """The clock of an event loop, set by hand.

    Attributes:
        now: Its time.
        set: Every alarm that was set, oldest first.
    """

    def __init__(self) -> None:
        self.now = 100.0
        self.set: list[Alarm] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None], *_: object) -> Alarm:  # pyright: ignore[reportIncompatibleMethodOverride] - as it is used
        self.set.append(Alarm(when, callback, self))
        return self.set[-1]

    def get_debug(self) -> bool:
        return False

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        del handle

    def go_to(self, when: float) -> None:
        """Let time pass, and every alarm ring that is set for it."""
        while due := [alarm for alarm in self.pending if alarm.when() <= when]:
            first = min(due, key=Alarm.when)
            self.now = max(self.now, first.when())
            first.cancel()
            first.look()
        self.now = when

    @property
    def pending(self) -> list[Alarm]:
        """The alarms that are still to ring."""
        return [alarm for alarm in self.set if not alarm.cancelled()]


class Block(Deadline):
    """A time limit of no task, which takes note of when it passes."""

    passed: float | None = None

    def has_passed(self) -> None:
        assert self.passed is None
        self.passed = self._limits.loop.time()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def limits(clock: Clock) -> TimeLimits:
    limits = TimeLimits()
    limits.loop = clock
    return limits


async def test_each_passes_when_it_is_due_whatever_order_they_came_in(
    clock: Clock, limits: TimeLimits
) -> None:
    blocks = [Block(limits, seconds) for seconds in (3, 1, 2, 30)]
    for block in blocks:
        block.__enter__()

    clock.go_to(110)

    assert [block.passed for block in blocks] == [103, 101, 102, None]
    assert [alarm.when() for alarm in clock.pending] == [130]


async def test_calls_that_end_in_time_share_one_timer_and_leave_none_behind(
    clock: Clock, limits: TimeLimits
) -> None:
    for second in range(10):
        with Block(limits, 30) as block:
            clock.go_to(101 + second)
        assert block.passed is None

    assert len(clock.set) == 1
    clock.go_to(200)
    assert len(clock.set) == 1


async def test_many_that_are_due_one_by_one_are_looked_at_now_and_then(
    clock: Clock, limits: TimeLimits
) -> None:
    blocks = list[Block]()
    for number in range(1000):
        blocks.append(Block(limits, 1 + number / 10_000))
        blocks[-1].__enter__()

    clock.go_to(102)

    late = [(block.passed or 0) - block.due for block in blocks]
    assert min(late) >= 0
    assert max(late) <= BETWEEN_LOOKS + 1e-6
    assert len(clock.set) <= 0.1 / BETWEEN_LOOKS + 2


async def test_a_task_that_takes_too_long_is_told_so_and_goes_on() -> None:
    limits = TimeLimits()

    with pytest.raises(TimeoutError), Deadline(limits, 0.01):
        await asyncio.Event().wait()

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_whoever_is_cancelled_by_others_too_is_cancelled() -> None:
    limits, task = TimeLimits(), asyncio.current_task()
    assert task is not None

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            task.cancel()

    with pytest.raises(asyncio.CancelledError), Deadline(limits, 0.01):
        await work()

    assert task.uncancel() == 0


async def test_whoever_is_cancelled_by_others_in_time_is_cancelled() -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_soon(task.cancel)

    with pytest.raises(asyncio.CancelledError), Deadline(TimeLimits(), 60):
        await asyncio.Event().wait()

    assert task.uncancel() == 0


async def test_whoever_was_cancelled_before_is_told_of_the_time_limit_alone() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError), Deadline(TimeLimits(), 0.01):
        await asyncio.Event().wait()

    assert task.uncancel() == 0


async def test_a_block_that_ends_otherwise_though_it_was_due_ends_so() -> None:
    limits = TimeLimits()

    async def answer() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "in the end"
        return ""

    with Deadline(limits, 0.01):
        assert await answer() == "in the end"
    with pytest.raises(LookupError), Deadline(limits, 0.01):
        raise LookupError(await answer())

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_one_that_stands_still_is_due_when_the_pause_is_and_later_goes_on(
    clock: Clock, limits: TimeLimits
) -> None:
    deadline = PausableDeadline(limits, 10)
    deadline.__enter__()
    clock.go_to(104)

    deadline.pause(60)
    assert deadline.due == 164
    clock.go_to(120)
    deadline.pause(60)  # it stands still already
    assert deadline.due == 164
    deadline.resume()
    deadline.resume()
    assert deadline.due == 126
    assert [alarm.when() for alarm in clock.pending] == [126]


async def test_one_that_has_ended_neither_pauses_nor_goes_on(
    clock: Clock, limits: TimeLimits
) -> None:
    with PausableDeadline(limits, 10) as paused:
        paused.pause(60)
    with PausableDeadline(limits, 10) as ended:
        clock.go_to(101)

    paused.resume()
    ended.pause(60)

    assert not limits.under_way


async def test_one_that_has_passed_neither_pauses_nor_goes_on() -> None:
    limits = TimeLimits()

    async def work(deadline: PausableDeadline) -> None:
        deadline.pause(0.01)
        try:
            await asyncio.Event().wait()
        finally:
            due.append(deadline.due)
            deadline.resume()
            deadline.pause(1)
            due.append(deadline.due)

    due = list[float]()
    with pytest.raises(TimeoutError), PausableDeadline(limits, 10) as deadline:
        await work(deadline)

    assert due[0] == due[1]

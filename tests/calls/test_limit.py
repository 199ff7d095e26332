"""What is counted against a limit and what is not, and what becomes of calls that have to wait."""

import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from itertools import count

import anyio
import anyio.lowlevel
import pytest
import structlog.testing
from msgspec.structs import replace
from tests.calls.worlds import CLERK, RESULT, World, caller, declared, story, tool

from remit.calls.allowances import PAUSE, OwnAllowances, SharedAllowances
from remit.calls.limit import Limiter
from remit.errors import (
    AuditUnavailable,
    BadCall,
    CallDenied,
    LimitReached,
    RemitError,
    StorageUnavailable,
    UpstreamUnavailable,
)
from remit.model.declaration import Declaration
from remit.model.limits import Allowance, Limit, Shortage

HERE = caller("clerk")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Store:
    """A store that can be away, and counts how often it is asked."""

    def __init__(self, clock: Clock) -> None:
        self.counted = OwnAllowances(clock)
        self.available = True
        self.asked = 0
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def take(self, wanted: Sequence[Allowance]) -> Shortage | None:
        self.asked += 1
        if self.meanwhile is not None:
            await self.meanwhile()
        if not self.available:
            raise StorageUnavailable("it is away")
        return await self.counted.take(wanted)

    async def used(self, wanted: Sequence[Allowance]) -> Sequence[int]:
        if not self.available:
            raise StorageUnavailable("it is away")
        return await self.counted.used(wanted)


def limited(*limits: Limit) -> World:
    """Return a world in which the clerk may call `git/status` and all of `jira` but deletes."""
    plain = declared([CLERK], ["git", "jira"])
    declaration = Declaration(servers=plain.servers, roles=plain.roles, limits=limits)
    offers = {
        "git": [tool("git", "status", SCHEMA), tool("git", "push")],
        "jira": [tool("jira", "find"), tool("jira", "delete_all")],
    }
    return World(declaration, offers)


def per_minute(calls: int, **narrowed: str) -> Limit:
    return Limit(calls=calls, seconds=60, **narrowed)  # pyright: ignore[reportArgumentType] - texts alone


async def test_a_call_beyond_its_limit_is_not_made() -> None:
    world = limited(per_minute(1, tool="git/*"))
    await world.pipeline.run(world.call(HERE, "git__status"))

    with pytest.raises(LimitReached) as raised:
        await world.pipeline.run(world.call(HERE, "git__status"))

    assert len(world.upstreams.invocations) == 1
    assert raised.value.code == "LIMIT_REACHED"
    assert raised.value.rule == "limits[0]"
    assert raised.value.rate == "1 call per minute"
    assert 1 <= raised.value.retry_after <= 60


async def test_a_call_beyond_its_limit_is_recorded_with_its_code() -> None:
    world = limited(per_minute(1))
    await world.pipeline.run(world.call(HERE, "git__status"))

    with pytest.raises(LimitReached) as raised:
        await world.pipeline.run(replace(world.call(HERE, "git__status"), id="call-2"))

    event = world.audit.events[-1]
    assert story([event]) == [("refused", "allow", "none", "LIMIT_REACHED")]
    assert (event.server, event.tool, event.error) == ("git", "status", str(raised.value))


async def test_a_call_that_has_to_wait_and_cannot_be_recorded_is_not_made_either() -> None:
    world = limited(per_minute(1))
    await world.pipeline.run(world.call(HERE, "git__status"))
    world.audit.available = False

    with pytest.raises(AuditUnavailable):
        await world.pipeline.run(world.call(HERE, "git__status"))


@pytest.mark.parametrize(
    ("name", "arguments", "refusal"),
    [
        ("git__push", b"{}", CallDenied),
        ("jira__delete_all", b"{}", CallDenied),
        ("nosuch", b"{}", CallDenied),
        ("git__status", b'{"n": "x"}', BadCall),
        ("git__status", b"[]", BadCall),
        ("git__gone", b"{}", UpstreamUnavailable),
    ],
)
async def test_what_is_refused_before_costs_nothing(
    name: str, arguments: bytes, refusal: type[RemitError]
) -> None:
    # T23: denied attempts do not eat quota
    world = limited(per_minute(1))
    for _ in range(3):
        with pytest.raises(refusal):
            await world.pipeline.run(world.call(HERE, name, arguments))

    outcome = await world.pipeline.run(world.call(HERE, "git__status"))

    assert outcome.result == RESULT


async def test_a_call_that_failed_counts() -> None:
    world = limited(per_minute(1))

    async def fail() -> bytes:
        raise UpstreamUnavailable("gone")

    world.upstreams.answer = fail
    with pytest.raises(UpstreamUnavailable):
        await world.pipeline.run(world.call(HERE, "git__status"))

    with pytest.raises(LimitReached):
        await world.pipeline.run(world.call(HERE, "git__status"))


async def test_other_tools_and_other_callers_are_not_affected() -> None:
    # T23
    world = limited(per_minute(1, tool="git/status"))
    await world.pipeline.run(world.call(HERE, "git__status"))

    await world.pipeline.run(world.call(HERE, "jira__find"))
    await world.pipeline.run(world.call(caller("clerk", name="cd"), "git__status"))

    with pytest.raises(LimitReached):
        await world.pipeline.run(world.call(HERE, "git__status"))


async def test_a_call_falls_under_all_limits_that_fit_and_the_longest_wait_is_told() -> None:
    world = limited(
        per_minute(1, tool="git/*"), Limit(role="clerk", calls=1, seconds=3600), per_minute(9)
    )
    await world.pipeline.run(world.call(HERE, "git__status"))

    with pytest.raises(LimitReached) as raised:
        await world.pipeline.run(world.call(HERE, "git__status"))

    assert raised.value.rule == "limits[1]"
    assert 3000 < raised.value.retry_after <= 3600


async def test_another_revisions_limits_act_at_the_next_call() -> None:
    world = limited()
    await world.pipeline.run(world.call(HERE, "git__status"))
    world.declare(limited(per_minute(1)).declaration)
    await world.pipeline.run(world.call(HERE, "git__status"))

    with pytest.raises(LimitReached):
        await world.pipeline.run(world.call(HERE, "git__status"))


class Asked:
    """A place that must not be asked."""

    async def take(self, wanted: Sequence[Allowance]) -> Shortage | None:
        raise AssertionError(wanted)

    async def used(self, wanted: Sequence[Allowance]) -> Sequence[int]:
        raise AssertionError(wanted)


async def test_a_call_without_limits_asks_nowhere() -> None:
    world = limited(per_minute(1, tool="jira/*"))
    valid = world.validate(world.authorize(world.call(HERE, "git__status")))

    admitted = await Limiter(Asked())(valid)

    assert admitted.valid is valid


@pytest.mark.parametrize(("wait", "told"), [(0.0, 1), (0.2, 1), (1.0, 1), (1.01, 2), (59.5, 60)])
async def test_the_wait_is_told_in_whole_seconds_that_are_enough(wait: float, told: int) -> None:
    class Full:
        async def take(self, wanted: Sequence[Allowance]) -> Shortage | None:
            return Shortage(len(wanted) - 1, wait)

        async def used(self, wanted: Sequence[Allowance]) -> Sequence[int]:
            return [one.calls for one in wanted]

    world = limited(per_minute(1))
    valid = world.validate(world.authorize(world.call(HERE, "git__status")))

    with pytest.raises(LimitReached, match=f"retry after {told} s") as raised:
        await Limiter(Full())(valid)

    assert raised.value.retry_after == told


TWO = Allowance(key="k", calls=2, seconds=60, rule="limits[0]", rate="")


async def test_while_the_store_is_away_a_worker_counts_for_itself() -> None:
    # T23: never unlimited
    clock = Clock()
    store = Store(clock)
    store.available = False
    shared = SharedAllowances(store, clock)

    taken = [await shared.take([TWO]) is None for _ in range(4)]

    assert taken == [True, True, False, False]


async def test_what_a_worker_let_through_before_counts_while_the_store_is_away() -> None:
    clock = Clock()
    store = Store(clock)
    shared = SharedAllowances(store, clock)
    await shared.take([TWO])
    store.available = False

    taken = [await shared.take([TWO]) is None for _ in range(2)]

    assert taken == [True, False]


async def test_what_is_used_is_told_by_the_store_and_while_it_is_away_by_the_worker() -> None:
    clock = Clock()
    store = Store(clock)
    shared, other = SharedAllowances(store, clock), SharedAllowances(store, clock)
    await shared.take([TWO])
    await other.take([TWO])

    assert await shared.used([TWO]) == [2]
    store.available = False
    assert await shared.used([TWO]) == [1]
    assert store.asked == 2  # a look is no call


async def test_a_store_that_comes_and_goes_does_not_multiply_a_limit() -> None:
    clock = Clock()
    store = Store(clock)
    shared = SharedAllowances(store, clock)
    taken: list[bool] = []
    for _ in range(4):  # within one span
        store.available = not store.available
        clock.now += PAUSE
        taken += [await shared.take([TWO]) is None for _ in range(3)]

    assert taken.count(True) == TWO.calls
    store.available = True
    clock.now += TWO.seconds
    assert [await shared.take([TWO]) is None for _ in range(3)] == [True, True, False]


async def test_calls_at_once_do_not_all_find_the_room_that_a_worker_has_left() -> None:
    clock = Clock()
    store = Store(clock)
    store.available = False
    shared = SharedAllowances(store, clock)
    await shared.take([TWO])
    store.available = True
    clock.now += PAUSE
    await shared.take([TWO._replace(key="other")])  # finds the store
    store.meanwhile = anyio.lowlevel.checkpoint
    taken: list[bool] = []

    async def call() -> None:
        taken.append(await shared.take([TWO]) is None)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(call)

    assert taken.count(True) == 1


async def test_what_the_store_refuses_counts_with_the_worker_neither() -> None:
    clock = Clock()
    store = Store(clock)
    store.available = False
    shared = SharedAllowances(store, clock)
    await shared.take([TWO])
    for _ in range(2):  # by another worker
        await store.counted.take([TWO])
    store.available = True
    clock.now += PAUSE

    refused = await shared.take([TWO])
    raised = TWO._replace(calls=3)

    assert refused == Shortage(0, TWO.seconds - PAUSE)
    assert [await shared.take([raised]) is None for _ in range(2)] == [True, False]


async def test_a_call_that_is_counted_no_more_leaves_nothing_behind() -> None:
    own = OwnAllowances(Clock())
    for _ in range(2):
        await own.take([TWO])

    left: list[int] = []
    for _ in range(3):
        own.forget([TWO])
        left.append(len(own))

    assert left == [1, 0, 0]
    assert [await own.take([TWO]) is None for _ in range(3)] == [True, True, False]


async def test_who_is_refused_by_its_worker_s_own_count_costs_the_store_nothing() -> None:
    clock = Clock()
    store = Store(clock)
    store.available = False
    shared = SharedAllowances(store, clock)
    for _ in range(2):
        await shared.take([TWO])
    store.available = True
    clock.now += PAUSE

    refused = await shared.take([TWO])
    assert await shared.take([TWO._replace(key="other")]) is None

    assert refused == Shortage(0, TWO.seconds - PAUSE)
    assert await store.counted.take([TWO]) is None


async def test_a_store_that_is_away_is_said_once_and_asked_once_in_a_while() -> None:
    clock = Clock()
    store = Store(clock)
    store.available = False
    shared = SharedAllowances(store, clock)
    numbers = count()

    with structlog.testing.capture_logs() as logged:
        for _ in range(3):
            for _ in range(5):
                await shared.take([TWO._replace(key=f"k{next(numbers)}")])
            clock.now += PAUSE
        asked_while_away = store.asked
        store.available = True
        await shared.take([TWO])
        await shared.take([TWO._replace(key="other")])

    assert asked_while_away == 3
    assert store.asked == 5
    assert [(entry["log_level"], entry["event"]) for entry in logged] == [
        ("warning", "limits are not shared: each worker counts for itself"),
        ("warning", "limits are shared again"),
    ]
    assert logged[0]["error"] == "it is away"


async def test_while_one_call_asks_whether_the_store_is_back_the_others_do_not_wait() -> None:
    clock = Clock()
    store = Store(clock)
    store.available = False
    shared = SharedAllowances(store, clock)
    await shared.take([TWO])
    clock.now += PAUSE

    async def another() -> None:
        assert await shared.take([TWO._replace(key="other")]) is None

    store.meanwhile = another
    await shared.take([TWO])

    assert store.asked == 2


async def test_a_caller_that_was_told_to_wait_is_refused_without_a_journey_until_then() -> None:
    clock = Clock()
    store = Store(clock)
    shared = SharedAllowances(store, clock)
    for _ in range(3):
        await shared.take([TWO])

    clock.now += 59
    again = await shared.take([TWO])
    assert again == Shortage(0, 1.0)
    assert store.asked == 3

    clock.now += 1
    assert await shared.take([TWO]) is None
    assert store.asked == 4


async def test_a_raised_limit_is_not_refused_by_what_was_told_before() -> None:
    clock = Clock()
    shared = SharedAllowances(Store(clock), clock)
    for _ in range(3):
        await shared.take([TWO])

    assert await shared.take([TWO._replace(calls=3)]) is None


async def test_of_several_known_waits_the_longest_is_told() -> None:
    clock = Clock()
    store = Store(clock)
    shared = SharedAllowances(store, clock)
    soon, late = TWO._replace(key="soon", calls=1), TWO._replace(key="late", calls=1, seconds=600)
    for allowance in (soon, late):
        await shared.take([allowance])
        await shared.take([allowance])

    told = [await shared.take(wanted) for wanted in ([soon, late], [late, soon], [TWO, late])]

    assert told == [Shortage(1, 600.0), Shortage(0, 600.0), Shortage(1, 600.0)]
    assert store.asked == 4


async def test_callers_who_come_once_leave_nothing_behind() -> None:
    clock = Clock()
    own = OwnAllowances(clock)
    shared = SharedAllowances(Store(clock), clock)

    for number in range(20_000):
        clock.now += 1
        one = TWO._replace(key=f"k{number}", calls=1)
        assert await own.take([one]) is None
        for _ in range(2):
            await shared.take([one])

    assert len(own) < 3000
    assert len(shared) < 3000


async def test_what_counts_no_more_is_not_kept_however_many_calls_a_limit_allows() -> None:
    clock = Clock()
    own = OwnAllowances(clock)
    roomy = Allowance(key="k", calls=1_000_000, seconds=1, rule="limits[0]", rate="")
    ours = [
        tracemalloc.Filter(inclusive=True, filename_pattern=name)
        for name in (__file__, "*/calls/allowances.py")
    ]  # and not what other threads keep meanwhile
    await own.take([roomy])
    tracemalloc.start()
    try:
        for _ in range(20_000):
            clock.now += 0.01
            assert await own.take([roomy]) is None
        held = tracemalloc.take_snapshot().filter_traces(ours)
    finally:
        tracemalloc.stop()

    # all the moments together would be several times as much
    assert sum(trace.size for trace in held.traces) < 150_000  # bytes


async def test_more_callers_at_once_than_are_remembered_are_all_counted_right() -> None:
    clock = Clock()
    shared = SharedAllowances(Store(clock), clock)
    keys = [TWO._replace(key=f"k{number}", calls=1) for number in range(3000)]

    first = [await shared.take([key]) is None for key in keys]
    later = [await shared.take([key]) is None for key in keys for _ in range(2)]

    assert all(first)
    assert not any(later)

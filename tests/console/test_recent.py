"""Answers that are shared by all who ask the same."""

import anyio
import pytest
from anyio import CancelScope, Event, create_task_group, current_time

from remit.doors.console import recent
from remit.doors.console.recent import Recent


class Asking:
    """Answers with how often it was asked; an answer may be held back."""

    def __init__(self) -> None:
        self.times = 0
        self.may_answer = Event()
        self.may_answer.set()

    async def __call__(self) -> int:
        self.times += 1
        times = self.times
        await self.may_answer.wait()
        return times


async def test_all_who_ask_at_once_get_the_answer_to_one_question() -> None:
    kept, asking, found = Recent(), Asking(), list[int]()
    asking.may_answer = Event()

    async def look() -> None:
        found.append((await kept.get("q", asking, since=0))[0])

    async with create_task_group() as group:
        for _ in range(5):
            group.start_soon(look)
        await anyio.wait_all_tasks_blocked()
        asking.may_answer.set()

    assert (found, asking.times) == ([1] * 5, 1)


async def test_an_answer_from_before_is_asked_for_again() -> None:
    kept, asking = Recent(), Asking()

    first, asked = await kept.get("q", asking, since=current_time())
    same, _ = await kept.get("q", asking, since=asked)
    fresh, _ = await kept.get("q", asking, since=current_time() + 0.001)

    assert (first, same, fresh) == (1, 1, 2)


async def test_questions_are_kept_apart() -> None:
    kept, asking = Recent(), Asking()

    answers = [(await kept.get(tenant, asking, since=0))[0] for tenant in ("a", "b", "a")]

    assert answers == [1, 2, 1]


async def test_whoever_leaves_does_not_cut_off_those_who_wait() -> None:
    kept, asking, found = Recent(), Asking(), list[int]()
    asking.may_answer = Event()
    leaving = CancelScope()

    async def leave() -> None:
        with leaving:
            await kept.get("q", asking, since=0)

    async def stay() -> None:
        found.append((await kept.get("q", asking, since=0))[0])

    async with create_task_group() as group:
        group.start_soon(leave)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(stay)
        await anyio.wait_all_tasks_blocked()
        leaving.cancel()
        asking.may_answer.set()

    assert (found, asking.times) == ([1], 1)


async def test_after_a_failure_the_next_one_asks_again() -> None:
    kept, asking = Recent(), Asking()

    async def fail() -> int:
        raise ValueError("away")

    with pytest.raises(ValueError, match="away"):
        await kept.get("q", fail, since=0)

    assert (await kept.get("q", asking, since=0))[0] == 1


async def test_what_nobody_asks_for_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, asking = Recent(), Asking()
    await kept.get("old", asking, since=0)
    monkeypatch.setattr(recent, "FORGOTTEN_AFTER", -1.0)

    await kept.get("new", asking, since=0)

    assert (await kept.get("old", asking, since=0))[0] == 3

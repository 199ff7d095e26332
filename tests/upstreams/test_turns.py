"""Places that are handed over: in order, and never to somebody who has left."""

import asyncio

import anyio
import pytest
from anyio.lowlevel import checkpoint

from remit.testing.fleets import PATIENCE
from remit.upstreams.turns import Turns


@pytest.fixture
def left() -> list[str]:
    """The places that were given back."""
    return []


@pytest.fixture
def turns(left: list[str]) -> Turns[str]:
    return Turns(left.append)


async def test_who_came_first_is_handed_the_first_place(turns: Turns[str]) -> None:
    got: dict[int, str] = {}

    async def wait(number: int) -> None:
        got[number] = await turns.wait()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(wait, number)
                await checkpoint()
            assert all(turns.hand(place) for place in "abc")

    assert got == {0: "a", 1: "b", 2: "c"}
    assert not turns.hand("d")


async def test_who_has_left_is_passed_over(turns: Turns[str], left: list[str]) -> None:
    with anyio.move_on_after(0):
        await turns.wait()

    assert not turns.hand("a")
    assert left == []


async def test_a_place_that_was_handed_to_somebody_who_then_left_is_given_back(
    turns: Turns[str], left: list[str]
) -> None:
    waiting = turns.wait()
    waiting.send(None)
    assert turns.hand("a")

    with pytest.raises(asyncio.CancelledError):
        waiting.throw(asyncio.CancelledError())

    assert left == ["a"]

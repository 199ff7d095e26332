"""Small steps, one after the other."""

from remit.storage.steps import in_steps


async def test_steps_are_taken_until_nothing_is_left_or_they_are_enough() -> None:
    left = 7

    async def step() -> bool:
        nonlocal left
        left -= 1
        return left > 0

    assert not await in_steps(step, most=3)
    assert left == 4
    assert await in_steps(step)
    assert left == 0

"""When a server that failed is tried again: longer and longer pauses, and then hardly at all."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from remit.upstreams.attempts import Attempts
from remit.upstreams.surroundings import Pace

PACE = Pace(pause=1, longest_pause=5, steady=10, most_failures=6, window=100, probe=30)
NEVER_ENOUGH = replace(PACE, most_failures=1000)


def _unshortened() -> float:
    return 0.0


def test_pauses_double_up_to_a_bound() -> None:
    attempts = Attempts(NEVER_ENOUGH, _unshortened)

    assert [attempts.failed(now) for now in range(5)] == [1, 2, 4, 5, 5]


@given(chances=st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_jitter_shortens_a_pause_by_up_to_a_half(chances: list[float]) -> None:
    given_chances, full = iter(chances), Attempts(NEVER_ENOUGH, _unshortened)
    attempts = Attempts(NEVER_ENOUGH, lambda: next(given_chances))

    for now in range(len(chances)):
        whole = full.failed(now)
        assert whole / 2 <= attempts.failed(now) <= whole


def test_too_many_failures_within_the_window_leave_only_probes() -> None:
    attempts = Attempts(PACE, _unshortened)

    pauses = [attempts.failed(now) for now in range(7)]

    assert pauses == [1, 2, 4, 5, 5, 30, 30]
    assert attempts.is_open
    assert attempts.told("exited") == (
        "failed 6 times within 100 s, so it is tried only every 30 s: exited"
    )


def test_failures_far_apart_are_no_storm() -> None:
    attempts = Attempts(PACE, _unshortened)

    for number in range(20):
        attempts.failed(number * 21.0)

    assert not attempts.is_open
    assert attempts.told("exited") == "exited"


def test_a_connection_that_lasted_closes_the_circuit_and_starts_over() -> None:
    attempts = Attempts(PACE, _unshortened)
    for now in range(6):
        attempts.failed(now)

    attempts.lasted()

    assert (attempts.is_open, attempts.failures) == (False, 0)
    assert attempts.failed(7) == 1


def test_one_probe_that_does_not_last_leaves_the_circuit_open() -> None:
    attempts = Attempts(PACE, _unshortened)
    for now in range(6):
        attempts.failed(now)

    assert attempts.failed(10_000) == 30
    assert attempts.is_open

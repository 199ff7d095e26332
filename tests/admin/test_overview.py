"""Traffic as a series of parts, and what each role's list costs."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.admin.overview import BUCKETS, LONGEST, Stretch, healths, total_of
from remit.model.servers import ServerConfig, ServerState, ServerStatus, Transport
from remit.model.traffic import Counts, Traffic

NOW = datetime(2026, 11, 28, 12, 0, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@given(st.integers(1, LONGEST))
def test_every_minute_of_a_stretch_is_in_a_part_and_no_other_is(minutes: int) -> None:
    stretch = Stretch.of(minutes, NOW)
    all_minutes = {stretch.since + n * MINUTE: Counts(calls=1) for n in range(-1, minutes + 1)}

    series = stretch.series(all_minutes)

    assert stretch.until == datetime(2026, 11, 28, 12, 1, tzinfo=UTC)
    assert stretch.until - stretch.since == minutes * MINUTE
    assert len(series) <= BUCKETS
    assert [start for start, _ in series] == [
        stretch.since + n * stretch.minutes * MINUTE for n in range(len(series))
    ]
    assert all(counts.calls == stretch.minutes for _, counts in series[:-1])
    assert sum(counts.calls for _, counts in series) in (minutes, minutes + 1)


@pytest.mark.parametrize(
    ("minutes", "parts", "each"), [(1, 1, 1), (60, 60, 1), (61, 31, 2), (1440, 60, 24)]
)
def test_a_stretch_has_about_sixty_parts_of_whole_minutes(
    minutes: int, parts: int, each: int
) -> None:
    stretch = Stretch.of(minutes, NOW)

    assert (len(stretch.series({})), stretch.minutes) == (parts, each)


def test_parts_and_totals_add_up_calls_denials_and_errors() -> None:
    stretch = Stretch.of(120, NOW)
    minutes = {
        stretch.since: Counts(calls=5, denied=2, errors=1),
        stretch.since + MINUTE: Counts(calls=1, errors=1),
        stretch.since + 2 * MINUTE: Counts(calls=3, denied=3),
    }

    series = stretch.series(minutes)

    assert series[0] == (stretch.since, Counts(calls=6, denied=2, errors=2))
    assert series[1] == (stretch.since + 2 * MINUTE, Counts(calls=3, denied=3))
    assert total_of(Traffic(minutes=minutes)) == Counts(calls=9, denied=5, errors=2)


def test_a_server_that_nobody_has_taken_up_yet_is_starting() -> None:
    up = ServerStatus(
        name="up", transport=Transport.HTTP, state=ServerState.READY, tools=3, in_flight=2
    )

    shown = healths({name: ServerConfig(name=name) for name in ("up", "new")}, {"up": up}.get)

    assert [(each.name, each.state, each.tools, each.in_flight) for each in shown] == [
        ("up", ServerState.READY, 3, 2),
        ("new", ServerState.STARTING, 0, 0),
    ]

"""What calls of the last minutes come to, counted by both databases as Python counts them."""

import itertools
import statistics
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.model.events import ADMINISTRATION, AuditEvent, EventKind
from remit.model.traffic import Counts, DeniedTool, Speed, Traffic
from remit.storage import traffic as ours
from remit.storage.audit import AuditLog, open_audit
from remit.storage.database import Database
from remit.testing.fakes import sample_event

NOON = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)

_numbers = itertools.count(1000)


@pytest.fixture
async def audit(database: Database, tmp_path: Path) -> AsyncGenerator[AuditLog]:
    async with open_audit(database, tmp_path / ".remit", durability="process") as audit:
        yield audit


def ended(number: int, *, after: timedelta | None = None, **changes: Any) -> AuditEvent:
    """Return the end of a call, *after* noon; else a second after the one before."""
    time = NOON + (timedelta(seconds=number) if after is None else after)
    stamp = (int(time.timestamp() * 1000) << 80) | (0x7 << 76) | (0x2 << 62) | number
    digits = f"{stamp:032x}"
    named = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return sample_event(number, **{"id": named, "time": time, **changes})


def denied(number: int, **changes: Any) -> AuditEvent:
    usual: dict[str, Any] = {
        "kind": EventKind.REFUSED,
        "decision": "deny",
        "outcome": "none",
        "layer": "access",
        "rule": "",
        "code": "ACCESS_DENIED",
        "ms": 0.1,
    }
    return ended(number, **{**usual, **changes})


async def counted(audit: AuditLog, *events: AuditEvent, tenant: str = "default") -> Traffic:
    """Return the traffic of the hour from noon on."""
    for event in events:
        await audit.record(event)
    return await audit.traffic(tenant, since=NOON, until=NOON + HOUR)


async def test_nothing_comes_to_nothing(audit: AuditLog) -> None:
    assert await counted(audit) == Traffic()


async def test_a_call_counts_once_by_how_it_ended_and_in_the_minute_in_which_it_did(
    audit: AuditLog,
) -> None:
    found = await counted(
        audit,
        ended(1, kind=EventKind.INVOKED, outcome="unknown"),
        ended(2, kind=EventKind.ATTEMPTED, outcome="error", code="UPSTREAM_LOST"),
        ended(3),
        ended(4, outcome="tool_error"),
        ended(5, outcome="unknown"),
        ended(6, outcome="error", after=timedelta(minutes=1)),
        ended(7, kind=EventKind.REFUSED, outcome="none", code="INVALID_INPUT"),
        denied(8, after=timedelta(minutes=59, seconds=59.9)),
    )

    assert found.minutes == {
        NOON: Counts(calls=4, errors=3),
        NOON + timedelta(minutes=1): Counts(calls=1, errors=1),
        NOON + timedelta(minutes=59): Counts(calls=1, denied=1),
    }


async def test_what_is_outside_or_of_others_or_no_call_does_not_count(audit: AuditLog) -> None:
    found = await counted(
        audit,
        ended(1, after=-timedelta(microseconds=1)),
        ended(2, after=timedelta(0)),
        ended(3, after=HOUR - timedelta(microseconds=1)),
        ended(4, after=HOUR),
        ended(5, tenant="elsewhere"),
        ended(6, server=ADMINISTRATION),
    )

    assert sum(counts.calls for counts in found.minutes.values()) == 2
    assert found.servers == {"git": Counts(calls=2)}
    assert found.speed.ran == 2


async def test_servers_and_callers_come_with_most_calls_first_and_are_cut(audit: AuditLog) -> None:
    events = [
        ended(number, principal=f"key:k{number % 12}", server=f"s{number % 3}")
        for number in range(30)
    ]
    made_up = [
        denied(100 + number, principal="key:x", server=f"u{number}", layer="", code="NOT_FOUND")
        for number in range(110)
    ]

    found = await counted(audit, *events, *made_up)

    assert list(found.callers.items())[:3] == [
        ("key:x", Counts(calls=110, denied=110)),
        ("key:k0", Counts(calls=3)),
        ("key:k1", Counts(calls=3)),
    ]
    assert len(found.callers) == ours.MOST_LISTED
    assert list(found.servers.items())[:3] == [(f"s{n}", Counts(calls=10)) for n in range(3)]
    assert len(found.servers) == ours.MOST_SERVERS


async def test_what_is_denied_most_comes_with_its_commonest_reason(audit: AuditLog) -> None:
    rules = ["roles.a.deny[0]", "roles.b.deny[1]", "roles.b.deny[1]"]

    found = await counted(
        audit,
        *(denied(n, tool="push", layer="deny", rule=rule) for n, rule in enumerate(rules)),
        *(denied(10 + n, tool="log", server="hg") for n in range(2)),
        denied(20, tool="secret-thing", server="", layer="", code="TOOL_NOT_FOUND"),
        *(ended(30 + n, tool="log", server="hg") for n in range(5)),
    )

    whole: dict[str, Any] = {"layer": "access", "rule": "", "code": "ACCESS_DENIED"}
    assert found.denied == (
        DeniedTool(
            server="git", tool="push", denied=3, **(whole | {"layer": "deny", "rule": rules[1]})
        ),
        DeniedTool(server="hg", tool="log", denied=2, **whole),
        DeniedTool(
            server="", tool="secret-thing", denied=1, layer="", rule="", code="TOOL_NOT_FOUND"
        ),
    )


async def test_only_calls_that_ran_are_timed(audit: AuditLog) -> None:
    found = await counted(audit, ended(1, ms=10.0), denied(2, ms=0.1), ended(3, ms=20.0))

    assert measured(found.speed) == (2, 15.0, 19.5)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # each has a tenant of its own
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["s0", "s1"]),
            st.sampled_from(["t0", "t1", "t2", "t3", "t4", "t5"]),
            st.integers(0, 10**7).map(lambda micros: micros / 1000),
        ),
        min_size=1,
        max_size=60,
    )
)
async def test_percentiles_are_those_of_statistics_for_all_servers_and_tools(
    audit: AuditLog, calls: Sequence[tuple[str, str, float]]
) -> None:
    tenant = f"t{next(_numbers)}"
    events = [
        ended(next(_numbers), after=timedelta(0), tenant=tenant, server=server, tool=tool, ms=ms)
        for server, tool, ms in calls
    ]

    found = await counted(audit, *events, tenant=tenant)

    assert measured(found.speed) == percentiles([ms for *_, ms in calls])
    assert {name: measured(speed) for name, speed in found.speeds.items()} == {
        name: percentiles([ms for server, _, ms in calls if server == name])
        for name in {server for server, *_ in calls}
    }
    of_tool = {
        tool: percentiles([ms for *named, ms in calls if tuple(named) == tool])
        for tool in {(server, tool) for server, tool, _ in calls}
    }
    slowest = {(slow.server, slow.tool): slow.speed for slow in found.slowest}
    assert {tool: measured(speed) for tool, speed in slowest.items()} == {
        tool: of_tool[tool] for tool in slowest
    }
    p95s = [measured(speed)[2] for speed in slowest.values()]
    assert p95s == sorted(p95s, reverse=True)
    assert len(slowest) == min(len(of_tool), ours.MOST_LISTED)
    left = [of_tool[tool][2] for tool in of_tool if tool not in slowest]
    assert all(p95 <= p95s[-1] for p95 in left)


async def test_beyond_the_most_that_are_ranked_the_newest_are(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ours, "MOST_RANKED", 3)
    events = [ended(number, ms=float(ms)) for number, ms in enumerate((900, 800, 3, 1, 2))]

    found = await counted(audit, *events)

    assert measured(found.speed) == percentiles([3, 1, 2])
    assert found.servers == {"git": Counts(calls=5)}


def measured(speed: Speed) -> tuple[int, float, float]:
    """Return number, median and p95, to the nanosecond."""
    return speed.ran, round(speed.p50 or 0, 6), round(speed.p95 or 0, 6)


def percentiles(times: Sequence[float]) -> tuple[int, float, float]:
    """Return what Python makes of some times, likewise."""
    cuts = (
        statistics.quantiles(times, n=100, method="inclusive") if len(times) > 1 else [*times] * 99
    )
    return len(times), round(cuts[49], 6), round(cuts[94], 6)

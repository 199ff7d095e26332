"""What the recorder counts, and by what (issue 4)."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remit.calls.tally import BOUNDS, CallEnd, Durations, Tally
from remit.model.events import AuditEvent, EventKind


def event(**more: Any) -> AuditEvent:
    fields: dict[str, Any] = {
        "id": "1",
        "kind": EventKind.FINISHED,
        "call_id": "c",
        "time": datetime(2026, 1, 1, tzinfo=UTC),
        "tenant": "default",
        "principal": "key:k",
        "server": "files",
        "tool": "read",
        "decision": "allow",
        "layer": "ceiling",
        "revision": 1,
        "outcome": "ok",
    }
    return AuditEvent(**(fields | more))


def test_a_call_that_runs_is_in_flight_until_it_ends() -> None:
    tally = Tally()

    tally.began(event(kind=EventKind.INVOKED))
    tally.began(event(kind=EventKind.INVOKED))
    assert tally.running == {"files": 2}

    tally.ended(event(ms=20))
    assert tally.running == {"files": 1}
    assert tally.durations["files"].seconds == 0.02
    assert tally.ends() == {CallEnd("files", "allow", "ceiling", "ok", ""): 1}


def test_a_call_that_never_ran_has_no_duration() -> None:
    tally = Tally()

    tally.ended(event(kind=EventKind.REFUSED, outcome="none", code="LIMIT_REACHED"))

    assert not tally.durations
    assert not tally.running
    assert sum(tally.ends().values()) == 1


def test_a_server_that_no_layer_decided_on_is_no_name_to_keep() -> None:
    tally = Tally()

    for name in ("a", "b", "c"):
        tally.ended(event(kind=EventKind.REFUSED, server=name, layer="", decision="deny"))

    assert list(tally.ends()) == [CallEnd("", "deny", "", "ok", "")]


@given(st.lists(st.floats(min_value=0, max_value=1000), max_size=50))
def test_every_duration_is_in_the_class_that_it_fits(seconds: list[float]) -> None:
    durations = Durations()

    for each in seconds:
        durations.note(each)

    for at, bound in enumerate(BOUNDS):
        assert sum(durations.classes[: at + 1]) == sum(each <= bound for each in seconds)
    assert sum(durations.classes) == len(seconds)

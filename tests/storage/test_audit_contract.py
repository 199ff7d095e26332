"""What every audit does, fakes included."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remit.errors import BadCall
from remit.model.events import ADMINISTRATION, AuditEvent, AuditQuery, EventKind
from remit.storage import events
from remit.storage.audit import AuditLog
from remit.storage.event_ids import first_id
from remit.testing.fakes import InMemoryAudit, sample_event

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


async def test_an_event_comes_back_as_it_was_recorded(audit: AuditLog | InMemoryAudit) -> None:
    event = sample_event(
        1,
        kind=EventKind.REFUSED,
        member="8b9cad0e-1f20-4f3e-9d3a-0f5a4b7f1c11",
        decision="deny",
        outcome="none",
        code="PERMISSION_DENIED",
        arguments='{"message": "grüße \\u00e9 🎉", "n": 9007199254740993}',
        result=None,
        result_size=0,
        error="role 'designer' may not",
    )

    await audit.record(event)

    assert await audit.search(AuditQuery(tenant="default")) == [event]


async def test_an_event_recorded_twice_is_there_once(audit: AuditLog | InMemoryAudit) -> None:
    await audit.record(sample_event(1))
    await audit.record(sample_event(1, outcome="tool_error"))

    assert await audit.search(AuditQuery(tenant="default")) == [sample_event(1)]


async def test_a_call_is_one_row_which_is_its_end(audit: AuditLog | InMemoryAudit) -> None:
    begun = sample_event(1, kind=EventKind.INVOKED, call_id="a", outcome="unknown")
    ended = sample_event(2, kind=EventKind.FINISHED, call_id="a")
    lost = sample_event(3, kind=EventKind.INVOKED, call_id="b", outcome="unknown")
    refused = sample_event(4, kind=EventKind.REFUSED, call_id="c", outcome="none")

    for event in (begun, ended, lost, refused):
        await audit.record(event)

    assert await audit.search(AuditQuery(tenant="default")) == [refused, lost, ended]


async def test_attempts_are_in_the_stream_and_no_rows_of_their_own(
    audit: AuditLog | InMemoryAudit,
) -> None:
    # R23
    begun = sample_event(1, kind=EventKind.INVOKED, call_id="a", outcome="unknown")
    tried = sample_event(2, kind=EventKind.ATTEMPTED, call_id="a", outcome="error")
    ended = sample_event(3, kind=EventKind.FINISHED, call_id="a")
    lost = sample_event(4, kind=EventKind.INVOKED, call_id="b", outcome="unknown")
    last_seen = sample_event(5, kind=EventKind.ATTEMPTED, call_id="b", outcome="unknown")

    for event in (begun, tried, ended, lost, last_seen):
        await audit.record(event)
    await audit.flush()

    assert await audit.search(AuditQuery(tenant="default")) == [lost, ended]
    stream = [event for _, event in await audit.after("default", 0)]
    assert [event for event in stream if event.kind == "attempted"] == [tried, last_seen]


async def test_changes_are_left_out_when_calls_alone_are_asked_for(
    audit: AuditLog | InMemoryAudit,
) -> None:
    call, change = sample_event(1), sample_event(2, server=ADMINISTRATION, tool="keys.create")
    for event in (call, change):
        await audit.record(event)

    assert await audit.search(AuditQuery(tenant="default", changes=False)) == [call]
    assert await audit.search(AuditQuery(tenant="default")) == [change, call]


async def test_rows_come_newest_first_and_in_pages_that_cover_all(
    audit: AuditLog | InMemoryAudit,
) -> None:
    # T25: page 2 covers all rows, not the shown page
    events = [sample_event(number) for number in range(25)]
    for event in (*events[10:], *events[:10]):
        await audit.record(event)

    found: list[AuditEvent] = []
    while page := await audit.search(
        AuditQuery(tenant="default", limit=10, before=found[-1].id if found else None)
    ):
        found += page

    assert found == events[::-1]


async def test_the_next_rows_come_oldest_first(audit: AuditLog | InMemoryAudit) -> None:
    events = [sample_event(number) for number in range(5)]
    for event in events:
        await audit.record(event)

    found = await audit.search(AuditQuery(tenant="default", after=events[1].id, limit=2))

    assert found == events[2:4]
    with pytest.raises(BadCall, match="'tomorrow' is no event id"):
        await audit.search(AuditQuery(tenant="default", after="tomorrow"))


async def test_a_call_is_all_its_events_in_their_order(audit: AuditLog | InMemoryAudit) -> None:
    # R23
    kinds = (EventKind.INVOKED, EventKind.ATTEMPTED, EventKind.ATTEMPTED, EventKind.FINISHED)
    events = [sample_event(n, kind=kind, call_id="a") for n, kind in enumerate(kinds)]
    other = sample_event(9, call_id="b")
    elsewhere = sample_event(10, call_id="a", tenant="other")
    await audit.record(events[0])
    await audit.flush()  # else the end would stand for the beginning, too
    for event in (elsewhere, *events[:0:-1], other):
        await audit.record(event)

    assert await audit.events_of("default", "a") == events
    assert await audit.events_of("other", "a") == [elsewhere]
    assert await audit.events_of("default", "none") == []


async def test_another_tenant_sees_nothing(audit: AuditLog | InMemoryAudit) -> None:
    await audit.record(sample_event(1))

    assert await audit.search(AuditQuery(tenant="other")) == []
    assert await audit.after("other", 0) == []


FILTERS: Sequence[tuple[dict[str, object], dict[str, object], dict[str, object]]] = (
    ({"principal": "key:a"}, {"principal": "key:a"}, {"principal": "key:A"}),
    ({"server": "github"}, {"server": "github"}, {"server": "git"}),
    ({"tool": "git_log"}, {"tool": "git_log"}, {"tool": "git_lo"}),
    ({"tool": "git/log"}, {"server": "git", "tool": "log"}, {"server": "hub", "tool": "log"}),
    ({"tool": "git__log"}, {"server": "git", "tool": "log"}, {"server": "hub", "tool": "log"}),
    ({"tool": "mcp__git__log"}, {"server": "git", "tool": "log"}, {"server": "", "tool": "log"}),
    ({"tool": "git/a/b"}, {"server": "git", "tool": "a/b"}, {"server": "git", "tool": "b"}),
    ({"tool": "git/log"}, {"server": "", "tool": "git/log"}, {"server": "git", "tool": "git"}),
    ({"tool": "a___b"}, {"server": "a_", "tool": "b"}, {"server": "a", "tool": "b"}),
    ({"tool": "git__log", "server": "git"}, {"tool": "log"}, {"server": "", "tool": "git__log"}),
    ({"tool": "/admin/apply"}, {"server": "/admin", "tool": "apply"}, {"tool": "apply"}),
    ({"servers": ("github", "jira")}, {"server": "jira"}, {"server": "git"}),
    ({"tools": ("git_log", "git_show")}, {"tool": "git_show"}, {"tool": "git_status"}),
    ({"decision": "deny"}, {"decision": "deny"}, {"decision": "allow"}),
    ({"outcome": "none"}, {"outcome": "none"}, {"outcome": "ok"}),
    ({"code": "INVALID_INPUT"}, {"code": "INVALID_INPUT"}, {"code": ""}),
    ({"role": "b_c"}, {"role": "a,b_c,d"}, {"role": "a,bxc,B_C,xb_c,b_cx"}),
    ({"since": NOON}, {"time": NOON}, {"time": NOON - timedelta(microseconds=1)}),
    ({"until": NOON}, {"time": NOON - timedelta(microseconds=1)}, {"time": NOON}),
    ({"text": "50%_"}, {"arguments": '{"a":"at 50%_ off"}'}, {"arguments": '{"a":"50 x"}'}),
    ({"text": "may NOT"}, {"error": "you may not"}, {"error": None}),
    ({"text": "status"}, {"tool": "git_status"}, {"tool": "git_log"}),
    ({"text": "hub"}, {"server": "github"}, {"server": "git"}),
    ({"text": "9cad0e-1"}, {"member": "8b9cad0e-1f20-4f3e-9d3a-0f5a4b7f1c11"}, {"member": None}),
    ({"text": "ey:dep"}, {"principal": "key:deploy"}, {"principal": "key:ci"}),
)
"""What is asked for, an event that matches, and one that does not."""


def at_its_time(number: int, **changes: object) -> AuditEvent:
    """Return an event whose id is of its time."""
    event = sample_event(number, **changes)
    named = first_id(event.time)[:-12] + f"{number:012x}"
    return sample_event(number, **changes | {"id": named})


async def test_a_filter_finds_what_matches_and_nothing_else(
    audit: AuditLog | InMemoryAudit,
) -> None:
    for number, (asked, matching, other) in enumerate(FILTERS):
        tenant = f"tenant {number}"
        event = at_its_time(2 * number, tenant=tenant, **matching)
        await audit.record(event)
        await audit.record(at_its_time(2 * number + 1, tenant=tenant, **other))

        query = AuditQuery(tenant=tenant, **asked)  # pyright: ignore[reportArgumentType] - any

        assert await audit.search(query) == [event], asked


async def test_a_page_before_what_is_no_event_is_a_bad_call(
    audit: AuditLog | InMemoryAudit,
) -> None:
    with pytest.raises(BadCall, match="'yesterday' is no event id"):
        await audit.search(AuditQuery(tenant="default", before="yesterday"))


async def test_the_stream_can_be_followed_without_gap_or_repetition(
    audit: AuditLog | InMemoryAudit,
) -> None:
    events = [
        sample_event(1, kind=EventKind.INVOKED, call_id="a", outcome="unknown"),
        sample_event(3),
        sample_event(2, kind=EventKind.FINISHED, call_id="a"),
    ]
    followed: list[AuditEvent] = []
    last = 0

    for event in events:
        await audit.record(event)
        await audit.flush()
        for seq, latest in await audit.after("default", last, 1):
            assert seq > last
            last = seq
            followed.append(latest)

    assert followed == events
    assert await audit.after("default", last) == []


@pytest.mark.parametrize(
    "asked",
    [
        {"text": "grey"},
        {"decision": "deny"},
        {"outcome": "tool_error"},
        {"role": "painter"},
        {"server": "brush", "until": NOON + timedelta(seconds=8)},
        {"servers": ("brush",), "since": NOON + timedelta(seconds=3)},
    ],
    ids=str,
)
async def test_a_record_that_is_read_in_stretches_holds_what_one_look_finds(
    audit: AuditLog | InMemoryAudit, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    fitting: dict[str, Any] = {
        "decision": "deny",
        "outcome": "tool_error",
        "role": "painter",
        "server": "brush",
        "arguments": '{"colour": "grey"}',
    }
    for number in range(12):
        time = NOON + timedelta(seconds=number)
        id_ = first_id(time)[:-1] + "1"
        more = fitting if number % 5 == 0 else {}
        await audit.record(sample_event(number, id=id_, time=time, **more))
    query = AuditQuery(tenant="default", limit=2, **asked)
    whole = await audit.search(replace(query, limit=100))
    monkeypatch.setattr(events, "STRETCH", 4)

    found: list[AuditEvent] = []
    while True:
        looked = await audit.look(query, longest=0.0)
        found += looked.events
        if looked.reached is None and len(looked.events) < query.limit:
            break
        query = replace(query, before=looked.reached or found[-1].id)

    assert found == whole
    assert found
    assert await audit.search(replace(query, before=None, limit=100)) == whole

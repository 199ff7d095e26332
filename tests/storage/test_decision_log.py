"""`DecisionLog`: rows of every call of an agent, and what agents write down (S3.20-S3.22, R28)."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from remit.model.decision_log import LoggedDecision
from remit.model.events import ADMINISTRATION, AuditEvent, EventKind
from remit.storage.audit import open_audit
from remit.storage.database import Database
from remit.testing.fakes import sample_event

NOW = datetime(2026, 11, 28, 12, 0, 0, 123_456, UTC)


def event(number: int, **changes: Any) -> AuditEvent:
    """Return the end of a call of w1, one second after the one before."""
    usual: dict[str, Any] = {
        "principal": "agent:w1",
        "agent": "w1",
        "server": "mail",
        "tool": "send",
        "time": NOW + timedelta(seconds=number),
        "ms": 250.0,
        "arguments": '{"subject":"s"}',
        "result": '{"structuredContent":{"mailId":"m1"}}',
    }
    return sample_event(number, **{**usual, **changes})


async def recorded(
    database: Database,
    directory: Path,
    *events: AuditEvent,
    agent: str | None = "w1",
    limit: int = 50,
    tenant: str = "default",
) -> Sequence[LoggedDecision]:
    async with open_audit(database, directory, durability="process") as audit:
        for one in events:
            await audit.record(one)
        return await audit.decisions(tenant, agent=agent, limit=limit)


async def test_the_view_has_exactly_the_columns_of_the_source(database: Database) -> None:
    async with database.reading() as connection:
        columns = await connection.run_sync(lambda sync: inspect(sync).get_columns("DecisionLog"))

    assert [column["name"] for column in columns] == [
        "id",
        "agentId",
        "decision",
        "reasoning",
        "context",
        "timestamp",
    ]


async def test_a_call_that_succeeds_is_begun_and_has_a_result(
    database: Database, tmp_path: Path
) -> None:
    end = event(1)

    result, begun = await recorded(database, tmp_path, end)

    assert begun == LoggedDecision(
        id=end.call_id,
        agent="w1",
        decision="Invoked tool: mcp__mail__send",
        reasoning="Automatic tool invocation log",
        context='{"subject":"s"}',
        time=begun.time,
    )
    assert abs(begun.time - (end.time - timedelta(milliseconds=250))) < timedelta(milliseconds=2)
    assert result == LoggedDecision(
        id=end.id,
        agent="w1",
        decision="Tool result: mcp__mail__send",
        reasoning="Automatic tool result log",
        context='{"structuredContent":{"mailId":"m1"}}',
        time=end.time,
    )
    async with database.reading() as connection:
        rows = (await connection.execute(text('SELECT * FROM "DecisionLog"'))).all()
    assert {row.id for row in rows} == {end.id, end.call_id}


async def test_what_a_tool_says_is_wrong_is_a_result_and_a_failure_is_an_error(
    database: Database, tmp_path: Path
) -> None:
    """S3.23; the stack is in the server's log alone (R28)."""
    wrong = event(1, outcome="tool_error", code="")
    failed = event(2, outcome="error", code="UPSTREAM_UNAVAILABLE", error="it is away", result=None)
    unknown = event(3, outcome="unknown", code="UPSTREAM_TIMEOUT", error="no answer", result=None)
    refused = event(
        4, kind=EventKind.REFUSED, outcome="none", code="INVALID_INPUT", error="no", result=None
    )

    rows = await recorded(database, tmp_path, wrong, failed, unknown, refused)

    assert [row.decision.partition(":")[0] for row in rows] == [
        "Tool error",
        "Tool error",
        "Invoked tool",
        "Tool error",
        "Invoked tool",
        "Tool result",
        "Invoked tool",
    ]
    assert rows[0].reasoning == "Automatic tool error log"
    assert [json.loads(row.context or "") for row in (rows[0], rows[1], rows[3])] == [
        {"code": "INVALID_INPUT", "message": "no"},
        {"code": "UPSTREAM_TIMEOUT", "message": "no answer"},
        {"code": "UPSTREAM_UNAVAILABLE", "message": "it is away"},
    ]


async def test_a_call_under_way_is_begun_and_one_that_ended_is_begun_once(
    database: Database, tmp_path: Path
) -> None:
    beginning = event(1, kind=EventKind.INVOKED, outcome="unknown", result=None, ms=0.0)

    rows = await recorded(database, tmp_path, beginning)
    assert [(row.id, row.time) for row in rows] == [(beginning.call_id, beginning.time)]

    again = event(2, kind=EventKind.ATTEMPTED, call_id=beginning.call_id, outcome="error")
    end = event(3, call_id=beginning.call_id)
    rows = await recorded(database, tmp_path, again, end)
    assert [row.id for row in rows] == [end.id, beginning.call_id]


async def test_a_decision_that_an_agent_writes_down_is_a_row_of_its_own(
    database: Database, tmp_path: Path
) -> None:
    end = event(
        1,
        server="system",
        tool="log_decision",
        arguments='{"title":"Chose Redis","body":"It scales"}',
        result='{"structuredContent":{"logId":"log-1"}}',
    )

    rows = await recorded(database, tmp_path, end)

    assert [row.decision for row in rows] == [
        "Tool result: mcp__system__log_decision",
        "Chose Redis",
        "Invoked tool: mcp__system__log_decision",
    ]
    assert rows[1] == LoggedDecision(
        id="log-1",
        agent="w1",
        decision="Chose Redis",
        reasoning="It scales",
        context=None,
        time=end.time,
    )


async def test_a_decision_that_was_too_long_for_the_record_is_told_as_far_as_it_goes(
    database: Database, tmp_path: Path
) -> None:
    end = event(
        1,
        server="system",
        tool="log_decision",
        arguments='{"truncated": true, "size": 99999, "head": "{\\"title\\":\\"Ch"}',
        result='{"structuredContent":{"logId":"log-1"}}',
    )

    rows = await recorded(database, tmp_path, end)

    assert (rows[1].decision, rows[1].reasoning) == ("(cut off)", '{"title":"Ch')


@pytest.mark.parametrize(
    "change",
    [
        {"agent": None, "principal": "key:ci"},
        {"kind": EventKind.REFUSED, "decision": "deny", "outcome": "none"},
        {"tenant": "other"},
        {"agent": "w2"},
        {"tool": "prompt:review"},
        {"tool": "resource:file:///a"},
        {"server": ADMINISTRATION, "agent": None},
    ],
)
async def test_only_calls_of_the_agent_are_told(
    database: Database, tmp_path: Path, change: dict[str, Any]
) -> None:
    assert await recorded(database, tmp_path, event(1, **change)) == []


async def test_rows_of_all_agents_come_newest_first_and_no_more_than_asked_for(
    database: Database, tmp_path: Path
) -> None:
    ends = [event(n, agent=f"w{n % 3}") for n in range(1, 8)]
    beginnings = [
        event(10 + n, agent=f"w{n % 3}", kind=EventKind.INVOKED, call_id=ends[n].call_id)
        for n in range(7)
    ]

    rows = await recorded(database, tmp_path, *ends, *beginnings, agent=None, limit=5)

    assert [row.id for row in rows] == [
        ends[6].id,
        ends[6].call_id,
        ends[5].id,
        ends[5].call_id,
        ends[4].id,
    ]
    assert [row.time for row in rows] == sorted((row.time for row in rows), reverse=True)
    assert await recorded(database, tmp_path, agent=None, tenant="other") == []

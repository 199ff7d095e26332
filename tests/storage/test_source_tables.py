"""The two tables of the source document, under their names and with their columns (R28)."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Row, inspect, text

from remit.model.events import ADMINISTRATION, AuditEvent, EventKind
from remit.storage.audit import open_audit
from remit.storage.database import Database
from remit.storage.revisions import Revisions
from remit.testing.fakes import sample_event

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


async def _columns(database: Database, table: str) -> dict[str, str]:
    async with database.reading() as connection:
        columns = await connection.run_sync(lambda sync: inspect(sync).get_columns(table))
    return {column["name"]: str(column["type"]) for column in columns}


async def _rows(database: Database, statement: str) -> Sequence[Row[Any]]:
    async with database.reading() as connection:
        return (await connection.execute(text(statement))).all()


async def _record(database: Database, directory: Path, *events: AuditEvent) -> None:
    async with open_audit(database, directory, durability="process") as audit:
        for event in events:
            await audit.record(event)


def _json(value: object) -> object:
    """Read a JSON column: a driver parses jsonb, SQLite gives text."""
    return json.loads(value) if isinstance(value, str) else value


async def test_agent_mcp_tools_has_exactly_its_columns(database: Database) -> None:
    # S0.12
    async with database.reading() as connection:
        columns = await connection.run_sync(
            lambda sync: inspect(sync).get_columns("agent_mcp_tools")
        )
        unique = await connection.run_sync(
            lambda sync: inspect(sync).get_unique_constraints("agent_mcp_tools")
        )
        key = await connection.run_sync(
            lambda sync: inspect(sync).get_pk_constraint("agent_mcp_tools")
        )

    assert [column["name"] for column in columns] == [
        "id",
        "role",
        "mcp_server",
        "tool_name",
        "enabled",
    ]
    assert [column["name"] for column in columns if not column["nullable"]][-3:] == [
        "role",
        "mcp_server",
        "tool_name",
    ]
    assert str(columns[4]["default"]) in ("true", "1")
    assert [c["column_names"] for c in unique] == [["role", "mcp_server", "tool_name"]]
    assert key["constrained_columns"] == ["id"]


async def test_tool_execution_logs_has_exactly_its_columns(database: Database) -> None:
    # S0.22
    columns = await _columns(database, "tool_execution_logs")

    assert list(columns) == [
        "id",
        "timestamp",
        "squad_member_id",
        "role",
        "server",
        "tool",
        "arguments",
        "result",
        "success",
        "error_message",
    ]
    if database.engine.dialect.name == "postgresql":
        assert columns["id"] == "UUID"
        assert columns["timestamp"] == "TIMESTAMP"
        assert columns["arguments"] == columns["result"] == "JSONB"
        assert columns["success"] == "BOOLEAN"


async def test_every_call_is_one_log_refused_ones_included(
    database: Database, tmp_path: Path
) -> None:
    member = "8b9cad0e-1f20-4f3e-9d3a-0f5a4b7f1c11"
    await _record(
        database,
        tmp_path,
        sample_event(1, kind=EventKind.INVOKED, call_id="a", outcome="unknown"),
        sample_event(2, call_id="a", member=member, arguments='{"n":9007199254740993}'),
        sample_event(3, kind=EventKind.REFUSED, outcome="none", result=None, error="may not"),
        sample_event(4, outcome="tool_error", error=None),
        sample_event(5, outcome="error", error=None, code="INTERNAL_ERROR"),
        sample_event(6, kind=EventKind.INVOKED, call_id="b", outcome="unknown", result=None),
        sample_event(7, kind=EventKind.ATTEMPTED, call_id="a", outcome="error"),
        sample_event(8, kind=EventKind.ATTEMPTED, call_id="b", outcome="error"),
    )

    rows = await _rows(database, "SELECT * FROM tool_execution_logs ORDER BY id")
    assert [str(row.id) for row in rows] == [sample_event(n).id for n in range(2, 7)]
    assert [bool(row.success) for row in rows] == [True, False, False, False, False]
    assert [row.error_message for row in rows] == [
        None,
        "may not",
        None,
        "INTERNAL_ERROR",
        "the outcome is unknown: no end of the call is recorded",
    ]
    first = rows[0]
    assert (str(first.squad_member_id), first.role, first.server, first.tool) == (
        member,
        "backend_developer",
        "git",
        "git_status",
    )
    assert _json(first.arguments) == {"n": 9007199254740993}
    assert _json(first.result) == {"content": []}
    assert rows[1].result is None


STRANGE_BODIES = (
    '{"a":"\\u0000"}',
    '{"\\ud800":1}',
    "[" * 8000 + "]" * 8000,
    "[" * 100_000 + "]" * 100_000,
    '{"a":1e999999999}',
    '{"cut off',
    "",
    "plain \0 text \ud800",
)


async def test_no_body_makes_the_logs_unreadable(database: Database, tmp_path: Path) -> None:
    await _record(
        database,
        tmp_path,
        *(sample_event(n, arguments=b, result=b) for n, b in enumerate(STRANGE_BODIES)),
    )

    equal = "CAST(arguments AS text) = CAST(result AS text) AS equal"
    rows = await _rows(database, f"SELECT {equal} FROM tool_execution_logs")  # noqa: S608 - ours
    assert [bool(row.equal) for row in rows] == [True] * len(STRANGE_BODIES)


async def test_agent_mcp_tools_shows_the_grants_of_the_current_revision(  # S0.15: as R28 has it
    database: Database,
) -> None:
    revisions = Revisions(database)
    await revisions.write("default", _document(git=["a", "b", "a"]), author="x", reason="", now=NOW)
    before = await _rows(database, "SELECT * FROM agent_mcp_tools ORDER BY tool_name")
    await revisions.write("default", _document(git=["b", "c"]), author="x", reason="", now=NOW)
    after = await _rows(database, "SELECT * FROM agent_mcp_tools ORDER BY tool_name")

    assert [tuple(row)[1:4] for row in before] == [("dev", "git", "a"), ("dev", "git", "b")]
    assert [tuple(row)[1:4] for row in after] == [("dev", "git", "b"), ("dev", "git", "c")]
    assert before[1] == after[0]  # a grant that stays keeps its id
    assert all(row.enabled for row in after)


async def test_another_tenant_changes_no_grant_and_patterns_are_none(database: Database) -> None:
    revisions = Revisions(database)
    document = {"roles": {"dev": {"allow": ["git/*"], "tools": {"git": ["a"]}}, "odd": None}}
    await revisions.write("default", document, author="x", reason="", now=NOW)
    await revisions.write("other", _document(git=["z"]), author="x", reason="", now=NOW)
    await revisions.write("default", document | {"a": 1}, author="x", reason="", now=NOW)

    rows = await _rows(database, "SELECT role, mcp_server, tool_name FROM agent_mcp_tools")

    assert [tuple(row) for row in rows] == [("dev", "git", "a")]


async def test_a_declaration_without_roles_has_no_grants(database: Database) -> None:
    revisions = Revisions(database)
    await revisions.write("default", _document(git=["a"]), author="x", reason="", now=NOW)
    await revisions.write("default", {"version": "1.0"}, author="x", reason="", now=NOW)

    assert await _rows(database, "SELECT * FROM agent_mcp_tools") == []


def _document(**tools: list[str]) -> dict[str, object]:
    return {"roles": {"dev": {"tools": tools}}}


async def test_a_change_of_an_administrator_is_no_call(database: Database, tmp_path: Path) -> None:
    # R28: one stream, of which the view shows the calls
    await _record(
        database,
        tmp_path,
        sample_event(1),
        sample_event(2, server=ADMINISTRATION, tool="keys.create", call_id="change"),
    )

    assert [row.tool for row in await _rows(database, "SELECT * FROM tool_execution_logs")] == [
        "git_status"
    ]

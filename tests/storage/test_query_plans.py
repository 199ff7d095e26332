"""What is asked of a long record and of many keys is found by an index, and never by reading all.

The plans are SQLite's, for the very statements that the stores send.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.storage.statements import Statements, statements

from remit.model.events import AuditQuery
from remit.storage.agents import Agents
from remit.storage.crew import Crew
from remit.storage.cuts import NoKeys
from remit.storage.database import Database, default_url, open_database
from remit.storage.events import events_after, events_of, find_calls
from remit.storage.executions import Executions
from remit.storage.keys import Keys
from remit.storage.notices import Notices
from remit.storage.traffic import find_traffic
from remit.storage.users import Users
from remit.storage.verify import verify_chain

NOW = datetime(2026, 11, 28, tzinfo=UTC)


async def plans(database: Database, sent: Statements) -> list[str]:
    """Return what SQLite would do for each statement, line by line."""
    lines: list[str] = []
    async with database.reading() as connection:
        for statement, parameters in sent:
            rows = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            lines += [str(row.detail) for row in rows]
    return lines


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncGenerator[Database]:
    async with open_database(default_url(tmp_path)) as database:
        yield database


def search(**asked: Any) -> Callable[[Database], Awaitable[object]]:
    async def ask(database: Database) -> object:
        async with database.reading() as connection:
            return await find_calls(connection, AuditQuery(tenant="default", limit=5, **asked))

    return ask


async def one_call(database: Database) -> object:
    async with database.reading() as connection:
        return await events_of(connection, "default", "a")


async def follow(database: Database) -> object:
    async with database.reading() as connection:
        return await events_after(connection, "default", 7, 100)


def ran(**asked: Any) -> Callable[[Database], Awaitable[object]]:
    return lambda database: Executions(database).executions("default", limit=5, **asked)


PLACE = (NOW, "id1")

ASKED: dict[str, tuple[Callable[[Database], Awaitable[object]], str]] = {
    "the newest calls": (search(), "sqlite_autoindex_audit_events_1"),
    "a page further on": (
        search(before="01a222b5-ccb1-7e92-bcc2-e39cf750ea5b"),
        "sqlite_autoindex_audit_events_1 (id<?)",
    ),
    "calls of a time": (
        search(since=NOW, until=NOW + timedelta(hours=1)),
        "sqlite_autoindex_audit_events_1 (id>? AND id<?)",
    ),
    "calls of one caller since": (
        search(principal="key:ci", since=NOW, role="ci", text="x"),
        "audit_events_of_principal (principal=? AND id>?",
    ),
    "what a caller did next": (
        search(principal="key:ci", after="01a222b5-ccb1-7e92-bcc2-e39cf750ea5b"),
        "audit_events_of_principal (principal=? AND id>?)",
    ),
    "a call with its attempts": (one_call, "audit_events_of_call (call_id=?)"),
    "calls of one caller": (search(principal="key:ci"), "audit_events_of_principal"),
    "calls of one tool": (search(tool="echo", server="fast"), "audit_events_of_tool"),
    "calls that ended badly": (search(code="UPSTREAM_TIMEOUT"), "audit_events_of_code"),
    "what came since": (follow, "INTEGER PRIMARY KEY (rowid>?)"),
    "the record from its beginning": (
        lambda database: verify_chain(database, "default", NoKeys()),
        "SCAN audit_events",  # in the order of its rows, page by page
    ),
    "one key": (lambda database: Keys(database).find("id1"), "sqlite_autoindex_api_keys_1"),
    "keys of a name": (lambda database: Keys(database).named("default", "ci"), "api_keys_of_name"),
    "a page of keys": (
        lambda database: Keys(database).keys_after("default", PLACE, 5),
        "api_keys_in_order",
    ),
    "the first page of keys": (
        lambda database: Keys(database).keys_after("default", None, 5),
        "api_keys_in_order",
    ),
    "a page of agents": (
        lambda database: Agents(database).agents_after("default", "w1", 5),
        "sqlite_autoindex_agents_1 (tenant=? AND id>?)",
    ),
    "a page of agents at their work": (
        lambda database: Crew(database, Notices(database)).members_after("default", "w1", 5),
        "sqlite_autoindex_agents_1 (tenant=? AND id>?)",
    ),
    "a page of users": (
        lambda database: Users(database).disabled_after("default", "ann", 5),
        "sqlite_autoindex_disabled_users_1 (tenant=? AND name>?)",
    ),
    "keys that hold": (
        lambda database: Keys(database).holding("default", NOW),
        "api_keys_in_order (tenant=?)",
    ),
    "the newest statements that ran": (ran(since=NOW), "data_executions_in_order (tenant=?"),
    "those of one caller": (ran(user="key:ci"), "data_executions_of_user (tenant=? AND user=?"),
    "those of one query": (ran(query="q1"), "data_executions_of_query (tenant=? AND query=?"),
    "uses of keys": (lambda database: Keys(database).touch({"id1": NOW}), "(id=?)"),
}


@pytest.mark.parametrize(("ask", "index"), ASKED.values(), ids=ASKED.keys())
async def test_it_is_found_by_an_index_and_nothing_is_sorted(
    sqlite: Database, ask: Callable[[Database], Awaitable[object]], index: str
) -> None:
    with statements() as sent:
        await ask(sqlite)

    told = await plans(sqlite, sent)

    assert any(index in line for line in told), told
    assert not [line for line in told if "TEMP B-TREE" in line], told


async def test_traffic_reads_the_rows_of_its_time_alone_and_each_statement_once(
    sqlite: Database,
) -> None:
    with statements() as sent:
        async with sqlite.reading() as connection:
            await find_traffic(connection, "default", NOW - timedelta(hours=1), NOW)

    told = [line for line in await plans(sqlite, sent) if "audit_events" in line]

    assert told == ["SEARCH audit_events USING INDEX sqlite_autoindex_audit_events_1 (id>?)"] * 2

"""Several processes on one database and one state folder: nothing lost, nothing twice (R29)."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import anyio
from sqlalchemy import text

from remit.model.events import AuditQuery
from remit.model.tools import Tool, ToolId
from remit.storage.audit import open_audit
from remit.storage.database import Database, open_database
from remit.storage.seen import SeenTools
from remit.testing.fakes import sample_event

Recorder = Callable[..., "subprocess.Popen[str]"]

EACH = 400
EVERYTHING = AuditQuery(tenant="default", limit=100_000)
NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


async def _printed(process: subprocess.Popen[str], count: int) -> list[str]:
    stdout = process.stdout
    assert stdout is not None
    return [(await anyio.to_thread.run_sync(stdout.readline)).strip() for _ in range(count)]


async def _count(database: Database, table: str) -> int:
    async with database.reading() as connection:
        found = await connection.execute(text(f"SELECT count(*) FROM {table}"))  # noqa: S608 - ours
        return found.scalar_one()


async def test_three_processes_that_write_at_once_leave_one_whole_chain(
    database_url: str, database: Database, tmp_path: Path, recorder: Recorder
) -> None:
    with anyio.fail_after(50):
        folders = (tmp_path / "a", tmp_path / "a", tmp_path / "b")  # two share a state folder
        children = [
            recorder(database_url, folder, EACH, 1000 * number)
            for number, folder in enumerate(folders)
        ]
        for child in children:
            _go(child)
        for child in children:
            await _printed(child, EACH)
        for child in children:
            _go(child)
        for child in children:
            assert await anyio.to_thread.run_sync(child.wait) == 0

        async with open_audit(database, tmp_path / "c", durability="process") as audit:
            report = await audit.verify("default")
    assert (report.broken, report.rows) == (None, 3 * EACH)
    assert await _count(database, "audit_journals") == 0


async def test_a_living_sibling_takes_over_what_a_killed_process_left(
    database_url: str, database: Database, tmp_path: Path, recorder: Recorder
) -> None:
    with anyio.fail_after(50):
        child = recorder(database_url, tmp_path, 200, 0)
        async with open_audit(database, tmp_path, durability="process"):
            _go(child)
            await _printed(child, 200)
            child.kill()
            child.wait()
            while list((tmp_path / "journal").iterdir()):  # noqa: ASYNC110 - nobody asks for it
                await anyio.sleep(0.05)

            assert await _count(database, "audit_events") == 200
    assert await _count(database, "audit_journals") == 0


async def test_rows_removed_since_do_not_come_back_with_the_journal_of_a_killed_process(
    database_url: str, database: Database, tmp_path: Path, recorder: Recorder
) -> None:
    with anyio.fail_after(50):
        child = recorder(database_url, tmp_path, 200, 0)
        _go(child)
        await _printed(child, 200)
        while await _count(database, "audit_events") < 200:  # noqa: ASYNC110 - another process's
            await anyio.sleep(0.05)
        child.kill()
        child.wait()
        async with database.writing() as connection:
            await connection.execute(text("DELETE FROM audit_events WHERE seq <= 150"))

        async with open_audit(database, tmp_path, durability="process") as audit:
            found = await audit.search(EVERYTHING)
        assert sorted(event.id for event in found) == [sample_event(n).id for n in range(150, 200)]
    assert list((tmp_path / "journal").iterdir()) == []


async def test_gateways_that_see_the_same_server_come_up_do_not_disturb_each_other(
    database_url: str, database: Database
) -> None:
    tools = [
        Tool(id=ToolId("git", f"tool{n}"), wire=b'{"name":"tool%d"}' % n, input_schema=b"{}")
        for n in range(20)
    ]

    async def remember(on: Database) -> None:
        for _ in range(5):
            await SeenTools(on).replace("default", "git", tools, NOW)

    async with open_database(database_url) as other, anyio.create_task_group() as tasks:
        for on in (database, other, database):
            tasks.start_soon(remember, on)

    assert len(await SeenTools(database).all_tools("default")) == 20

"""Time limits hold although a transaction is never cancelled half-way: a server that says nothing.

The bounds of these tests are generous; without the limit each of them takes a minute.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from sqlalchemy import text
from sqlalchemy.pool import QueuePool
from tests.storage.silence import Way, open_way

from remit.errors import StorageUnavailable
from remit.identity import key_uses
from remit.identity.key_uses import KeyUses
from remit.model.crew import Change, Mail
from remit.model.data import Execution
from remit.model.events import AuditQuery
from remit.model.limits import Allowance
from remit.storage import agents, health, keys, limits, users
from remit.storage import audit as audit_module
from remit.storage.audit import AuditLog, open_audit
from remit.storage.crew import Crew
from remit.storage.cuts import NoKeys
from remit.storage.database import Database, default_url, open_database
from remit.storage.epochs import Epochs
from remit.storage.executions import Executions
from remit.storage.health import examine
from remit.storage.journal import Journal
from remit.storage.keys import Keys
from remit.storage.notices import Notices
from remit.storage.outbox import Outbox
from remit.testing.fakes import sample_event

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
LIMIT = 0.3
MAIL = Mail(id="m", tenant="default", sender="agent:w1", subject="s", body="b", created=NOW)


@pytest.fixture
async def way(postgres_url: str) -> AsyncGenerator[Way]:
    async with open_way(postgres_url) as way:
        yield way


@pytest.fixture
async def database(way: Way) -> AsyncGenerator[Database]:
    """Open a database that has a connection in its pool, and whose server is silent then."""
    async with open_database(way.url) as database:
        yield database


@contextmanager
def in_time() -> Generator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 10


async def assert_whole(way: Way, database: Database, tasks: int) -> None:
    """Look for what a transaction must not leave, and use the database again."""
    await way.closed()
    assert isinstance(database.engine.pool, QueuePool)
    assert database.engine.pool.checkedout() == 0
    way.speak()
    async with database.writing() as connection:
        await connection.execute(text("SELECT 1"))
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) <= tasks + 2  # the way's own, of the new connection


async def _use(database: Database, kind: str) -> None:
    if kind == "reading":
        async with database.reading(within=LIMIT) as connection:
            await connection.execute(text("SELECT 1"))
    elif kind == "writing":
        async with database.writing(durable=True, within=LIMIT) as connection:
            await connection.execute(text("UPDATE epochs SET value = value"))
    elif kind == "mail":
        await Crew(database.bounded(LIMIT), Notices(database)).apply(Change(mails=(MAIL,)))
    elif kind == "execution":
        execution = Execution(
            id="x",
            tenant="default",
            datasource="d",
            tool="query",
            user="u",
            source="s",
            sql="SELECT 1",
            started=NOW,
        )
        await Executions(database).add_execution(execution, within=LIMIT)
    else:
        await Outbox(database).release("s", "me", within=LIMIT)


@pytest.mark.parametrize("is_new", [False, True], ids=["known connection", "new connection"])
@pytest.mark.parametrize("kind", ["reading", "writing", "mail", "execution", "subscriber"])
async def test_what_has_a_limit_ends_with_it_and_leaves_nothing(
    way: Way, database: Database, kind: str, *, is_new: bool
) -> None:
    if is_new:
        await database.engine.dispose()
    way.hush()
    tasks = len(asyncio.all_tasks())

    with in_time(), pytest.raises(StorageUnavailable, match="it takes too long"):
        await _use(database, kind)

    await assert_whole(way, database, tasks)


async def test_what_falls_silent_half_way_is_given_up_and_takes_back_what_it_wrote(
    way: Way, database: Database
) -> None:
    tasks = len(asyncio.all_tasks())
    insert = text("INSERT INTO epochs (tenant, topic, value) VALUES ('default', 'keys', 7)")

    async def write() -> None:
        async with database.writing(within=LIMIT) as connection:
            await connection.execute(insert)
            way.hush()

    with in_time(), pytest.raises(StorageUnavailable, match="it takes too long"):
        await write()

    await assert_whole(way, database, tasks)
    async with database.reading() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM epochs"))).scalar() == 0


async def test_whoever_is_cancelled_meanwhile_is_kept_no_longer(
    way: Way, database: Database
) -> None:
    tasks = len(asyncio.all_tasks())
    way.hush()

    with in_time():
        async with anyio.create_task_group() as group:
            group.start_soon(_quietly, database)
            await way.swallowed.wait()
            group.cancel_scope.cancel()

    await assert_whole(way, database, tasks)


async def _quietly(database: Database) -> None:
    with pytest.raises(StorageUnavailable):
        await _use(database, "writing")


async def test_what_is_under_way_when_time_becomes_short_ends_too(
    way: Way, database: Database
) -> None:
    mine = database.bounded()

    async def read() -> None:
        with pytest.raises(StorageUnavailable, match="it takes too long"):
            async with mine.reading() as connection:
                await connection.execute(text("SELECT 1"))

    way.hush()
    with in_time():
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await way.swallowed.wait()
            mine.hurry(LIMIT)
        await read()

    way.speak()
    async with database.reading() as connection:  # nobody else has to hurry
        await connection.execute(text("SELECT 1"))


async def test_uses_of_keys_are_written_later_where_the_database_does_not_answer(
    way: Way, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_uses, "LONGEST_WRITE", LIMIT)
    tasks = len(asyncio.all_tasks())
    uses = KeyUses(Keys(database), now=lambda: NOW)
    uses.note("k")
    way.hush()

    with in_time():
        await uses.write()

    await assert_whole(way, database, tasks)


@pytest.mark.parametrize("is_new", [False, True], ids=["known connection", "new connection"])
@pytest.mark.parametrize("credential", ["key", "key of an agent", "key or token of a user"])
async def test_whoever_has_not_been_seen_yet_is_told_soon_that_nobody_knows(
    way: Way,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    credential: str,
    *,
    is_new: bool,
) -> None:
    # docs/operations.md: keys that this gateway has not seen yet get 503
    for module in (agents, keys, users):
        monkeypatch.setattr(module, "LONGEST_LOOK", LIMIT)
    if is_new:
        await database.engine.dispose()
    way.hush()
    tasks = len(asyncio.all_tasks())

    with in_time(), pytest.raises(StorageUnavailable, match="it takes too long"):
        await _look_up(database, credential)

    await assert_whole(way, database, tasks)


async def _look_up(database: Database, credential: str) -> None:
    if credential == "key":
        await Keys(database).find("k")
    elif credential == "key of an agent":
        await agents.Agents(database).find("default", "w1")
    else:
        await users.Users(database).is_disabled("default", "ann")


async def test_a_stop_does_not_wait_for_uses_of_keys(
    way: Way, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_uses, "LONGEST_WRITE", LIMIT)
    monkeypatch.setattr(key_uses, "WRITE_EVERY", 0.01)
    uses = KeyUses(Keys(database), now=lambda: NOW)
    uses.note("k")
    way.hush()

    with in_time():
        async with anyio.create_task_group() as group:
            group.start_soon(uses.keep_writing)
            await way.swallowed.wait()
            group.cancel_scope.cancel()


async def test_a_database_that_says_nothing_counts_as_away(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "LONGEST", LIMIT)
    way.hush()

    with in_time():
        found = await examine(way.url, tmp_path)

    assert "it takes too long" in found.problem
    await way.closed()


async def test_closing_the_record_leaves_in_the_journal_what_no_database_takes(
    way: Way, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "LAST_ATTEMPT", LIMIT)
    journal = Journal(tmp_path)
    audit = AuditLog(database, journal, durability="process", signer=NoKeys())
    await audit.record(sample_event(1))
    way.hush()

    with in_time():
        await audit.close()

    way.speak()
    assert await _recorded(database, tmp_path) == ["call-1"]


async def test_the_record_is_closed_in_time_although_it_is_being_written(
    way: Way, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "LAST_ATTEMPT", LIMIT)
    with in_time():
        async with _silent_audit(way, database, tmp_path) as audit:
            await audit.record(sample_event(1))
            await way.swallowed.wait()

    way.speak()
    assert await _recorded(database, tmp_path) == ["call-1"]


@asynccontextmanager
async def _silent_audit(way: Way, database: Database, folder: Path) -> AsyncGenerator[AuditLog]:
    async with open_audit(database, folder, durability="process") as audit:
        await audit.flush()
        way.hush()
        yield audit


async def _recorded(database: Database, folder: Path) -> list[str]:
    async with open_audit(database, folder, durability="process") as audit:
        return [event.call_id for event in await audit.search(AuditQuery(tenant="default"))]


async def test_sqlite_waits_for_a_lock_and_for_a_statement_only_so_long(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
    async with (
        open_database(default_url(tmp_path / ".remit")) as other,
        open_database(default_url(tmp_path / ".remit")) as database,
    ):
        async with other.writing():
            began = time.monotonic()
            with pytest.raises(StorageUnavailable, match="locked"):
                await _use(database, "writing")
            assert time.monotonic() - began < 4  # without the limit it is 5

        with in_time(), pytest.raises(StorageUnavailable, match="interrupted"):
            async with database.reading(within=LIMIT) as connection:
                await connection.execute(text(endless))

        async with database.writing() as connection:
            assert (await connection.execute(text("PRAGMA busy_timeout"))).scalar() == 5000


async def test_changes_are_seen_although_the_connections_that_rest_are_dead(
    way: Way, database: Database
) -> None:
    # R17: a firewall that forgot them, say, and a store that is well
    epochs = Epochs(database)
    await epochs.current()
    async with database.reading() as one, database.reading() as other:
        await one.execute(text("SELECT 1"))
        await other.execute(text("SELECT 1"))
    way.lose()

    failed = 0
    with in_time():
        while True:
            try:
                assert await epochs.current(within=LIMIT) == {}
                break
            except StorageUnavailable:
                failed += 1  # with one connection, which is not used again
    assert failed >= 1


async def test_calls_do_not_wait_for_a_limit_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PATIENCE", LIMIT)
    wanted = [Allowance("k", 5, 60, "limits[0]", "5 calls per minute")]
    refused: list[StorageUnavailable] = []
    async with open_database(default_url(tmp_path / ".remit")) as database:
        slots = limits.SlotsInDatabase(database)
        await slots.take(wanted)

        async def take() -> None:
            try:
                await slots.take(wanted)
            except StorageUnavailable as error:
                refused.append(error)

        with closing(sqlite3.connect(tmp_path / ".remit" / "remit.db")) as somebody:
            somebody.execute("BEGIN EXCLUSIVE")
            with in_time():
                async with anyio.create_task_group() as tasks:
                    for _ in range(10):
                        tasks.start_soon(take)

        assert len(refused) == 10
        assert await slots.take(wanted) is None

"""Opening a database: private, migrated, or a one-line error with a remedy."""

import asyncio
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread
import psycopg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.util import await_

from remit.errors import StartupError, StorageUnavailable
from remit.storage.database import Database, default_url, open_database
from remit.storage.epochs import Epochs
from remit.storage.own_thread import MOMENT, give_way
from remit.storage.revisions import Revisions

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
SEVEN = text("INSERT INTO epochs (tenant, topic, value) VALUES ('default', 'keys', 7)")


async def _refusal(url: str) -> str:
    with pytest.raises(StartupError) as refusal:
        async with open_database(url, patience=0.2):
            pass
    message = str(refusal.value)
    assert "\n" not in message
    return message


def _file(database_url: str) -> Path:
    return Path(database_url.removeprefix("sqlite:///"))


async def test_the_default_is_a_file_in_the_state_folder_for_its_owner_alone(
    tmp_path: Path,
) -> None:
    async with open_database(default_url(tmp_path / "new")) as database:
        await Revisions(database).write("default", {}, author="x", reason="", now=NOW)
        files = {path.name: path for path in (tmp_path / "new").iterdir()}

        assert set(files) == {"remit.db", "remit.db-shm", "remit.db-wal"}
        assert {path.stat().st_mode & 0o777 for path in files.values()} == {0o600}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


async def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    odd = tmp_path / "50% of? my#files 工具"
    async with open_database(default_url(odd / ".remit")):
        pass

    assert (odd / ".remit" / "remit.db").is_file()


async def test_what_was_written_is_there_when_it_is_opened_again(database_url: str) -> None:
    for number in (1, 2):
        async with open_database(database_url) as database:
            document = {"number": number}
            revision = await Revisions(database).write(
                "default", document, author="x", reason="", now=NOW
            )
            assert revision.number == number


async def test_two_processes_open_a_new_database_at_once(
    database_url: str, tmp_path: Path, recorder: Callable[..., subprocess.Popen[str]]
) -> None:
    children = [recorder(database_url, tmp_path, 1, number) for number in range(3)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n\n")  # begin, and end
        child.stdin.flush()

    with anyio.fail_after(40):
        for child in children:
            assert await anyio.to_thread.run_sync(child.wait) == 0

    async with open_database(database_url) as database, database.reading() as connection:
        count = (await connection.execute(text("SELECT count(*) FROM audit_events"))).scalar_one()
    assert count == 3


async def test_a_database_of_a_newer_remit_is_refused(database_url: str) -> None:
    async with open_database(database_url) as database, database.writing() as connection:
        await connection.execute(text("UPDATE remit_version SET version_num = '9999'"))

    assert "was written by a newer remit (tables 9999): upgrade remit" in await _refusal(
        database_url
    )


async def test_a_current_database_opens_while_somebody_writes(
    database: Database,
    database_url: str,
    writing_locked: Callable[[], AbstractContextManager[None]],
) -> None:
    with writing_locked():
        async with open_database(database_url, patience=0.2) as second:
            assert second.name == database.name
            assert await Epochs(second).current() == {}


async def test_a_locked_database_that_has_to_be_migrated_is_refused(tmp_path: Path) -> None:
    url = default_url(tmp_path / ".remit")
    (tmp_path / ".remit").mkdir()
    with closing(sqlite3.connect(_file(url), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        message = await _refusal(url)

    assert "is locked; stop the process that holds it, or try again" in message


async def test_a_lock_that_is_released_in_time_does_no_harm(tmp_path: Path) -> None:
    url = default_url(tmp_path / ".remit")
    (tmp_path / ".remit").mkdir()
    with closing(
        sqlite3.connect(_file(url), isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN EXCLUSIVE")
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_open_and_close, url)
                await anyio.wait_all_tasks_blocked()
                other.execute("ROLLBACK")


async def _open_and_close(url: str) -> None:
    async with open_database(url, patience=15):
        pass


async def test_a_database_that_another_process_migrates_for_too_long_is_refused(
    postgres_url: str,
) -> None:
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [0x72656D6974])

        assert "lock timeout" in await _refusal(postgres_url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "is no database URL: write sqlite:///path/to/file or postgresql://"),
        ("mysql://host/db", "kind 'mysql' are not supported"),
        ("sqlite://", "in memory cannot be shared"),
        ("sqlite:///:memory:", "in memory cannot be shared"),
        (
            "postgresql://me:sesame@127.0.0.1:1/shop",
            "cannot open the database 'shop at 127.0.0.1'",
        ),
        ("postgres://me:sesame@127.0.0.1:1/shop", "Connection refused; start it, or point"),
        ("postgresql://me:sesame@127.0.0.1:port/shop", "is no database URL"),
        ("postgresql://me:sesame@nowhere.invalid/shop", "cannot open the database 'shop at"),
    ],
)
async def test_a_database_that_cannot_be_opened_says_why_and_what_to_do(
    url: str, words: str
) -> None:
    message = await _refusal(url)

    assert words in message
    assert "sesame" not in message


async def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    message = await _refusal(default_url(tmp_path / "file"))

    assert "cannot write the database" in message
    assert "make its folder writable" in message


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are notes\n" * 100)

    message = await _refusal(f"sqlite:///{path}")

    assert "file is not a database" in message
    assert path.read_text().startswith("these are notes")


async def test_a_folder_in_place_of_a_database_says_so(tmp_path: Path) -> None:
    assert "Is a directory" in await _refusal(f"sqlite:///{tmp_path}")


async def test_a_database_that_goes_away_is_unavailable_and_comes_back(
    database: Database, writing_locked: Callable[[], AbstractContextManager[None]]
) -> None:
    url = database.engine.url
    plain = url.set(drivername=url.get_backend_name()).render_as_string(hide_password=False)
    async with open_database(plain, patience=0.1) as impatient:
        with writing_locked(), pytest.raises(StorageUnavailable, match="cannot use the database"):
            await _write_event(impatient)

        with pytest.raises(IntegrityError):  # the row does not fit, and nothing waits
            await _write_event(impatient)


async def test_too_many_at_once_are_told_after_a_while(database_url: str) -> None:
    async with open_database(database_url, patience=0.1) as database, AsyncExitStack() as others:
        for _ in range(15):
            await others.enter_async_context(database.reading())

        with pytest.raises(StorageUnavailable, match="cannot use the database"):
            await Epochs(database).current()


async def test_a_server_that_does_not_answer_is_given_up(postgres_url: str) -> None:
    async with open_database(postgres_url) as database:
        hasty = Database(database.engine, longest=0.1)

        with pytest.raises(StorageUnavailable, match="it takes too long"):
            await _sleep(hasty)
        assert await Epochs(hasty).current() == {}


async def _sleep(database: Database) -> None:
    async with database.reading() as connection:
        await connection.execute(text("SELECT pg_sleep(60)"))


async def _write_event(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(text("INSERT INTO audit_events (id) VALUES (NULL)"))


async def test_a_cancelled_caller_leaves_the_database_whole(database: Database) -> None:
    revisions = Revisions(database)
    with anyio.CancelScope() as caller:
        async with database.writing() as connection:
            caller.cancel()
            await connection.execute(SEVEN)

    assert await Epochs(database).current() == {("default", "keys"): 7}
    assert await revisions.latest("default") is None


async def test_an_error_in_a_transaction_takes_back_what_it_wrote(database: Database) -> None:
    async def fail() -> None:
        async with database.writing() as connection:
            await connection.execute(SEVEN)
            raise KeyError

    with pytest.raises(KeyError):
        await fail()

    assert await Epochs(database).current() == {}


async def test_what_is_written_in_one_go_is_committed_and_returns_what_it_makes(
    database: Database,
) -> None:
    assert await database.write(lambda connection: connection.execute(SEVEN).rowcount) == 1

    assert await Epochs(database).current() == {("default", "keys"): 7}


async def test_an_error_in_one_go_takes_back_what_it_wrote(database: Database) -> None:
    def fail(connection: Connection) -> None:
        connection.execute(SEVEN)
        connection.execute(SEVEN)

    with pytest.raises(IntegrityError):
        await database.write(fail)

    assert await Epochs(database).current() == {}
    await database.write(lambda connection: connection.execute(SEVEN))  # its connection is whole


async def test_one_go_needs_no_turn_of_the_event_loop(tmp_path: Path) -> None:
    # A busy gateway's turns are long: where each statement takes some, rows fall behind calls.
    begun, written = threading.Event(), threading.Event()

    def work(connection: Connection) -> None:
        begun.set()
        for number in range(100):
            connection.execute(SEVEN)
            connection.execute(text("UPDATE epochs SET value = :number"), {"number": number})
            assert connection.execute(text("SELECT value FROM epochs")).scalar() == number
            connection.execute(text("DELETE FROM epochs"))
        written.set()

    async with (
        open_database(default_url(tmp_path / ".remit")) as database,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(database.write, work)
        assert await anyio.to_thread.run_sync(begun.wait, 30)

        assert written.wait(30)  # in the event loop's thread, so that it stands still


@pytest.mark.parametrize("cores", ["one", "all"])
async def test_one_go_gives_way_where_it_has_one_core_with_the_event_loop(
    database: Database, cores: str
) -> None:
    def gives_way(connection: Connection) -> bool:
        all_of_them = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(all_of_them)} if cores == "one" else all_of_them)
        try:
            # what does not give way may be interrupted, but not ten times out of ten
            return min(_seconds_of(lambda: give_way(connection)) for _ in range(10)) >= MOMENT
        finally:
            os.sched_setaffinity(0, all_of_them)

    in_one_go = await database.write(gives_way)
    async with database.writing() as connection:
        in_the_event_loop = await connection.run_sync(gives_way)

    has_one = cores == "one" or len(os.sched_getaffinity(0)) == 1
    assert in_one_go is (has_one and database.engine.dialect.name == "sqlite")
    assert not in_the_event_loop


def _seconds_of(work: Callable[[], None]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


async def test_work_in_a_connections_own_thread_must_not_wait(tmp_path: Path) -> None:
    def wait(_: Connection) -> None:
        await_(asyncio.sleep(0))

    async with open_database(default_url(tmp_path / ".remit")) as database:
        with pytest.raises(RuntimeError, match="waited"):
            await database.write(wait)

        for _ in range(3):  # no connection is left with the lock
            await database.write(lambda connection: connection.execute(text("DELETE FROM epochs")))


async def test_rows_for_a_file_that_was_deleted_are_refused_until_there_is_one(
    tmp_path: Path,
) -> None:
    # SQLite would take them without a word, and nobody would ever find them.
    url = default_url(tmp_path / ".remit")
    path = tmp_path / ".remit" / "remit.db"
    async with open_database(url) as database:
        await Revisions(database).write("default", {}, author="x", reason="", now=NOW)
        for file in path.parent.iterdir():
            file.unlink()

        with pytest.raises(StorageUnavailable, match="the file is gone"):
            await Revisions(database).write("default", {}, author="x", reason="", now=NOW)
        assert not path.exists()

        async with open_database(url):
            pass
        await Revisions(database).write("default", {"new": 1}, author="x", reason="", now=NOW)
    with closing(sqlite3.connect(path)) as found:
        assert found.execute("SELECT count(*) FROM revisions").fetchone() == (1,)


async def test_an_error_of_the_database_holds_no_value_of_a_statement(database: Database) -> None:
    # The log shows the causes of an error as well.
    with pytest.raises(StorageUnavailable) as failure:
        async with database.reading() as connection:
            await connection.execute(text("SELECT 1 FROM nowhere WHERE x = :x"), {"x": "hunter2"})

    assert failure.value.__cause__ is not None
    assert "hunter2" not in str(failure.value.__cause__)

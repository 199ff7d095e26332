"""PostgreSQL tells of a change at once; where nobody tells, whoever waits looks by itself (R17)."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import psycopg

from remit.model.crew import Change
from remit.storage.crew import Crew
from remit.storage.database import Database, default_url, open_database
from remit.storage.notices import Notices
from remit.storage.revisions import Revisions
from remit.storage.users import Users

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
LONG = 3600.0


@asynccontextmanager
async def _listening(database: Database) -> AsyncGenerator[Notices]:
    """Give notices once their connection listens."""
    notices = Notices(database)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(notices.listen)
        assert await notices.changed(0, within=LONG) == 1
        yield notices
        tasks.cancel_scope.cancel()


async def test_a_change_wakes_every_other_process_at_once(postgres_url: str) -> None:
    with anyio.fail_after(20):
        async with (
            open_database(postgres_url) as here,
            open_database(postgres_url) as there,
            _listening(here) as notices,
        ):
            await Revisions(there).write("default", {"a": 1}, author="x", reason="", now=NOW)
            assert await notices.changed(1, within=LONG) == 2

            await Users(there).disable("another", "ann", NOW)
            assert await notices.changed(2, within=LONG) == 3


async def test_a_change_that_is_rolled_back_wakes_nobody(postgres_url: str) -> None:
    async with (
        open_database(postgres_url) as database,
        _listening(database) as notices,
    ):
        revisions = Revisions(database)
        await revisions.write("default", {"a": 1}, author="x", reason="", now=NOW)
        seen = await notices.changed(1, within=20)
        await revisions.write("default", {"a": 1}, author="x", reason="", now=NOW)  # as it was

        assert await notices.changed(seen, within=0.3) == seen


async def test_a_listener_whose_connection_breaks_listens_again(postgres_url: str) -> None:
    with anyio.fail_after(30):
        async with (
            open_database(postgres_url) as database,
            _listening(database) as notices,
        ):
            seen = 1
            for _ in range(2):
                with psycopg.connect(postgres_url, autocommit=True) as other:
                    ended = other.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE application_name = 'remit_epochs' AND datname = current_database()"
                    ).fetchall()
                    assert ended
                seen = await notices.changed(seen, within=LONG)  # it looks at what it missed
            await Users(database).disable("default", "ann", NOW)
            assert await notices.changed(seen, within=LONG) > seen


async def test_where_nobody_tells_waiting_ends_by_itself(tmp_path: Path) -> None:
    async with open_database(default_url(tmp_path)) as database:
        notices = Notices(database)
        with anyio.fail_after(30):
            await notices.listen()  # SQLite: there is nothing to listen to
            assert await notices.changed(0, within=0.01) == 0


async def test_what_the_crew_changes_is_told_and_concerns_no_epoch(postgres_url: str) -> None:
    with anyio.fail_after(20):
        async with (
            open_database(postgres_url) as here,
            open_database(postgres_url) as there,
            _listening(here) as notices,
        ):
            epochs = notices.epochs.told
            await Crew(there, Notices(there)).apply(Change())
            seen = await notices.changed(1, within=LONG)
            assert notices.epochs.told == epochs

            await Users(there).disable("another", "ann", NOW)
            assert await notices.epochs.changed(epochs, within=LONG) > epochs
            assert notices.told > seen


async def test_a_process_hears_of_its_own_changes(tmp_path: Path) -> None:
    async with open_database(default_url(tmp_path)) as database:
        notices = Notices(database)

        await Crew(database, notices).apply(Change())

        assert (notices.told, notices.epochs.told) == (1, 0)

"""Looking at a database as it is (issue 4)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from remit.errors import StartupError
from remit.model.events import AuditEvent, EventKind
from remit.storage.audit import open_audit
from remit.storage.database import default_url, open_database
from remit.storage.health import examine


def event(number: int) -> AuditEvent:
    fields: dict[str, Any] = {
        "id": f"0190a000-0000-7000-8000-{number:012d}",
        "kind": EventKind.REFUSED,
        "call_id": f"c{number}",
        "time": datetime(2026, 1, 1, tzinfo=UTC),
        "tenant": "default",
        "principal": "key:k",
        "server": "files",
        "tool": "read",
        "decision": "deny",
        "revision": 1,
        "outcome": "none",
    }
    return AuditEvent(**fields)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give a database that is there."""
    if request.param == "sqlite":
        return default_url(tmp_path / ".remit")
    found: str = request.getfixturevalue("postgres_url")
    return found


async def recorded(url: str, folder: Path, *events: AuditEvent) -> None:
    async with (
        open_database(url) as database,
        open_audit(database, folder, durability="process") as audit,
    ):
        for one in events:
            await audit.record(one)
        await audit.flush()


async def test_a_database_in_use_is_healthy(url: str, tmp_path: Path) -> None:
    await recorded(url, tmp_path, event(1), event(2))

    health = await examine(url, tmp_path / "journal")

    assert (health.problem, health.is_current, health.broken_heads) == ("", True, ())
    assert (health.is_new, health.backlog) == (False, 0)
    assert (health.skew is None) == url.startswith("sqlite")
    assert abs(health.skew or 0.0) < 30


async def test_a_record_that_was_cut_short_shows_at_its_end(url: str, tmp_path: Path) -> None:
    await recorded(url, tmp_path, event(1), event(2))
    async with open_database(url) as database, database.writing() as connection:
        await connection.execute(text("DELETE FROM audit_events WHERE call_id = 'c2'"))

    assert (await examine(url, tmp_path)).broken_heads == ("default",)


async def test_a_record_that_lost_every_row_shows_too(url: str, tmp_path: Path) -> None:
    await recorded(url, tmp_path, event(1))
    async with open_database(url) as database, database.writing() as connection:
        await connection.execute(text("DELETE FROM audit_events"))

    assert (await examine(url, tmp_path)).broken_heads == ("default",)


async def test_tables_of_an_older_remit_are_left_as_they_are(url: str, tmp_path: Path) -> None:
    async with open_database(url) as database, database.writing() as connection:
        await connection.execute(text("UPDATE remit_version SET version_num = '0001'"))

    for _ in range(2):
        health = await examine(url, tmp_path)
        assert (health.problem, health.is_current) == ("", False)


async def test_tables_of_a_newer_remit_are_told_from_a_database_away(
    url: str, tmp_path: Path
) -> None:
    async with open_database(url) as database, database.writing() as connection:
        await connection.execute(text("UPDATE remit_version SET version_num = '9999'"))

    health = await examine(url, tmp_path)

    assert health.is_newer
    assert "newer remit" in health.problem


async def test_a_database_that_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    health = await examine(default_url(tmp_path / ".remit"), tmp_path)

    assert health.is_new
    assert not list(tmp_path.iterdir())


async def test_a_database_that_cannot_be_reached_says_why_without_the_password(
    tmp_path: Path,
) -> None:
    health = await examine("postgresql://remit:hunter2@127.0.0.1:9/remit", tmp_path)

    assert health.problem
    assert "hunter2" not in repr(health)
    assert not (await examine("mongodb://x", tmp_path)).is_new


@pytest.mark.parametrize(
    ("made", "wrong"),
    [(True, "its user may not read and write 'agent_mcp_tools'"), (False, "may make no tables")],
)
async def test_a_user_of_postgresql_who_may_only_read_is_found(
    postgres_url: str, tmp_path: Path, *, made: bool, wrong: str
) -> None:
    if made:
        async with open_database(postgres_url):
            pass
    url = make_url(postgres_url)
    reader = f"reader_{url.database}"
    engine = create_async_engine(url.set(drivername="postgresql+psycopg"))
    async with engine.begin() as connection:
        await connection.execute(text(f"CREATE ROLE {reader} LOGIN"))
        await connection.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}"))
    await engine.dispose()

    health = await examine(url.set(username=reader).render_as_string(), tmp_path)

    assert wrong in health.problem
    assert health.is_read_only


@pytest.mark.parametrize("content", [b"no database at all" * 100, None])
async def test_a_damaged_file_is_told_from_one_that_cannot_be_opened(
    tmp_path: Path, content: bytes | None
) -> None:
    url = default_url(tmp_path / ".remit")
    async with open_database(url):
        pass
    file = tmp_path / ".remit" / "remit.db"
    file.write_bytes(file.read_bytes()[:200_000] if content is None else content)

    health = await examine(url, tmp_path)
    with pytest.raises(StartupError, match="put a backup in its place"):
        async with open_database(url):
            pass

    assert health.problem
    assert health.is_damaged


@pytest.mark.bound_by_modes
@pytest.mark.parametrize("end", ["", "-shm"])
async def test_a_file_that_cannot_be_written_is_found_and_left_as_it_is(
    tmp_path: Path, end: str
) -> None:
    url = default_url(tmp_path / ".remit")
    async with open_database(url):
        pass
    file = tmp_path / ".remit" / f"remit.db{end}"
    file.touch()
    file.chmod(0o400)
    before = sorted(file.parent.iterdir())

    health = await examine(url, tmp_path)

    assert f"{str(file)!r} cannot be written" in health.problem
    assert sorted(file.parent.iterdir()) == before


async def test_what_a_dead_process_left_in_its_journal_is_counted(tmp_path: Path) -> None:
    await recorded(default_url(tmp_path / ".remit"), tmp_path, event(1))
    (tmp_path / "journal").mkdir(exist_ok=True)
    (tmp_path / "journal" / "1-dead.jsonl").write_bytes(b"x" * 100)

    assert (await examine(default_url(tmp_path / ".remit"), tmp_path / "journal")).backlog == 100

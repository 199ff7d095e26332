"""Rows of a tenant are chained by hash: one that is removed, changed or moved is named."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import anyio
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Column, MetaData, Table, create_engine, insert, select, text, update

from remit.model.events import AuditEvent, EventKind
from remit.storage import schema
from remit.storage.audit import open_audit
from remit.storage.chain import FIELDS, ChainReport, canonical_time, hashed_text, row_hash
from remit.storage.cuts import NoKeys
from remit.storage.database import Database, default_url, open_database
from remit.storage.insertion import insert_events
from remit.storage.tables import audit_events
from remit.storage.verify import verify_chain
from remit.testing.fakes import sample_event

MOMENT = datetime(2026, 11, 27, 12, 0, 0, 1, UTC)

OLD_TABLE = Table(
    "audit_events",
    MetaData(),
    *(Column(name, audit_events.c[name].type) for name in FIELDS if name != "agent"),
)
OLD_COLUMNS = [audit_events.c[name] for name in FIELDS if name != "agent"]

STRANGE = (
    sample_event(1, kind=EventKind.INVOKED, outcome="unknown", ms=0),
    sample_event(2, member="8b9cad0e-1f20-4f3e-9d3a-0f5a4b7f1c11", ms=1 / 3),
    sample_event(3, tool="a\0b\ud800", arguments='{"a":"\\u0000"}', result=None, error="grüße\n"),
    sample_event(4, time=datetime(2026, 11, 27, 23, 59, 59, 1, timezone(timedelta(hours=-7)))),
    sample_event(5, revision=2**60, arguments_size=2**62),
)
"""Values that a database may give back in another spelling."""


async def _insert(database: Database, events: Sequence[AuditEvent]) -> None:
    async with database.writing() as connection:
        await connection.run_sync(insert_events, events)


async def _tamper(database: Database, *statements: str) -> None:
    async with database.writing() as connection:
        for statement in statements:
            await connection.execute(text(statement))


async def _first_break(database: Database) -> tuple[str, int, int]:
    report = await verify_chain(database, "default", NoKeys())
    assert report.broken is not None
    return report.broken.kind, report.broken.link, report.broken.seq


@pytest.fixture
async def ten_rows(database: Database) -> Database:
    await _insert(database, [sample_event(number) for number in range(1, 11)])
    return database


async def test_rows_of_every_kind_hold(database: Database) -> None:
    await _insert(database, STRANGE)

    report = await verify_chain(database, "default", NoKeys())

    assert report == ChainReport(rows=5, hash=report.hash)
    assert len(report.hash) == 64
    assert await verify_chain(database, "nobody", NoKeys()) == ChainReport(rows=0, hash="")


async def test_a_chain_longer_than_a_page_holds(database: Database) -> None:
    for start in range(0, 2500, 500):
        await _insert(database, [sample_event(number) for number in range(start, start + 500)])

    assert (await verify_chain(database, "default", NoKeys())).rows == 2500


async def test_tenants_have_chains_of_their_own(database: Database) -> None:
    mixed = [sample_event(n, tenant="a" if n % 3 else "b\0") for n in range(12)]
    await _insert(database, mixed)
    await _insert(database, [sample_event(20, tenant="a")])

    assert (await verify_chain(database, "a", NoKeys())).rows == 9
    assert (await verify_chain(database, "b\\u0000", NoKeys())).rows == 4
    await _tamper(database, "UPDATE audit_events SET tool = 'x' WHERE seq = 1")
    assert (await verify_chain(database, "a", NoKeys())).broken is None
    assert (await verify_chain(database, "b\\u0000", NoKeys())).broken is not None


async def test_an_event_that_comes_twice_is_one_link(database: Database) -> None:
    events = [sample_event(1), sample_event(2), sample_event(1, tool="other")]
    await _insert(database, events)
    await _insert(database, [sample_event(2), sample_event(3)])
    await _insert(database, [sample_event(3)])

    assert (await verify_chain(database, "default", NoKeys())).rows == 3


@pytest.mark.parametrize(
    "change",
    [
        "tool = 'git_push'",
        "decision = 'deny'",
        "arguments = '{}'",
        "result = NULL",
        "error = ''",
        "ms = 1.25",
        "arguments_size = arguments_size + 1",
        "hash = 'cafe'",
        "call_id = 'call-9'",
        "principal = 'key:somebody-else'",
        "agent = 'w1'",
    ],
)
async def test_a_changed_row_is_named(ten_rows: Database, change: str) -> None:
    await _tamper(ten_rows, f"UPDATE audit_events SET {change} WHERE seq = 4")  # noqa: S608 - ours

    report = await verify_chain(ten_rows, "default", NoKeys())

    assert report.broken is not None
    assert (report.broken.kind, report.broken.seq, report.rows) == ("changed", 4, 3)
    assert report.broken.id == sample_event(4).id


@pytest.mark.parametrize("change", ["agent = NULL", "agent = 'w2'"])
async def test_the_agent_that_acted_is_covered_where_there_is_one(
    database: Database, change: str
) -> None:
    await _insert(database, [sample_event(1), sample_event(2, agent="w1"), sample_event(3)])
    assert (await verify_chain(database, "default", NoKeys())).rows == 3

    await _tamper(database, f"UPDATE audit_events SET {change} WHERE seq = 2")  # noqa: S608 - ours

    assert await _first_break(database) == ("changed", 2, 2)


async def test_a_time_that_was_changed_by_a_microsecond_is_named(ten_rows: Database) -> None:
    later = update(audit_events).where(audit_events.c.seq == 4).values(time=MOMENT)
    async with ten_rows.writing() as connection:
        await connection.execute(later)

    assert await _first_break(ten_rows) == ("changed", 4, 4)


@pytest.mark.parametrize("gone", [1, 5])
async def test_a_row_that_was_removed_is_told_by_what_comes_after(
    ten_rows: Database, gone: int
) -> None:
    await _tamper(ten_rows, f"DELETE FROM audit_events WHERE seq = {gone}")  # noqa: S608 - ours

    broken = (await verify_chain(ten_rows, "default", NoKeys())).broken

    assert broken is not None
    assert (broken.kind, broken.link, broken.seq) == ("removed", gone, gone + 1)
    assert broken.message == (
        f"1 removed before row {gone + 1} (event {sample_event(gone + 1).id}):"
        f" number {gone} of the record is missing"
    )


async def test_rows_cut_off_at_the_end_are_missed(ten_rows: Database) -> None:
    await _tamper(ten_rows, "DELETE FROM audit_events WHERE seq > 8")

    report = await verify_chain(ten_rows, "default", NoKeys())

    assert report.broken is not None
    assert (report.broken.kind, report.broken.link, report.broken.seq) == ("removed", 9, 0)
    assert report.broken.message == "2 removed at the end, after row 8"


async def test_a_record_that_was_emptied_is_missed(ten_rows: Database) -> None:
    await _tamper(ten_rows, "DELETE FROM audit_events")

    assert await _first_break(ten_rows) == ("removed", 1, 0)


async def test_rows_that_changed_places_are_named(ten_rows: Database) -> None:
    await _tamper(
        ten_rows,
        "UPDATE audit_events SET seq = 99 WHERE seq = 3",
        "UPDATE audit_events SET seq = 3 WHERE seq = 6",
        "UPDATE audit_events SET seq = 6 WHERE seq = 99",
    )

    report = await verify_chain(ten_rows, "default", NoKeys())

    assert report.broken is not None
    assert (report.broken.kind, report.broken.seq, report.broken.link) == ("reordered", 3, 6)
    assert report.broken.id == sample_event(6).id


async def test_a_row_with_the_number_of_another_is_named(ten_rows: Database) -> None:
    await _tamper(ten_rows, "UPDATE audit_events SET link = 3 WHERE seq = 5")

    assert await _first_break(ten_rows) == ("reordered", 3, 5)


async def test_a_row_that_is_removed_and_renumbered_still_shows(ten_rows: Database) -> None:
    await _tamper(
        ten_rows,
        "DELETE FROM audit_events WHERE seq = 5",
        "UPDATE audit_events SET link = link - 1 WHERE seq > 5",
        "UPDATE audit_chain SET length = 9",
    )

    assert await _first_break(ten_rows) == ("changed", 5, 6)


async def test_a_row_by_another_hand_is_named(ten_rows: Database) -> None:
    await _tamper(ten_rows, "UPDATE audit_events SET link = NULL, hash = NULL WHERE seq = 10")

    assert await _first_break(ten_rows) == ("added", 10, 10)


@pytest.mark.parametrize("place", [0, -7], ids=str)
async def test_a_row_that_is_put_before_the_first_is_named(ten_rows: Database, place: int) -> None:
    columns = ", ".join(name for name in FIELDS if name != "id")
    await _tamper(
        ten_rows,
        f"INSERT INTO audit_events (seq, id, {columns})"  # noqa: S608 - our own names
        f" SELECT {place}, '{sample_event(99).id}', {columns} FROM audit_events WHERE seq = 5",
    )

    assert await _first_break(ten_rows) == ("added", 1, place)


@pytest.mark.parametrize("damage", ["time = 'noon'", "link = 'five'"])
async def test_a_row_that_cannot_be_read_is_named(tmp_path: Path, damage: str) -> None:
    async with open_database(default_url(tmp_path)) as database:
        await _insert(database, [sample_event(number) for number in range(1, 11)])
        # SQLite alone: PostgreSQL takes no such value
        await _tamper(database, f"UPDATE audit_events SET {damage} WHERE seq = 5")  # noqa: S608

        report = await verify_chain(database, "default", NoKeys())

    assert report.rows == 4
    assert report.broken is not None
    broken = report.broken
    assert (broken.kind, broken.link, broken.seq) == ("changed", 5, 5)
    assert broken.id == sample_event(5).id


async def test_a_row_added_at_the_end_with_a_fitting_hash_is_named(ten_rows: Database) -> None:
    await _tamper(ten_rows, "UPDATE audit_chain SET length = 9")

    assert await _first_break(ten_rows) == ("added", 10, 10)


async def test_several_writers_continue_one_chain(database: Database) -> None:
    async def write(start: int) -> None:
        for number in range(start, start + 20):
            await _insert(database, [sample_event(number), sample_event(number + 1000)])

    async with anyio.create_task_group() as writers:
        for start in (0, 100, 200, 300):
            writers.start_soon(write, start)

    assert await verify_chain(database, "default", NoKeys()) == ChainReport(
        rows=160, hash=(await verify_chain(database, "default", NoKeys())).hash
    )


async def test_a_batch_that_does_not_fit_leaves_the_chain_as_it_was(database: Database) -> None:
    await _insert(database, [sample_event(1)])
    with pytest.raises(Exception, match=r"out of range|too large|overflow|64 bit|int"):
        await _insert(database, [sample_event(2), sample_event(3, arguments_size=2**70)])
    await _insert(database, [sample_event(4)])

    assert (await verify_chain(database, "default", NoKeys())).rows == 2


async def test_what_was_recorded_through_the_journal_is_chained(
    database: Database, tmp_path: Path
) -> None:
    async with open_audit(database, tmp_path, durability="process") as audit:
        for number in range(700):
            await audit.record(sample_event(number))

        assert (await audit.verify("default")).rows == 700


async def test_rows_from_before_the_chain_are_chained_by_the_migration(
    database_url: str, tmp_path: Path
) -> None:
    async with open_database(default_url(tmp_path / "other" / ".remit")) as database:
        await _insert(database, [*STRANGE, sample_event(9, tenant="other")])
        hashes = await _hashes(database)
        async with database.reading() as connection:
            rows = (await connection.execute(select(*OLD_COLUMNS))).mappings().all()
    _write_as_before_the_chain(database_url, [dict(row) for row in rows])

    async with open_database(database_url) as database:
        assert (await verify_chain(database, "default", NoKeys())).rows == 5
        assert await _hashes(database) == hashes
        await _insert(database, [sample_event(10)])
        assert (await verify_chain(database, "default", NoKeys())).rows == 6
        assert (await verify_chain(database, "other", NoKeys())).rows == 1


async def _hashes(database: Database) -> list[str]:
    async with database.reading() as connection:
        rows = await connection.execute(text("SELECT hash FROM audit_events ORDER BY seq"))
        return [row.hash for row in rows]


def _write_as_before_the_chain(url: str, rows: list[dict[str, object]]) -> None:
    """Make a database of the first release, with *rows* in it."""
    path = url.removeprefix("sqlite:///")
    if path != url:
        Path(path).parent.mkdir(exist_ok=True)
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        config.attributes["version_table"] = schema.VERSION_TABLE
        command.upgrade(config, "0001")
        connection.execute(insert(OLD_TABLE), rows)
    engine.dispose()


async def test_hashes_are_the_same_on_both_databases(tmp_path: Path, postgres_url: str) -> None:
    found: list[str] = []
    for url in (default_url(tmp_path), postgres_url):
        async with open_database(url) as database:
            await _insert(database, STRANGE)
            found.append((await verify_chain(database, "default", NoKeys())).hash)

    assert found[0] == found[1]


def test_a_hash_depends_on_the_row_before_and_on_its_number() -> None:
    # what a row of years ago was hashed to must never change
    assert row_hash("", 1, ["a", None, 1.5]) == (
        "57e4d7174035e1e32a874ac91ca104514852426eeb1afdca3d59f389840bfbf6"
    )
    assert row_hash("", 1, ["a"]) != row_hash("", 2, ["a"])
    assert row_hash("", 1, ["a"]) != row_hash("x", 1, ["a"])


def test_what_is_hashed_is_spelled_as_it_always_was() -> None:
    noon = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)

    assert " ".join(FIELDS) == (
        "id kind call_id time tenant principal role member server tool decision layer rule"
        " revision outcome code ms arguments arguments_size result result_size error agent"
    )
    assert canonical_time(noon) == "2026-11-27T12:00:00.000000+00:00"
    assert canonical_time(MOMENT) == "2026-11-27T12:00:00.000001+00:00"
    assert hashed_text(7, ["ü", None, 1.5, None]) == '[7,["ü",null,1.5]]'.encode()
    assert hashed_text(7, ["ü", None, 1.5, "w1"]) == '[7,["ü",null,1.5,"w1"]]'.encode()
    assert row_hash("00", 7, ["a", "w1"]) == hashlib.sha256(b'00[7,["a","w1"]]').hexdigest()

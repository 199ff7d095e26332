"""A signed marker stands for what retention removed, and the rest of the chain still holds."""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from sqlalchemy import text, update

from remit.errors import Conflict, StartupError
from remit.identity.record_keys import RecordKeys, make_record_key
from remit.model.retention import Retention
from remit.storage import retention
from remit.storage.audit import open_audit
from remit.storage.chain import FIELDS, ChainReport, canonical_time, chained_rows, row_hash
from remit.storage.cuts import NoKeys
from remit.storage.database import Database, default_url, open_database
from remit.storage.insertion import insert_events
from remit.storage.retention import BATCH, prune
from remit.storage.tables import audit_events
from remit.storage.verify import verify_chain
from remit.testing.fakes import sample_event

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)

Lock = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def keys() -> RecordKeys:
    return RecordKeys(make_record_key())


async def _insert(database: Database, start: int, stop: int) -> None:
    async with database.writing() as connection:
        await connection.run_sync(
            insert_events, [sample_event(number) for number in range(start, stop)]
        )


async def _prune(database: Database, keys: RecordKeys, rows: int) -> None:
    await prune(
        database,
        Retention(rows=rows),
        signer=keys,
        tenant="default",
        author="ann",
        now=NOON,
    )


async def _tamper(database: Database, *statements: str) -> None:
    async with database.writing() as connection:
        for statement in statements:
            await connection.execute(text(statement))


@pytest.fixture
async def pruned(database: Database, keys: RecordKeys) -> Database:
    """Give a database of rows 21 to 40 with two markers before them."""
    await _insert(database, 1, 31)
    await _prune(database, keys, 20)
    await _insert(database, 31, 41)
    await _prune(database, keys, 20)
    return database


async def _verify(database: Database, keys: RecordKeys) -> ChainReport:
    return await verify_chain(database, "default", keys)


async def _broken(database: Database, keys: RecordKeys) -> tuple[str, int]:
    broken = (await _verify(database, keys)).broken
    assert broken is not None
    return broken.kind, broken.link


async def test_the_rest_holds_and_the_markers_are_reported(
    pruned: Database, keys: RecordKeys
) -> None:
    report = await _verify(pruned, keys)

    assert report.broken is None
    assert report.rows == 20
    cuts = [marker.cut for marker in report.cuts]
    assert [(cut.number, cut.link, cut.removed) for cut in cuts] == [(1, 10, 10), (2, 20, 10)]
    assert [keys.open(marker.signed) is not None for marker in report.cuts] == [True, True]
    first = hashlib.sha256(report.cuts[0].signed.encode()).hexdigest()
    assert [cut.previous for cut in cuts] == ["", first]
    await _insert(pruned, 41, 42)
    assert (await _verify(pruned, keys)).rows == 21


async def test_a_record_that_was_pruned_whole_goes_on(database: Database, keys: RecordKeys) -> None:
    await _insert(database, 1, 11)
    await _prune(database, keys, 0)
    assert (await _verify(database, keys)).rows == 0

    await _insert(database, 11, 14)
    report = await _verify(database, keys)
    assert (report.broken, report.rows) == (None, 3)


async def test_many_batches_leave_one_marker(database: Database, keys: RecordKeys) -> None:
    for start in range(0, BATCH * 3, BATCH):
        await _insert(database, start, start + BATCH)
    await _prune(database, keys, 7)

    report = await _verify(database, keys)
    assert (report.broken, report.rows, len(report.cuts)) == (None, 7, 1)
    assert report.cuts[0].cut.removed == BATCH * 3 - 7


async def test_many_batches_of_a_later_run_leave_the_marker_of_the_one_before(
    pruned: Database, keys: RecordKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 3)
    await _prune(pruned, keys, 10)

    report = await _verify(pruned, keys)
    assert (report.broken, report.rows) == (None, 10)
    assert [marker.cut.removed for marker in report.cuts] == [10, 10, 10]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM audit_events WHERE link = 21", ("removed", 21)),
        ("DELETE FROM audit_cuts WHERE number = 2", ("removed", 11)),
        ("DELETE FROM audit_cuts", ("removed", 1)),
        ("DELETE FROM audit_cuts WHERE number = 1", ("marker", 20)),
        ("UPDATE audit_cuts SET link = 22 WHERE number = 2", ("marker", 22)),
        ("UPDATE audit_cuts SET signed = signed || 'x' WHERE number = 2", ("marker", 20)),
        ("UPDATE audit_cuts SET signed = 'x.y' WHERE number = 1", ("marker", 10)),
        ("UPDATE audit_events SET link = 20 WHERE link = 21", ("added", 20)),
        ("UPDATE audit_events SET tool = 'x' WHERE link = 21", ("changed", 21)),
        ("UPDATE audit_chain SET hash = 'x'", ("changed", 40)),
        ("UPDATE audit_events SET hash = NULL WHERE link = 21", ("added", 21)),
        ("UPDATE audit_events SET link = NULL WHERE link = 21", ("added", 21)),
    ],
)
async def test_whatever_is_done_to_rows_or_markers_shows(
    pruned: Database, keys: RecordKeys, statement: str, found: tuple[str, int]
) -> None:
    await _tamper(pruned, statement)

    assert await _broken(pruned, keys) == found


async def test_a_marker_that_does_not_hold_is_told_of_in_words(
    pruned: Database, keys: RecordKeys
) -> None:
    await _tamper(pruned, "UPDATE audit_cuts SET link = 22 WHERE number = 2")

    broken = (await _verify(pruned, keys)).broken

    assert broken is not None
    assert (broken.seq, broken.id) == (0, "")
    assert broken.message == "marker 2 says something else than it was signed for"


async def test_nothing_is_removed_behind_a_marker_that_does_not_continue_the_one_before(
    pruned: Database, keys: RecordKeys
) -> None:
    await _prune(pruned, keys, 10)
    await _tamper(pruned, "DELETE FROM audit_cuts WHERE number = 2")

    with pytest.raises(Conflict, match="marker 3 does not continue the one before"):
        await _prune(pruned, keys, 5)

    assert await _broken(pruned, keys) == ("marker", 30)


async def test_rows_removed_under_a_marker_of_another_key_show(
    pruned: Database, keys: RecordKeys
) -> None:
    forger = RecordKeys(make_record_key())
    with pytest.raises(Conflict, match="not signed by a key that is known here"):
        await _prune(pruned, forger, 5)
    both = RecordKeys(None, [])
    assert await _broken(pruned, both) == ("marker", 10)
    assert await _broken(pruned, forger) == ("marker", 10)

    # without those markers it could sign, but then the rows before are missing
    await _tamper(pruned, "DELETE FROM audit_cuts")
    with pytest.raises(Conflict, match="does not hold at row"):
        await _prune(pruned, forger, 5)
    assert (await _verify(pruned, keys)).broken is not None


async def test_rows_that_do_not_hold_are_not_removed(database: Database, keys: RecordKeys) -> None:
    await _insert(database, 1, 31)
    await _tamper(database, "UPDATE audit_events SET tool = 'x' WHERE seq = 7")

    with pytest.raises(Conflict, match="does not hold at row 7"):
        await _prune(database, keys, 10)

    report = await _verify(database, keys)
    assert report.broken is not None
    assert (report.broken.link, report.cuts) == (7, ())


async def test_rows_behind_a_gap_are_not_removed_though_their_hashes_were_made_to_fit(
    database: Database, keys: RecordKeys
) -> None:
    await _insert(database, 1, 11)
    await _tamper(database, "DELETE FROM audit_events WHERE seq = 5")
    async with database.writing() as connection:
        previous = ""
        for row in (await connection.execute(chained_rows("default"))).all():
            values = [getattr(row, name) for name in FIELDS]
            values[FIELDS.index("time")] = canonical_time(row.time)
            previous = row_hash(previous, row.link, values)
            await connection.execute(
                update(audit_events).where(audit_events.c.seq == row.seq).values(hash=previous)
            )
    await _tamper(database, f"UPDATE audit_chain SET hash = '{previous}'")  # noqa: S608 - hex

    with pytest.raises(Conflict, match="does not hold at row 6"):
        await _prune(database, keys, 2)

    assert await _broken(database, keys) == ("removed", 5)


async def test_a_young_row_by_another_hand_does_not_take_the_others_with_it(
    database: Database, keys: RecordKeys
) -> None:
    await _insert(database, 1, 11)
    columns = ", ".join(name for name in FIELDS if name != "id")
    await _tamper(
        database,
        f"INSERT INTO audit_events (seq, id, {columns})"  # noqa: S608 - our own names
        f" SELECT -1, '{sample_event(99).id}', {columns} FROM audit_events WHERE seq = 10",
    )

    with pytest.raises(Conflict, match="does not hold at row -1"):
        await prune(
            database,
            Retention(days=36500),
            signer=keys,
            tenant="default",
            author="ann",
            now=NOON,
        )

    async with database.reading() as connection:
        left = (await connection.execute(text("SELECT count(*) FROM audit_events"))).scalar_one()
    assert left == 11


async def test_rows_that_cannot_be_read_are_not_removed(tmp_path: Path, keys: RecordKeys) -> None:
    async with open_database(default_url(tmp_path)) as database:  # PostgreSQL takes no such value
        await _insert(database, 1, 11)
        await _tamper(database, "UPDATE audit_events SET time = 'noon' WHERE seq = 3")

        with pytest.raises(Conflict, match="a row cannot be read"):
            await _prune(database, keys, 5)


async def test_two_who_prune_at_once_and_one_who_verifies_do_not_disturb_each_other(
    database: Database, keys: RecordKeys
) -> None:
    for start in range(0, BATCH * 4, BATCH):
        await _insert(database, start, start + BATCH)

    async def look() -> None:
        for _ in range(5):
            assert (await _verify(database, keys)).broken is None

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_prune, database, keys, 30)
        tasks.start_soon(_prune, database, keys, 10)
        tasks.start_soon(_insert, database, 5000, 5010)
        tasks.start_soon(look)
    await _prune(database, keys, 10)

    report = await _verify(database, keys)
    assert (report.broken, report.rows) == (None, 10)


async def test_nothing_is_removed_without_a_key(database: Database) -> None:
    await _insert(database, 1, 31)

    with pytest.raises(StartupError, match="no key to sign"):
        await prune(
            database, Retention(rows=1), signer=NoKeys(), tenant="default", author="a", now=NOON
        )
    assert (await verify_chain(database, "default", NoKeys())).rows == 30


async def test_recording_does_not_wait_for_retention(
    database: Database, tmp_path: Path, keys: RecordKeys
) -> None:
    # T25: retention runs without blocking
    for start in range(0, BATCH * 3, BATCH):
        await _insert(database, start, start + BATCH)
    async with (
        open_audit(database, tmp_path, durability="process", signer=keys) as audit,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_prune, database, keys, 50)
        for number in range(9000, 9100):
            with anyio.fail_after(5):
                await audit.record(sample_event(number))
            await anyio.lowlevel.checkpoint()
        tasks.start_soon(audit.flush)

    async with open_audit(database, tmp_path, durability="process", signer=keys) as audit:
        report = await audit.verify("default")
    assert report.broken is None
    assert report.rows in {150, 50}  # as it ran before or after the last were stored

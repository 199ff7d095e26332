"""What a batch asks of the database; what is there already stays one row all the same (R29)."""

import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from sqlalchemy import Engine, event, insert, text

from remit.model.events import AuditEvent, EventKind
from remit.storage.chain import FIELDS, canonical_time
from remit.storage.cuts import NoKeys
from remit.storage.database import Database, default_url, open_database
from remit.storage.insertion import insert_events
from remit.storage.intake import GATHERED, Intake, encode_line, events_of
from remit.storage.journal import Journal
from remit.storage.tables import audit_events
from remit.storage.verify import verify_chain
from remit.testing.fakes import sample_event

IDS_ASKED_FOR = "SELECT audit_events.id"

Statements = Callable[[], Sequence[str]]


@pytest.fixture
def statements() -> Generator[Statements]:
    """Give what any engine has executed since it was last asked."""
    seen: list[str] = []

    def note(*given: object) -> None:
        seen.append(str(given[2]))

    def since_then() -> Sequence[str]:
        found = seen.copy()
        seen.clear()
        return found

    event.listen(Engine, "before_cursor_execute", note)
    yield since_then
    event.remove(Engine, "before_cursor_execute", note)


def _record(journal: Journal, numbers: range) -> None:
    for number in numbers:
        journal.append(encode_line(sample_event(number)))


async def _rows(database: Database) -> int:
    """Count the rows of the chain, which holds."""
    report = await verify_chain(database, "default", NoKeys())
    assert report.broken is None
    return report.rows


async def test_a_batch_that_nobody_else_took_asks_for_no_ids_and_takes_few_statements(
    database: Database, tmp_path: Path, statements: Statements
) -> None:
    journal = Journal(tmp_path)
    intake = Intake(database, journal, durable=False)
    for start in (0, 500):
        _record(journal, range(start, start + 500))
        statements()
        await intake.take_own()
        executed = statements()

        assert not [one for one in executed if one.startswith(IDS_ASKED_FOR)]
        assert len([one for one in executed if not one.startswith("PRAGMA")]) <= 10
    assert await _rows(database) == 1000
    journal.close()


async def test_ids_are_asked_for_when_another_process_took_lines_meanwhile(
    database: Database, tmp_path: Path, statements: Statements
) -> None:
    journal, others = Journal(tmp_path), Journal(tmp_path)
    intake = Intake(database, journal, durable=False)
    _record(journal, range(10))
    await Intake(database, others, durable=False).take_all()
    _record(journal, range(10, 15))
    statements()

    await intake.take_own()

    assert [one for one in statements() if one.startswith(IDS_ASKED_FOR)]
    assert await _rows(database) == 15
    _record(journal, range(15, 20))
    statements()
    await intake.take_own()
    assert not [one for one in statements() if one.startswith(IDS_ASKED_FOR)]
    assert await _rows(database) == 20
    journal.close()


async def test_an_event_that_came_another_way_too_is_one_row(
    database: Database, tmp_path: Path, statements: Statements
) -> None:
    # as when the journal could be written but not synced, or somebody deleted it
    journal = Journal(tmp_path)
    intake = Intake(database, journal, durable=False)
    _record(journal, range(10))
    await intake.store([sample_event(4)])
    _record(journal, range(8, 12))
    statements()

    await intake.take_own()

    assert [one for one in statements() if one.startswith(IDS_ASKED_FOR)]
    assert await _rows(database) == 12
    assert journal.files[0].taken == journal.files[0].size
    journal.close()


async def test_what_came_before_a_batch_began_is_in_its_transaction(
    database: Database, tmp_path: Path, statements: Statements
) -> None:
    journal = Journal(tmp_path)
    intake = Intake(database, journal, durable=False)
    _record(journal, range(GATHERED + 5))
    statements()

    await intake.take_own()

    assert len([one for one in statements() if one.startswith("INSERT INTO audit_journals")]) == 1
    assert await _rows(database) == GATHERED + 5
    journal.close()


async def test_a_batch_is_written_while_the_event_loop_is_busy(tmp_path: Path) -> None:
    begun = threading.Event()

    def note(*_: object) -> None:
        begun.set()

    url, journal = default_url(tmp_path), Journal(tmp_path)
    _record(journal, range(GATHERED))
    async with open_database(url) as database, anyio.create_task_group() as tasks:
        intake = Intake(database, journal, durable=False)
        event.listen(database.engine.sync_engine, "before_cursor_execute", note)
        tasks.start_soon(intake.take_own)
        assert await anyio.to_thread.run_sync(begun.wait, 30)

        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as beside:
            end = time.monotonic() + 30
            while (GATHERED,) not in beside.execute("SELECT count(*) FROM audit_events"):
                assert time.monotonic() < end
    journal.close()


def _begun(number: int, call: str, **changes: object) -> AuditEvent:
    given = {"kind": EventKind.INVOKED, "call_id": call, "outcome": "unknown", **changes}
    return sample_event(number, **given)


def test_a_beginning_whose_end_is_in_the_batch_is_left_out_and_others_keep_their_place() -> None:
    other, end = _begun(2, "call-2"), sample_event(3, call_id="call-1")
    attempt = sample_event(4, kind=EventKind.ATTEMPTED, call_id="call-1")
    refused = sample_event(5, kind=EventKind.REFUSED)
    batch = [_begun(1, "call-1"), other, attempt, end, refused]

    assert events_of([encode_line(one)[:-1] for one in batch]) == (
        [other, attempt, end, refused],
        [],
    )


def test_a_damaged_beginning_is_set_aside_whether_its_call_ended_or_not() -> None:
    end = sample_event(3, call_id="call-1")
    damaged = [
        encode_line(_begun(1, "call-1"))[:-2],
        encode_line(_begun(2, "call-2")).replace(b'"revision":1', b'"revision":""')[:-1],
        b'{"kind":"invoked"}',
    ]

    assert events_of([*damaged, encode_line(end)[:-1]]) == ([end], damaged)


def test_the_fields_of_an_event_are_those_of_a_row_in_their_order() -> None:
    assert AuditEvent.__struct_fields__ == FIELDS


@pytest.mark.parametrize("microsecond", [0, 1, 120, 123_000, 999_999])
@pytest.mark.parametrize("year", [1, 987, 2026, 9999])
async def test_times_are_spelled_as_ever(database: Database, year: int, microsecond: int) -> None:
    moment = datetime(year, 2, 3, 4, 5, 6, microsecond, UTC)
    assert canonical_time(moment) == moment.isoformat(timespec="microseconds")

    placed = sample_event(1, time=moment)
    values = {name: getattr(sample_event(2, time=moment), name) for name in FIELDS}
    async with database.writing() as connection:
        await connection.run_sync(insert_events, [placed])
        await connection.execute(insert(audit_events).values(values))
        times = await connection.execute(text("SELECT DISTINCT time FROM audit_events"))
        assert len(times.all()) == 1

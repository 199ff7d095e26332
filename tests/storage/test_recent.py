"""What was recorded last is taken from memory, and from the journal whenever that is in doubt."""

from pathlib import Path

from remit.model.events import AuditEvent
from remit.storage.cuts import NoKeys
from remit.storage.database import Database
from remit.storage.intake import Intake, encode_line
from remit.storage.journal import Journal, JournalFile
from remit.storage.recent import LARGEST, MOST, Recent
from remit.storage.verify import verify_chain
from remit.testing.fakes import sample_event


def _append(journal: Journal, recent: Recent, event: AuditEvent) -> JournalFile:
    line = encode_line(event)
    file = journal.append(line)
    recent.keep(file, len(line), event)
    return file


async def _rows(database: Database) -> int:
    """Count the rows of the chain, which holds."""
    report = await verify_chain(database, "default", NoKeys())
    assert report.broken is None
    return report.rows


def test_events_are_handed_over_once_in_their_order_up_to_an_offset(tmp_path: Path) -> None:
    journal, recent = Journal(tmp_path), Recent()
    events = [sample_event(number) for number in range(5)]
    file, ends = _append(journal, recent, events[0]), list[int]()
    for one in events[1:]:
        ends.append(file.size)
        _append(journal, recent, one)

    assert recent.take(file, ends[2], most=2) == (events[:2], ends[1])
    file.taken = ends[1]
    assert recent.take(file, ends[2], most=100) == (events[2:3], ends[2])
    file.taken = ends[2]
    assert recent.take(file, file.size, most=100) == (events[3:], file.size)
    file.taken = file.size
    assert recent.take(file, file.size, most=100) == ([], file.size)
    journal.close()


def test_a_batch_that_did_not_arrive_is_read_from_the_journal(tmp_path: Path) -> None:
    journal, recent = Journal(tmp_path), Recent()
    file = _append(journal, recent, sample_event(1))
    after_one = file.size
    _append(journal, recent, sample_event(2))

    recent.take(file, after_one, most=100)

    assert recent.take(file, file.size, most=100) == ([], 0)
    file.taken = after_one
    assert recent.take(file, file.size, most=100) == ([sample_event(2)], file.size)
    journal.close()


def test_a_file_that_somebody_cut_is_believed(tmp_path: Path) -> None:
    journal, recent = Journal(tmp_path), Recent()
    file = _append(journal, recent, sample_event(1))
    file.path.write_bytes(b"")

    assert recent.take(file, file.size, most=100) == ([], 0)
    journal.close()


def test_no_more_than_some_events_are_kept(tmp_path: Path) -> None:
    journal, recent = Journal(tmp_path), Recent()
    for number in range(MOST + 1):
        _append(journal, recent, sample_event(number))
    file = journal.files[0]

    assert recent.take(file, file.size, most=10 * MOST) == ([], 0)
    journal.close()


async def test_events_that_are_not_kept_are_read_between_those_that_are(
    database: Database, tmp_path: Path
) -> None:
    journal = Journal(tmp_path, largest_file=50_000)  # some thirty lines in each file
    intake = Intake(database, journal, durable=False)
    for number in range(100):
        long = sample_event(number, error="x" * LARGEST) if number % 7 == 3 else None
        if number % 5 == 0:
            journal.append(encode_line(sample_event(number)))
        else:
            _append(journal, intake.recent, long or sample_event(number))
        if number % 40 == 39:
            await intake.take_own()

    await intake.take_own()

    assert await _rows(database) == 100
    assert all(file.taken == file.size for file in journal.files)
    journal.close()

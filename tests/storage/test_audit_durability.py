"""No acknowledged call is lost from the audit, and nobody waits for the database (R29, T25)."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path

import anyio
import pytest

from remit.errors import AuditUnavailable, StorageUnavailable
from remit.model.events import AuditEvent, AuditQuery
from remit.storage.audit import open_audit
from remit.storage.database import Database, default_url, open_database
from remit.storage.events import find_calls
from remit.storage.intake import encode_line
from remit.testing.fakes import sample_event

EVERYTHING = AuditQuery(tenant="default", limit=100_000)

Lock = Callable[[], AbstractContextManager[None]]
Recorder = Callable[..., "subprocess.Popen[str]"]
Logged = Callable[[str], anyio.Event]


async def _ids(database: Database, directory: Path) -> list[str]:
    async with open_audit(database, directory, durability="process") as audit:
        return [event.id for event in await audit.search(EVERYTHING)]


async def _in_database(database: Database) -> list[str]:
    async with database.reading() as connection:
        return [event.id for event in await find_calls(connection, EVERYTHING)]


def _url(database: Database) -> str:
    url = database.engine.url
    plain = url.set(drivername=url.get_backend_name())
    return plain.render_as_string(hide_password=False)


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


async def _printed(process: subprocess.Popen[str], count: int) -> list[str]:
    stdout = process.stdout
    assert stdout is not None
    return [(await anyio.to_thread.run_sync(stdout.readline)).strip() for _ in range(count)]


async def _rest(process: subprocess.Popen[str]) -> list[str]:
    """Read what a killed process still printed, without a line it did not finish."""
    stdout = process.stdout
    assert stdout is not None
    return (await anyio.to_thread.run_sync(stdout.read)).split("\n")[:-1]


async def _ended(processes: Sequence[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert await anyio.to_thread.run_sync(process.wait) == 0


@pytest.mark.parametrize("durability", ["process", "disk"])
async def test_every_acknowledged_event_survives_kill_9(
    database: Database, tmp_path: Path, recorder: Recorder, writing_locked: Lock, durability: str
) -> None:
    with anyio.fail_after(40):
        child = recorder(_url(database), tmp_path, 100_000, 0, durability)
        with writing_locked():  # so that nothing has reached the database when it dies
            _go(child)
            acknowledged = await _printed(child, 200)
            child.send_signal(signal.SIGKILL)
            acknowledged += await _rest(child)

        assert await _in_database(database) == []
        assert set(acknowledged) <= set(await _ids(database, tmp_path))
    assert list((tmp_path / "journal").iterdir()) == []


async def test_a_killed_process_that_reached_the_database_leaves_each_event_once(
    database_url: str, database: Database, tmp_path: Path, recorder: Recorder
) -> None:
    with anyio.fail_after(40):
        child = recorder(database_url, tmp_path, 200, 0)
        _go(child)
        acknowledged = await _printed(child, 200)
        async with open_audit(database, tmp_path, durability="process") as audit:
            alive = [event.id for event in await audit.search(EVERYTHING)]
        child.kill()
        child.wait()

        assert sorted(alive) == acknowledged
        assert sorted(await _ids(database, tmp_path)) == acknowledged


async def test_two_processes_write_while_one_searches(
    database_url: str, database: Database, tmp_path: Path, recorder: Recorder
) -> None:
    with anyio.fail_after(50):
        children = [recorder(database_url, tmp_path, 300, first) for first in (0, 1000)]
        for child in children:
            _go(child)
        async with open_audit(database, tmp_path, durability="process") as audit:
            for count in (1, 9, 90, 200):
                for child in children:
                    printed = await _printed(child, count)
                    found = {event.id for event in await audit.search(EVERYTHING)}
                    assert set(printed) <= found
            for child in children:
                _go(child)
            await _ended(children)
            ids = [event.id for event in await audit.search(EVERYTHING)]

    expected = [sample_event(n).id for first in (0, 1000) for n in range(first, first + 300)]
    assert sorted(ids) == expected
    assert list((tmp_path / "journal").iterdir()) == []


async def test_a_search_finds_what_a_running_process_has_only_journaled(tmp_path: Path) -> None:
    async with (
        open_database(default_url(tmp_path / "elsewhere")) as elsewhere,
        open_database(default_url(tmp_path)) as database,
        open_audit(elsewhere, tmp_path, durability="process") as writing,
        open_audit(database, tmp_path, durability="process") as searching,
    ):
        for number in range(3):
            await writing.record(sample_event(number))

            assert len(await searching.search(EVERYTHING)) == number + 1
        assert len(await searching.search(EVERYTHING)) == 3


async def test_recording_does_not_wait_for_a_locked_database(
    database: Database, tmp_path: Path, writing_locked: Lock
) -> None:
    # T25: a writer holds the lock, and no call waits for the audit
    async with open_audit(database, tmp_path, durability="process") as audit:
        with writing_locked():
            for number in range(200):
                await audit.record(sample_event(number))
            assert await _in_database(database) == []
        await audit.flush()

        assert len(await _in_database(database)) == 200


async def test_recording_in_process_durability_switches_no_task(
    database: Database, tmp_path: Path
) -> None:
    async with open_audit(database, tmp_path, durability="process") as audit:
        step = audit.record(sample_event(1))

        with pytest.raises(StopIteration):
            step.send(None)


async def test_events_wait_in_the_journal_while_the_database_is_down(
    database: Database, tmp_path: Path, writing_locked: Lock, logged: Logged
) -> None:
    waiting = logged("audit events wait in the journal")
    arrived = logged("audit events reach the database again")
    async with (
        _impatient(database) as impatient,
        open_audit(impatient, tmp_path, durability="process") as audit,
    ):
        with writing_locked(), anyio.fail_after(20):
            await audit.record(sample_event(1))
            await waiting.wait()
            with pytest.raises(StorageUnavailable):
                await audit.flush()
            await audit.record(sample_event(2))
        with anyio.fail_after(20):
            await arrived.wait()
        await audit.flush()

        assert len(await _in_database(impatient)) == 2


async def test_events_left_at_the_end_are_taken_in_at_the_next_start(
    database: Database, tmp_path: Path, writing_locked: Lock
) -> None:
    with writing_locked():
        async with (
            _impatient(database) as impatient,
            open_audit(impatient, tmp_path, durability="process") as audit,
        ):
            await audit.record(sample_event(1))
        assert len(list((tmp_path / "journal").iterdir())) == 1

    assert await _ids(database, tmp_path) == [sample_event(1).id]
    assert list((tmp_path / "journal").iterdir()) == []


async def test_what_is_killed_is_taken_in_by_the_next_start_without_a_search(
    database: Database, tmp_path: Path, logged: Logged
) -> None:
    _leave_behind(tmp_path, [sample_event(1), sample_event(2)])
    taken = logged("journal of an ended process taken in")

    async with open_audit(database, tmp_path, durability="process"):
        with anyio.fail_after(20):
            await taken.wait()

    assert len(await _in_database(database)) == 2


async def test_a_journal_that_cannot_be_written_is_replaced_by_the_database(
    database: Database, tmp_path: Path
) -> None:
    (tmp_path / "journal").write_text("in the way")
    async with open_audit(database, tmp_path, durability="process") as audit:
        await audit.record(sample_event(1))

        assert await _in_database(database) == [sample_event(1).id]
        assert await audit.search(EVERYTHING) == [sample_event(1)]


async def test_a_journal_that_can_be_written_again_is_used_again(
    database: Database, tmp_path: Path, writing_locked: Lock
) -> None:
    (tmp_path / "journal").write_text("in the way")
    async with open_audit(database, tmp_path, durability="process") as audit:
        await audit.record(sample_event(1))
        (tmp_path / "journal").unlink()
        with writing_locked():
            await audit.record(sample_event(2))

        assert len(await audit.search(EVERYTHING)) == 2


async def test_without_journal_and_database_the_call_is_refused(
    database: Database, tmp_path: Path, writing_locked: Lock
) -> None:
    (tmp_path / "journal").write_text("in the way")
    async with (
        _impatient(database) as impatient,
        open_audit(impatient, tmp_path, durability="process") as audit,
    ):
        with (
            writing_locked(),
            pytest.raises(AuditUnavailable, match=r"cannot be recorded.*make room") as refusal,
        ):
            await audit.record(sample_event(1))

        assert "\n" not in str(refusal.value)
        assert "git_status" not in str(refusal.value)
        await audit.record(sample_event(2))
        assert await audit.search(EVERYTHING) == [sample_event(2)]


async def test_an_event_that_no_database_takes_is_refused_without_a_journal(
    database: Database, tmp_path: Path
) -> None:
    (tmp_path / "journal").write_text("in the way")
    async with open_audit(database, tmp_path, durability="process") as audit:
        with pytest.raises(AuditUnavailable, match="the database refuses the event"):
            await audit.record(sample_event(1, arguments_size=2**70))


async def test_events_that_must_survive_power_loss_are_recorded_together(
    database: Database, tmp_path: Path
) -> None:
    async with (
        open_audit(database, tmp_path, durability="disk") as audit,
        anyio.create_task_group() as callers,
    ):
        for number in range(100):
            callers.start_soon(audit.record, sample_event(number))

    assert len(await _in_database(database)) == 100


async def test_an_event_that_cannot_be_synced_goes_to_the_database_at_once(
    database: Database, tmp_path: Path
) -> None:
    async with open_audit(database, tmp_path, durability="disk") as audit:
        await audit.record(sample_event(1))
        await audit.flush()
        _break_syncing(tmp_path)
        await audit.record(sample_event(2))

        assert len(await _in_database(database)) == 2


async def test_nothing_is_recorded_after_the_end(database: Database, tmp_path: Path) -> None:
    async with open_audit(database, tmp_path, durability="process") as audit:
        pass

    with pytest.raises(AuditUnavailable, match="the gateway is stopping"):
        await audit.record(sample_event(1))
    assert not (tmp_path / "journal").exists()


async def test_an_error_in_the_block_leaves_as_it_was_raised(
    database: Database, tmp_path: Path
) -> None:
    async def fail() -> None:
        async with open_audit(database, tmp_path, durability="process") as audit:
            await audit.record(sample_event(1))
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    assert len(await _in_database(database)) == 1


async def test_a_cancelled_gateway_still_writes_what_it_recorded(
    database: Database, tmp_path: Path
) -> None:
    with anyio.CancelScope() as gateway:
        async with open_audit(database, tmp_path, durability="process") as audit:
            await audit.record(sample_event(1))
            gateway.cancel()
            await anyio.sleep_forever()

    assert len(await _in_database(database)) == 1


async def test_a_journal_that_cannot_be_read_makes_no_incomplete_answer(
    database: Database, tmp_path: Path
) -> None:
    _leave_behind(tmp_path, [sample_event(1)])
    (tmp_path / "journal" / "1-folder.jsonl").mkdir()
    async with open_audit(database, tmp_path, durability="process") as audit:
        with pytest.raises(AuditUnavailable, match="events may be missing"):
            await audit.search(EVERYTHING)

        assert await _in_database(database) == [sample_event(1).id]


def _impatient(database: Database) -> AbstractAsyncContextManager[Database]:
    """Open the same database again, but wait for nobody's lock."""
    return open_database(_url(database), patience=0.1)


def _leave_behind(directory: Path, events: Sequence[AuditEvent]) -> Path:
    """Write a journal as a killed process leaves it."""
    folder = directory / "journal"
    folder.mkdir(exist_ok=True)
    path = folder / "7-killed.jsonl"
    path.write_bytes(b"".join(encode_line(event) for event in events))
    return path


def _break_syncing(directory: Path) -> None:
    """Put a pipe, which can be written but not synced, in the place of the open journal."""
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = entry.readlink()
        except FileNotFoundError:
            continue
        if target.parent == directory / "journal":
            _, writing = os.pipe()
            os.dup2(writing, int(entry.name))
            os.close(writing)
            return
    raise AssertionError("no journal is open")

"""The journal's files: whole lines, private, rotated, given up when unwritable (R29)."""

import os
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from remit.storage.journal import Journal, JournalFile, read_lines


@contextmanager
def _files_of_at_most(size: int) -> Generator[None]:
    """End this process's files at *size*, as a full disk does: a short write, then none."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _contents(folder: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in folder.iterdir())


def _take(file: JournalFile) -> list[bytes]:
    lines, file.taken = read_lines(file.descriptor, file.taken, file.size, most=1000)
    return lines


@pytest.fixture
def journal(tmp_path: Path) -> Generator[Journal]:
    journal = Journal(tmp_path / "state", largest_file=30, look_every=0)
    yield journal
    journal.close()


def test_a_line_is_in_the_file_when_append_returns_and_nobody_else_may_read_it(
    journal: Journal,
) -> None:
    journal.append(b"one\n")

    (path,) = journal.folder.iterdir()
    assert path.read_bytes() == b"one\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert journal.folder.stat().st_mode & 0o777 == 0o700


def test_nothing_is_made_before_the_first_line(journal: Journal) -> None:
    assert journal.files == ()
    assert not journal.folder.exists()


def test_a_full_file_is_followed_by_a_new_one_and_deleted_once_taken(journal: Journal) -> None:
    lines = [b"%020d\n" % number for number in range(3)]
    for line in lines:
        journal.append(line)

    files = journal.files
    assert [_take(file) for file in files] == [[line.rstrip()] for line in lines]
    for file in files:
        journal.discard_taken(file)

    assert journal.files == files[-1:]
    assert _contents(journal.folder) == [lines[-1]]


def test_a_full_file_that_is_not_taken_yet_stays(journal: Journal) -> None:
    journal.append(b"x" * 29 + b"\n")
    journal.append(b"y\n")

    journal.discard_taken(journal.files[0])

    assert _contents(journal.folder) == [b"x" * 29 + b"\n", b"y\n"]


def test_a_line_longer_than_a_file_has_a_file_of_its_own(journal: Journal) -> None:
    journal.append(b"x" * 99 + b"\n")
    journal.append(b"y" * 99 + b"\n")

    assert [len(content) for content in _contents(journal.folder)] == [100, 100]


def test_a_torn_line_is_written_again_into_a_new_file(journal: Journal) -> None:
    with _files_of_at_most(25):
        journal.append(b"a" * 19 + b"\n")
        journal.append(b"b" * 9 + b"\n")

    torn, whole = journal.files
    assert torn.path.read_bytes() == b"a" * 19 + b"\n" + b"bbbbb"
    assert [_take(torn), _take(whole)] == [[b"a" * 19], [b"b" * 9]]


def test_a_line_that_fits_nowhere_is_an_error_and_leaves_no_file(journal: Journal) -> None:
    with _files_of_at_most(25):
        journal.append(b"a\n")
        with pytest.raises(OSError, match="File too large"):
            journal.append(b"b" * 29 + b"\n")
        journal.append(b"c\n")

    assert [_take(file) for file in journal.files] == [[b"a"], [b"c"]]
    assert len(list(journal.folder.iterdir())) == 2


def test_a_file_that_somebody_deleted_is_given_up_for_a_new_one(journal: Journal) -> None:
    journal.append(b"one\n")
    journal.files[0].path.unlink()
    journal.folder.rmdir()

    journal.append(b"two\n")

    assert _contents(journal.folder) == [b"one\ntwo\n"]
    assert [_take(file) for file in journal.files] == [[b"one"], [b"one", b"two"]]


def test_a_folder_that_became_a_file_is_no_error_at_the_end(journal: Journal) -> None:
    journal.append(b"one\n")
    _take(journal.files[0])
    journal.files[0].path.unlink()
    journal.folder.rmdir()
    journal.folder.touch()

    with pytest.raises(OSError, match="File exists"):
        journal.append(b"two\n")
    journal.close()

    assert journal.files == ()


def test_a_new_file_that_cannot_be_made_makes_the_old_one_longer(journal: Journal) -> None:
    journal.append(b"a" * 29 + b"\n")
    moved = journal.folder.rename(journal.folder.with_name("moved"))
    journal.folder.write_text("in the way")

    journal.append(b"b\n")

    assert _contents(moved) == [b"a" * 29 + b"\n" + b"b\n"]


def test_the_end_deletes_what_is_taken_and_leaves_the_rest(tmp_path: Path) -> None:
    for taken in (True, False):
        journal = Journal(tmp_path)
        journal.append(b"taken\n" if taken else b"left\n")
        if taken:
            _take(journal.files[0])
        journal.close()

    assert _contents(tmp_path / "journal") == [b"left\n"]


async def test_one_sync_serves_all_who_wait(journal: Journal) -> None:
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(journal.sync_for_all)
            async with anyio.create_task_group() as callers:
                for _ in range(20):
                    journal.append(b"line\n")
                    callers.start_soon(journal.sync)
            assert all(file.synced == file.size for file in journal.files)
            tasks.cancel_scope.cancel()


async def test_a_failed_sync_is_told_to_all_who_waited_and_the_file_is_given_up(
    journal: Journal,
) -> None:
    told: list[OSError] = []

    async def sync() -> None:
        with pytest.raises(OSError, match="Invalid argument") as failure:
            await journal.sync()
        told.append(failure.value)

    journal.append(b"one\n")
    (file,) = journal.files
    reading, writing = os.pipe()
    os.dup2(writing, file.descriptor)  # a pipe can be written but not synced
    os.close(writing)
    os.close(reading)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(journal.sync_for_all)
            async with anyio.create_task_group() as callers:
                callers.start_soon(sync)
                callers.start_soon(sync)
            journal.append(b"two\n")
            tasks.cancel_scope.cancel()

    assert len(told) == 2
    assert len(journal.files) == 2


async def test_who_waits_for_a_sync_when_the_journal_ends_is_told(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(b"one\n")

    async def wait() -> None:
        with pytest.raises(OSError, match="the journal is closed"):
            await journal.sync()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            journal.close()


@pytest.mark.parametrize("length", [10, 1024 * 1024 - 1, 1024 * 1024, 3 * 1024 * 1024])
def test_lines_of_any_length_are_read_whole(tmp_path: Path, length: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * length + b"\n" + b"y\n" + b"torn")
    descriptor = os.open(path, os.O_RDONLY)
    found: list[bytes] = []
    start = 0

    while (lines := read_lines(descriptor, start, path.stat().st_size, most=1))[0]:
        found += lines[0]
        start = lines[1]
    os.close(descriptor)

    assert found == [b"x" * length, b"y"]
    assert start == length + 3

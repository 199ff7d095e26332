"""The local append-only journal that makes a recorded event durable before the answer leaves (R29).

    <directory>/journal/<name>.jsonl            one JSON line an event, one file at a time a process
    <directory>/journal/<name>.jsonl.rejected   lines that no database can take, kept for people

    append ──▶ file, locked while its process lives ──▶ database ──▶ file deleted
                     │ kill -9: the lock is free
                     └──▶ the next process to look takes it in (storage/intake.py)

A line is one completed `write`, so it survives the process; `sync` makes it survive power loss,
one fdatasync for all who wait.
"""

import errno
import fcntl
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

import anyio
import anyio.to_thread
import structlog

log = structlog.get_logger(__name__)

FOLDER: Final = "journal"
"""Within the state folder: where the files of all processes of an installation are."""

SUFFIX: Final = ".jsonl"

LARGEST_FILE: Final = 8 * 1024 * 1024
"""Bytes after which a new file is begun, so that old ones can be deleted."""

LOOK_EVERY: Final = 0.1
"""Seconds between two looks whether somebody deleted the file; a look costs as much as a line."""

_CHUNK: Final = 1024 * 1024


class JournalFile:
    """A file of this process, locked while it is open.

    Attributes:
        size: Bytes of whole lines; a torn line may follow.
        taken: Bytes whose lines are in the database.
        synced: Bytes that survive power loss.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{os.getpid()}-{uuid4().hex}{SUFFIX}"
        self.size = 0
        self.taken = 0
        self.synced = 0
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        # locked before it has its name: whoever sees it unlocked takes it for a dead one's
        making = self.path.with_suffix(".making")
        self.descriptor = os.open(making, flags, 0o600)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            making.rename(self.path)
        except OSError:
            os.close(self.descriptor)
            raise

    def append(self, line: bytes) -> None:
        """Write *line* wholly.

        Raises:
            OSError: It could not be; part of it may stand at the end of the file.
        """
        written = os.write(self.descriptor, line)
        while written < len(line):
            written += os.write(self.descriptor, line[written:])
        self.size += written

    @property
    def has_name(self) -> bool:
        """Whether others can find it: not when somebody deleted it."""
        return os.fstat(self.descriptor).st_nlink > 0

    @property
    def is_whole(self) -> bool:
        """Whether all its lines are still in it: not when somebody cut it."""
        return os.fstat(self.descriptor).st_size >= self.size

    def rest(self) -> bytes:
        """Return the lines that are not in the database yet.

        Raises:
            OSError: They cannot be read.
        """
        return os.pread(self.descriptor, self.size - self.taken, self.taken)

    def discard(self) -> None:
        """Delete the file: everything in it is in the database."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:  # whoever finds it takes in again what is there already
            log.warning("journal cannot be deleted", file=str(self.path), error=str(error))
        finally:
            self.close()

    def close(self) -> None:
        """Leave the file to whoever looks next."""
        os.close(self.descriptor)


class _Group:
    """Those who wait for one fdatasync."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.failure: OSError | None = OSError(errno.ECANCELED, "the journal is closed")


class Journal:
    """The files of this process.

    Attributes:
        folder: Where the files of all processes of this installation are.
    """

    def __init__(
        self, directory: Path, *, largest_file: int = LARGEST_FILE, look_every: float = LOOK_EVERY
    ) -> None:
        self.folder = directory / FOLDER
        self._largest_file = largest_file
        self._current: JournalFile | None = None
        self._full: list[JournalFile] = []
        self._gathering = _Group()
        self._asked = anyio.Event()
        self._unnamed = False
        self._look_every = look_every
        self._look_at = 0.0

    @property
    def files(self) -> Sequence[JournalFile]:
        """The files of this process that are not wholly in the database yet, oldest first."""
        return (*self._full, *([self._current] if self._current is not None else ()))

    def append(self, line: bytes) -> JournalFile:
        """Write *line*, which ends in a newline, and return where it stands, the last of its file.

        It survives the death of the process.

        A file that cannot be written is given up for a new one; so is one that somebody deleted,
        whose lines are written again.

        Raises:
            OSError: No file can be written.
        """
        file = self._current
        if (
            file is None
            or file.size + len(line) > self._largest_file
            or time.monotonic() >= self._look_at
        ):
            file = self._writable(len(line))
        try:
            file.append(line)
        except OSError:
            self._give_up(file)
            file = self._begin()
            try:
                file.append(line)
            except OSError:
                self._give_up(file)
                raise
        return file

    async def sync(self) -> None:
        """Return when everything appended before now survives power loss.

        Raises:
            OSError: It may not; append it elsewhere.
        """
        group = self._gathering
        self._asked.set()
        await group.done.wait()
        if group.failure is not None:
            raise group.failure

    async def sync_for_all(self) -> None:
        """Serve `sync`, one group after another, until cancelled."""
        while True:
            await self._asked.wait()
            group, self._gathering, self._asked = self._gathering, _Group(), anyio.Event()
            try:
                await self._sync_files()
                group.failure = None
            except OSError as error:
                # the kernel reports it once and then forgets: nothing in these files is sure
                log.error("journal cannot be synced", error=str(error))  # noqa: TRY400 - one line
                group.failure = error
                if self._current is not None:
                    self._give_up(self._current)
            finally:
                group.done.set()

    def discard_taken(self, file: JournalFile) -> bool:
        """Delete *file* if it is full and everything in it is in the database; say whether."""
        if file not in self._full or file.taken < file.size:
            return False
        self._full.remove(file)
        file.discard()
        return True

    def close(self) -> Sequence[JournalFile]:
        """Delete what is in the database, and return it; leave the rest to whoever looks next."""
        whole = [file for file in self.files if file.taken >= file.size]
        for file in self.files:
            if file in whole:
                file.discard()
            else:
                file.close()
        self._full, self._current = [], None
        self._gathering.done.set()
        return whole

    def _writable(self, length: int) -> JournalFile:
        """Return a file that has a name, and room for *length* bytes if there can be one."""
        file = self._current
        if file is None:
            return self._begin()
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + self._look_every
            if not file.has_name:
                return self._begin_after(file)
        if file.size and file.size + length > self._largest_file:
            try:
                fresh = self._open()
            except OSError as error:
                log.warning("journal grows beyond its size", error=str(error))
                return file
            self._full.append(file)
            self._current = fresh
            return fresh
        return file

    def _begin(self) -> JournalFile:
        self._current = self._open()
        return self._current

    def _begin_after(self, deleted: JournalFile) -> JournalFile:
        """Begin a file with what is in the *deleted* one alone: nobody would find it there."""
        log.warning("somebody deleted the journal", file=str(deleted.path))
        lines = deleted.rest()
        self._give_up(deleted)
        fresh = self._begin()
        fresh.append(lines)
        return fresh

    def _open(self) -> JournalFile:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._unnamed = True
        return JournalFile(self.folder)

    def _give_up(self, file: JournalFile) -> None:
        self._current = None
        if file.size:
            self._full.append(file)
        else:
            file.discard()

    async def _sync_files(self) -> None:
        files = [(file, file.size) for file in self.files if file.synced < file.size]
        # copies, since a file may be closed meanwhile and its number given to another
        copies = [os.dup(file.descriptor) for file, _ in files]
        folder = self.folder if self._unnamed else None
        self._unnamed = False
        await anyio.to_thread.run_sync(_sync, copies, folder)
        for file, size in files:
            file.synced = size


def _sync(descriptors: Sequence[int], folder: Path | None) -> None:
    """Flush files, and the *folder* that names a new one; closes the descriptors."""
    try:
        for descriptor in descriptors:
            os.fdatasync(descriptor)
        if folder is not None:
            named = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(named)
            finally:
                os.close(named)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def read_lines(descriptor: int, start: int, stop: int, *, most: int) -> tuple[list[bytes], int]:
    """Read whole lines between two offsets of a file.

    Args:
        descriptor: An open file.
        start: Offset of the first line.
        stop: Offset to read to; a line that goes beyond it is left out.
        most: How many lines at most.

    Returns:
        The lines without their ends, and the offset after them; `start` if there is no whole one.
    """
    want = _CHUNK
    while True:
        chunk = os.pread(descriptor, min(want, stop - start), start)
        end = chunk.rfind(b"\n") + 1
        if end:
            lines = chunk[:end].split(b"\n")
            lines.pop()  # after the last end
            if len(lines) > most:
                del lines[most:]
                end = sum(map(len, lines)) + most
            return lines, start + end
        if len(chunk) < want:
            return [], start
        want *= 2

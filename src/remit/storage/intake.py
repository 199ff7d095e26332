"""Take journaled events into the database: our own, those of the dead, those of the living.

Inserting an event twice is inserting it once, so every process may take in every file, and each
begins where the database says that the last one ended (progress.py). Only a file's own process, or
whoever finds its lock free, deletes it.

What this process recorded last need not be read again (recent.py), but the files are the truth.
Events are taken for new while nobody else can have taken their lines; else, and when one turns out
to be there already, the database is asked for each.
"""

import fcntl
import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import msgspec
import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, StatementError

from remit.model.events import ENDS, AuditEvent, EventKind
from remit.storage.database import Database
from remit.storage.insertion import insert_events
from remit.storage.journal import SUFFIX, Journal, JournalFile, read_lines
from remit.storage.progress import Stretch, forget_journals, is_next, note_taken, taken_of
from remit.storage.recent import Recent
from remit.storage.texts import storable, storable_json

log = structlog.get_logger(__name__)

GATHERED: Final = 1000
"""Events for which nobody waits for more."""

BATCH: Final = 1250
"""Events in one transaction: those, and what comes before it begins."""

_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(AuditEvent)
_BEGUN: Final = b'"kind":"invoked"'
_NEAR_THE_START: Final = 80
_JSON_FIELDS: Final = ("arguments", "result")


_Found = tuple[list[AuditEvent], list[bytes]]
"""Events, and lines that are none."""


class _Beginning(msgspec.Struct):
    """Just enough of an event to know whether its call ended."""

    kind: EventKind
    call_id: str


_BEGINNINGS: Final = msgspec.json.Decoder(_Beginning)


def encode_line(event: AuditEvent) -> bytes:
    """Return *event* as a line of the journal."""
    try:
        line = _ENCODER.encode(event)
    except UnicodeEncodeError:
        line = _ENCODER.encode(_encodable(event))
    return line + b"\n"


def _encodable(event: AuditEvent) -> AuditEvent:
    """Spell out lone surrogates, which have no UTF-8."""
    texts = {
        name: storable_json(value) if name in _JSON_FIELDS else storable(value)
        for name in event.__struct_fields__
        if isinstance(value := getattr(event, name), str) and name != "kind"
    }
    return msgspec.structs.replace(event, **texts)


def decode_line(line: bytes) -> AuditEvent | None:
    """Return the event of a line of the journal, or None if it is damaged."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


class Intake:
    """Moves events from journals into the database, each step idempotent.

    Args:
        database: Where they go.
        journal: The files of this process, and the folder of everybody's.
        durable: Whether a commit must survive power loss, as the journal did.

    Attributes:
        recent: What this process has recorded last; it may know the events of its lines.
    """

    def __init__(self, database: Database, journal: Journal, *, durable: bool) -> None:
        self._database = database
        self._journal = journal
        self._durable = durable
        self._one_at_a_time = anyio.Lock()
        self._read_of_living: dict[str, int] = {}
        self._deleted: set[str] = set()
        self.recent = Recent()

    async def store(
        self,
        events: Sequence[AuditEvent],
        *,
        taken: Stretch | None = None,
        may_be_new: bool = False,
    ) -> None:
        """Write *events* into the database.

        Args:
            events: In the order in which they are numbered.
            taken: Where they are from; noted with them.
            may_be_new: Whether to trust that they are, if nobody took that stretch before.

        Raises:
            StorageUnavailable: The database cannot be used.
            sqlalchemy.exc.IntegrityError: They were trusted to be new, and one is not.
            sqlalchemy.exc.StatementError: One of them does not fit the table.
            OverflowError: Likewise.
        """
        deleted = frozenset(self._deleted)
        work = partial(_write, events=events, taken=taken, may_be_new=may_be_new, deleted=deleted)
        await self._database.write(work, durable=self._durable)
        self._deleted -= deleted

    async def forget_deleted(self) -> None:
        """Leave no trace of journals that are deleted; usually the next batch does it.

        Raises:
            StorageUnavailable: The database cannot be used.
        """
        if self._deleted:
            await self.store(())

    def deleted(self, file: JournalFile) -> None:
        """Note that *file* is deleted."""
        self._deleted.add(file.path.name)

    async def take_own(self) -> None:
        """Take in everything this process has journaled before now.

        Raises:
            StorageUnavailable: The database cannot be used; nothing is lost.
            OSError: A line that no database takes could not be set aside; nothing is lost.
        """
        async with self._one_at_a_time:
            await self._take_own()

    async def take_all(self) -> None:
        """Take in everything that any process of this installation has journaled before now.

        Raises:
            StorageUnavailable: The database cannot be used; nothing is lost.
            OSError: A file cannot be read; the others were taken in.
        """
        async with self._one_at_a_time:
            await self._take_own()
            await self._take_others(_journal_names(self._journal.folder), living=True)

    async def take_dead(self) -> None:
        """Take in what processes of this installation that ended have left in their journals.

        Raises:
            StorageUnavailable: The database cannot be used; nothing is lost.
            OSError: A file cannot be read; the others were taken in.
        """
        names = _journal_names(self._journal.folder)
        if {file.path.name for file in self._journal.files}.issuperset(names):
            return
        async with self._one_at_a_time:
            await self._take_others(names, living=False)

    async def _take_own(self) -> None:
        for file, stop in [(file, file.size) for file in self._journal.files]:
            while file.taken < stop:
                found, end = self._next_of(file, stop)
                taken = Stretch(name=file.path.name, start=file.taken, end=end)
                await self._take(found, taken, rejects=_rejects_of(file.path))
                file.taken = end
            if self._journal.discard_taken(file):
                self.deleted(file)

    def _next_of(self, file: JournalFile, stop: int) -> tuple[_Found, int]:
        events, end = self.recent.take(file, stop, most=BATCH)
        if events:
            return (_told_once(events), []), end
        lines, end = read_lines(file.descriptor, file.taken, stop, most=BATCH)
        if not lines:
            log.error("journal was cut by somebody else", file=str(file.path))
            end = stop
        return events_of(lines), end

    async def _take_others(self, everybodys: Sequence[str], *, living: bool) -> None:
        own = {file.path.name for file in self._journal.files}
        names = [name for name in everybodys if name not in own]
        self._read_of_living = {n: o for n, o in self._read_of_living.items() if n in names}
        failure: OSError | None = None
        for name in names:
            path = self._journal.folder / name
            try:
                await self._take_other(path, living=living)
            except FileNotFoundError:
                continue  # its process took it in and deleted it since we looked
            except OSError as error:
                log.error("journal cannot be read", file=str(path), error=str(error))  # noqa: TRY400 - one line
                failure = error
        if failure is not None:
            raise failure

    async def _take_other(self, path: Path, *, living: bool) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if living:
                    await self._take_living(descriptor, path.name)
                return
            if os.fstat(descriptor).st_nlink:
                await self._take_dead(descriptor, path)
        finally:
            os.close(descriptor)

    async def _take_living(self, descriptor: int, name: str) -> None:
        """Read on where we last stopped; setting damaged lines aside is for its own process."""
        stop = os.fstat(descriptor).st_size
        start = self._read_of_living.get(name)
        if start is None:
            start = await self._taken_of(name)
        while start < stop:
            lines, end = read_lines(descriptor, start, stop, most=BATCH)
            if not lines:
                break
            taken = Stretch(name=name, start=start, end=end)
            await self._take(events_of(lines), taken, rejects=None)
            start = self._read_of_living[name] = end

    async def _take_dead(self, descriptor: int, path: Path) -> None:
        stop = os.fstat(descriptor).st_size
        start = await self._taken_of(path.name)
        while start < stop:
            lines, end = read_lines(descriptor, start, stop, most=BATCH)
            if not lines:
                # its process died while writing it, so nobody was told that it is recorded
                log.warning("journal ends in a torn line", file=str(path), bytes=stop - start)
                break
            taken = Stretch(name=path.name, start=start, end=end)
            await self._take(events_of(lines), taken, rejects=_rejects_of(path))
            start = end
        os.unlink(path)  # noqa: PTH108 - so is every other call on it here
        self._deleted.add(path.name)
        self._read_of_living.pop(path.name, None)
        log.info("journal of an ended process taken in", file=str(path), bytes=start)

    async def _taken_of(self, name: str) -> int:
        async with self._database.reading() as connection:
            return await connection.run_sync(taken_of, name)

    async def _take(self, found: _Found, taken: Stretch, *, rejects: Path | None) -> None:
        """Store the events of a stretch, and set aside what is none."""
        events, refused = found
        if events:
            try:
                await self._store_all(events, taken=None if refused else taken)
            except (StatementError, OverflowError):
                refused += await self._take_what_fits(events)
        if refused and rejects is not None:
            _set_aside(refused, rejects)
            await self.store((), taken=taken)

    async def _store_all(self, events: Sequence[AuditEvent], *, taken: Stretch | None) -> None:
        try:
            await self.store(events, taken=taken, may_be_new=True)
        except IntegrityError:  # they came another way too, as when the journal could not be synced
            await self.store(events, taken=taken)

    async def _take_what_fits(self, events: Sequence[AuditEvent]) -> list[bytes]:
        """Store what can be stored; return the lines of what the database refuses.

        By halves: what it refuses is rare, and a transaction for each event is slow.
        """
        try:
            await self.store(events)
        except (StatementError, OverflowError) as error:
            if len(events) == 1:
                log.error("event does not fit the database", id=events[0].id, error=repr(error))  # noqa: TRY400 - one line
                return [encode_line(events[0]).rstrip(b"\n")]
            half = len(events) // 2
            refused = await self._take_what_fits(events[:half])
            return refused + await self._take_what_fits(events[half:])
        return []


def events_of(lines: Sequence[bytes]) -> _Found:
    """Return the events of *lines* in their order, and those that are damaged.

    Left out are `invoked` events whose calls ended in the same batch: the end says all they do.
    They are most of the lines beside the ends, so they are not decoded wholly.
    """
    decoded = [None if _BEGUN in line[:_NEAR_THE_START] else decode_line(line) for line in lines]
    ended = {event.call_id for event in decoded if event is not None and event.kind in ENDS}
    events: list[AuditEvent] = []
    damaged: list[bytes] = []
    for line, known in zip(lines, decoded, strict=True):
        event = known
        if event is None:
            if _is_told_again(line, ended):
                continue
            event = decode_line(line)
        if event is None:
            damaged.append(line)
        elif event.kind is not EventKind.INVOKED or event.call_id not in ended:
            events.append(event)
    return events, damaged


def _told_once(events: Sequence[AuditEvent]) -> list[AuditEvent]:
    """Leave out the same as `events_of` does."""
    ended = {event.call_id for event in events if event.kind in ENDS}
    return [
        event
        for event in events
        if event.kind is not EventKind.INVOKED or event.call_id not in ended
    ]


def _is_told_again(line: bytes, ended: Collection[str]) -> bool:
    try:
        event = _BEGINNINGS.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return event.kind is EventKind.INVOKED and event.call_id in ended


def _write(
    connection: Connection,
    *,
    events: Sequence[AuditEvent],
    taken: Stretch | None,
    may_be_new: bool,
    deleted: Collection[str],
) -> None:
    noted = False

    def are_new() -> bool:
        nonlocal noted
        noted = may_be_new and taken is not None and is_next(connection, taken)
        return noted

    insert_events(connection, events, are_new=are_new)
    if taken is not None and not noted:
        note_taken(connection, taken)
    if deleted:
        forget_journals(connection, deleted)


def _journal_names(folder: Path) -> list[str]:
    """Return the names of the journals of all processes."""
    try:
        return sorted(path.name for path in folder.iterdir() if path.suffix == SUFFIX)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _rejects_of(path: Path) -> Path:
    return path.with_name(path.name + ".rejected")


def _set_aside(lines: Sequence[bytes], path: Path) -> None:
    """Keep *lines* for people."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        kept = b"".join(line + b"\n" for line in lines)
        while kept:
            kept = kept[os.write(descriptor, kept) :]
    finally:
        os.close(descriptor)
    log.error("journal lines set aside", file=str(path), lines=len(lines))

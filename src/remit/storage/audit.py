"""The audit log: an event is durable when `record` returns, and soon in the database (R28, R29).

record ──▶ journal (one write; nobody waits for the database)
   │          └──▶ written behind, in batches ──▶ database ──▶ search, tail
   └ journal cannot be written ──▶ database at once ──▶ neither: AuditUnavailable
"""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import anyio
import structlog
from sqlalchemy.exc import StatementError

from remit.errors import AuditUnavailable, StorageUnavailable
from remit.model.decision_log import LoggedDecision
from remit.model.events import AuditEvent, AuditQuery, Looked
from remit.model.retention import Cut, Retention
from remit.model.traffic import Traffic
from remit.storage.chain import ChainReport
from remit.storage.cuts import NoKeys, Signer
from remit.storage.database import Database
from remit.storage.decision_log import find_decisions
from remit.storage.events import (
    end_of_stretch,
    events_after,
    events_of,
    find_calls,
    has_to_read,
)
from remit.storage.intake import GATHERED, Intake, encode_line
from remit.storage.journal import Journal
from remit.storage.retention import prune
from remit.storage.traffic import find_traffic
from remit.storage.verify import verify_chain

log = structlog.get_logger(__name__)

GATHERING: Final = 0.1
"""Seconds in which events gather before they are written in one transaction."""

LONGEST_PAUSE: Final = 2.0
"""Seconds between attempts while the database is down."""

BETWEEN_LOOKS: Final = 2.0
"""Seconds between looks for what a process that ended has left in its journal."""

LAST_ATTEMPT: Final = 5.0
"""Seconds that closing may take; what is not in the database then stays in the journal."""


class AuditLog:
    """Records events and answers what happened."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        *,
        durability: Literal["process", "disk"],
        signer: Signer,
    ) -> None:
        self._database = database = database.bounded()
        self._signer = signer
        self._journal = journal
        self._syncs = durability == "disk"
        self._intake = Intake(database, journal, durable=self._syncs)
        self._recent = self._intake.recent
        self._journal_fails = False
        self._closed = False
        self._gathered = 0
        self._some = anyio.Event()
        self._many = anyio.Event()

    @property
    def backlog(self) -> int:
        """Bytes in this process's journal that are not in the database yet."""
        return sum(file.size - file.taken for file in self._journal.files)

    async def record(self, event: AuditEvent) -> None:
        """Return when *event* is durable; in microseconds unless durability is `disk`.

        Raises:
            AuditUnavailable: Neither journal nor database can be written.
        """
        if self._closed:
            raise AuditUnavailable("the audit is closed: the gateway is stopping")
        try:
            line = encode_line(event)
            self._recent.keep(self._journal.append(line), len(line), event)
            self._gathered += 1
            if self._gathered == 1:
                self._some.set()
            elif self._gathered == GATHERED:
                self._many.set()
            if self._syncs:
                await self._journal.sync()
        except OSError as error:
            await self._record_without_journal(event, error)
            return
        if self._journal_fails:
            self._journal_fails = False
            log.info("journal can be written again", folder=str(self._journal.folder))

    async def search(self, query: AuditQuery) -> Sequence[AuditEvent]:
        """Return one row a call, newest first: its last event. With `after` they are oldest first.

        What any process of this installation recorded before is found.

        Raises:
            AuditUnavailable: A journal cannot be read, so the answer would be incomplete.
            StorageUnavailable: The database cannot be used.
            BadCall: The query does not make sense.
        """
        return (await self.look(query, longest=math.inf)).events

    async def look(self, query: AuditQuery, *, longest: float) -> Looked:
        """Return the same as far as it is found in *longest* seconds, and where to go on.

        Where no index leads to what is asked for, the record is read a stretch at a time, one at
        least, so that no statement takes longer the longer the record is.

        Raises:
            RemitError: As `search` does.
        """
        await self._take(self._intake.take_all)
        end, found = anyio.current_time() + longest, list[AuditEvent]()
        while True:
            async with self._database.reading() as connection:
                reached = await end_of_stretch(connection, query) if has_to_read(query) else None
                found += await find_calls(connection, query, down_to=reached)
            left = query.limit - len(found)
            if reached is None or left <= 0:
                return Looked(events=found)
            if anyio.current_time() >= end:
                return Looked(events=found, reached=reached)
            query = replace(query, before=reached, limit=left)

    async def events_of(self, tenant: str, call: str) -> Sequence[AuditEvent]:
        """Return what happened to one call, in its order; nothing if it is not on record.

        Raises:
            AuditUnavailable: A journal cannot be read, so the answer would be incomplete.
            StorageUnavailable: The database cannot be used.
        """
        await self._take(self._intake.take_all)
        async with self._database.reading() as connection:
            return await events_of(connection, tenant, call)

    async def after(
        self, tenant: str, seq: int, limit: int = 1000
    ) -> Sequence[tuple[int, AuditEvent]]:
        """Return all events with a number above *seq*, lowest first, to follow the stream.

        Raises:
            AuditUnavailable: A journal cannot be read, so the answer would be incomplete.
            StorageUnavailable: The database cannot be used.
        """
        await self._take(self._intake.take_all)
        async with self._database.reading() as connection:
            return await events_after(connection, tenant, seq, limit)

    async def decisions(
        self, tenant: str, *, agent: str | None, limit: int
    ) -> Sequence[LoggedDecision]:
        """Return what one agent, or every one, did and decided, newest first (S3.22).

        Raises:
            AuditUnavailable: A journal cannot be read, so the answer would be incomplete.
            StorageUnavailable: The database cannot be used.
        """
        await self._take(self._intake.take_all)
        async with self._database.reading() as connection:
            return await find_decisions(connection, tenant, agent, limit)

    async def traffic(self, tenant: str, *, since: datetime, until: datetime) -> Traffic:
        """Return what calls come to that ended from *since* on and before *until*.

        Raises:
            AuditUnavailable: A journal cannot be read, so the answer would be incomplete.
            StorageUnavailable: The database cannot be used.
        """
        await self._take(self._intake.take_all)
        async with self._database.reading() as connection:
            return await find_traffic(connection, tenant, since, until)

    async def verify(self, tenant: str) -> ChainReport:
        """Look at every row of *tenant*: is each as it was written, in its place, and none gone?

        Raises:
            AuditUnavailable: A journal cannot be read, so the answer would be incomplete.
            StorageUnavailable: The database cannot be used.
        """
        await self._take(self._intake.take_all)
        return await verify_chain(self._database, tenant, self._signer)

    async def prune(
        self, tenant: str, retention: Retention, *, author: str, now: datetime
    ) -> Cut | None:
        """Remove the oldest rows of *tenant*, beyond *retention*; return their marker, if any went.

        Raises:
            AuditUnavailable: A journal cannot be read, so rows may be missing.
            Conflict: Rows that would go do not hold; `verify` tells more.
            StartupError: The marker cannot be signed.
            StorageUnavailable: The database cannot be used; what is gone has its marker.
        """
        await self._take(self._intake.take_all)
        return await prune(
            self._database, retention, signer=self._signer, tenant=tenant, author=author, now=now
        )

    async def flush(self) -> None:
        """Return when everything recorded so far is in the database.

        Raises:
            AuditUnavailable: A line that no database takes could not be set aside; nothing is lost.
            StorageUnavailable: The database cannot be used; nothing is lost.
        """
        await self._take(self._intake.take_own)

    async def write_behind(self) -> None:
        """Move events into the database, in batches, until cancelled."""
        await self._until_it_works(self._intake.take_all)
        while True:
            await self._some.wait()
            with anyio.move_on_after(GATHERING):
                await self._many.wait()
            self._gathered, self._some, self._many = 0, anyio.Event(), anyio.Event()
            await self._until_it_works(self._intake.take_own)

    async def take_over(self) -> None:
        """Take in what others of this installation leave when they die, until cancelled."""
        while True:
            await anyio.sleep(BETWEEN_LOOKS)
            await self._until_it_works(self._intake.take_dead)

    def hurry(self) -> None:
        """Let whatever the database is asked for end within `LAST_ATTEMPT` from now."""
        self._database.hurry(LAST_ATTEMPT)

    async def close(self) -> None:
        """Take in what is left, as long as that may take, and give up the journal."""
        self._closed = True
        self.hurry()
        with anyio.move_on_after(LAST_ATTEMPT):
            try:
                await self._intake.take_own()
                for file in self._journal.close():
                    if file.size:
                        self._intake.deleted(file)
                await self._intake.forget_deleted()
            except (StorageUnavailable, OSError) as error:
                log.warning("events stay in the journal until the next start", error=str(error))
        self._journal.close()

    async def _record_without_journal(self, event: AuditEvent, failure: OSError) -> None:
        if not self._journal_fails:
            self._journal_fails = True
            log.error(
                "journal cannot be written; events go to the database at once",
                folder=str(self._journal.folder),
                error=str(failure),
            )
        try:
            await self._intake.store([event])
        except (StorageUnavailable, StatementError, OverflowError) as error:
            raise AuditUnavailable(
                f"the call cannot be recorded: the journal in {str(self._journal.folder)!r} "
                f"cannot be written ({failure.strerror}), and {_one_line(error)}; "
                "make room on the disk or make the folder writable"
            ) from error

    async def _take(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except OSError as error:
            raise AuditUnavailable(
                f"a journal in {str(self._journal.folder)!r} cannot be taken in "
                f"({error.strerror}), so events may be missing; make the folder readable"
            ) from error

    async def _until_it_works(self, work: Callable[[], Awaitable[None]]) -> None:
        pause, failed = GATHERING, False
        while True:
            try:
                await work()
            except (StorageUnavailable, OSError) as error:
                if not failed:
                    log.warning("audit events wait in the journal", error=str(error))
                failed = True
                await anyio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                if failed:
                    log.info("audit events reach the database again")
                return


def _one_line(error: Exception) -> str:
    """Name an error without its values: a statement's would be the event."""
    return str(error) if isinstance(error, StorageUnavailable) else "the database refuses the event"


@asynccontextmanager
async def open_audit(
    database: Database,
    directory: Path,
    *,
    durability: Literal["process", "disk"],
    signer: Signer | None = None,
) -> AsyncGenerator[AuditLog]:
    """Open the audit of an installation; takes in what a killed process left behind.

    Args:
        database: Where events end.
        directory: The installation's state folder; the journal is `journal/` in it.
        durability: What a recorded event survives: the death of the process, or power loss.
        signer: Signs the markers of what retention removes, and knows those who did; without it
            no marker is trusted.
    """
    journal = Journal(directory)
    audit = AuditLog(database, journal, durability=durability, signer=signer or NoKeys())
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(audit.write_behind)
            tasks.start_soon(audit.take_over)
            if durability == "disk":
                tasks.start_soon(journal.sync_for_all)
            try:
                yield audit
            finally:
                audit.hurry()  # what is being written now is not cancelled
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        # what the block raised leaves as it was raised, not in the task group's wrapping
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from None
        raise
    finally:
        with anyio.CancelScope(shield=True):
            await audit.close()

"""Who changed what, and why: administration in the one stream of events (R18, R28).

A change has two events, as a call has: `invoked` before anything happens, so that no change is
ever made unrecorded, and `finished` with how it ended. They stand under a server name that no
server can have.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import anyio
import structlog
from msgspec.structs import replace

from remit.calls.ids import new_id
from remit.calls.record import MOST_ERROR
from remit.calls.redact import recorded, recorded_text
from remit.errors import AuditUnavailable, RemitError
from remit.identity.clock import utc_now
from remit.model.calls import OutcomeKind
from remit.model.events import ADMINISTRATION, AuditEvent, EventKind

log = structlog.get_logger(__name__)

_CAP = 4096


class AuditLog(Protocol):
    """Where events go."""

    async def record(self, event: AuditEvent) -> None:
        """Return when *event* is durable.

        Raises:
            AuditUnavailable: It can be written nowhere.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What somebody asks to be changed.

    Attributes:
        id: Of the request, which the answer carries too.
        author: SUBJECT spelling, or `cli:` and the user of the machine who typed it.
        operation: Such as `keys.rotate`.
        what: What it concerns, without secrets, such as `{"name": "ci"}`.
        reason: Why, in a line; empty when nobody said.
        revision: The revision in force when it was asked for.
    """

    id: str
    tenant: str
    author: str
    operation: str
    what: Mapping[str, object] = field(default_factory=dict[str, object])
    reason: str = ""
    revision: int = 0


@dataclass(slots=True, kw_only=True)
class Progress:
    """How a change goes.

    Attributes:
        revision: The one that the change made, once it has.
    """

    revision: int


class ChangeRecord:
    """Writes changes and refused attempts at them."""

    def __init__(self, audit: AuditLog, *, now: Callable[[], datetime] = utc_now) -> None:
        self._audit = audit
        self._now = now

    async def refused(self, change: Change, reason: str, code: str) -> None:
        """Record an attempt of somebody who may not.

        Raises:
            AuditUnavailable: It can be written nowhere.
        """
        event = self._event(change, EventKind.REFUSED, OutcomeKind.NONE)
        await self._audit.record(replace(event, decision="deny", code=code, error=reason))

    @asynccontextmanager
    async def making(self, change: Change) -> AsyncGenerator[Progress]:
        """Record a change that the block makes; what it raises is recorded and raised again.

        Raises:
            AuditUnavailable: It cannot be recorded, so the block does not begin.
        """
        started = self._now()
        progress = Progress(revision=change.revision)
        await self._audit.record(self._event(change, EventKind.INVOKED, OutcomeKind.UNKNOWN))
        outcome, code, error = OutcomeKind.ERROR, RemitError.code, "it failed in an unforeseen way"
        try:
            yield progress
            outcome, code, error = OutcomeKind.OK, "", ""
        except RemitError as refused:
            code, error = refused.code, str(refused)
            raise
        finally:
            event = replace(
                self._event(change, EventKind.FINISHED, outcome),
                revision=progress.revision,
                code=code,
                error=recorded_text(error, MOST_ERROR) if error else None,
                ms=(self._now() - started).total_seconds() * 1000,
            )
            with anyio.CancelScope(shield=True):  # a caller that leaves has changed it all the same
                await self._finish(event)

    async def _finish(self, event: AuditEvent) -> None:
        try:
            await self._audit.record(event)
        except AuditUnavailable as failure:  # it is made; its beginning is on record (R29)
            log.warning("the end of a change is not recorded", change=event.tool, why=str(failure))

    def _event(self, change: Change, kind: EventKind, outcome: OutcomeKind) -> AuditEvent:
        text = json.dumps({**change.what, "reason": change.reason}).encode()
        return AuditEvent(
            id=new_id(),
            kind=kind,
            call_id=change.id,
            time=self._now(),
            tenant=change.tenant,
            principal=change.author,
            server=ADMINISTRATION,
            tool=change.operation,
            decision="allow",
            revision=change.revision,
            outcome=outcome.value,
            arguments=recorded(text, _CAP),
            arguments_size=len(text),
        )

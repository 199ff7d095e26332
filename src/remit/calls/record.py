"""What happened to a call, as audit events: redacted, capped, never lost (R28, R29)."""

import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

import structlog
from msgspec.structs import replace

from remit.calls.ids import new_id
from remit.calls.redact import recorded, recorded_text
from remit.calls.tally import Tally
from remit.calls.words import MOST_NAME, agent_of, name_of, role_of
from remit.errors import (
    AgentNotFound,
    AuditUnavailable,
    BadCall,
    CallDenied,
    LimitReached,
    Refused,
    RemitError,
    UpstreamError,
)
from remit.identity.clock import utc_now
from remit.model.calls import (
    AdmittedCall,
    AuthorizedCall,
    Call,
    Outcome,
    OutcomeKind,
    RecordedCall,
)
from remit.model.contents import Kind
from remit.model.events import AuditEvent, EventKind

log = structlog.get_logger(__name__)

MOST_ERROR = 2048
"""Characters of an error's text that are kept; a server may send any number."""


INTERNAL = RemitError.code
"""The code of a failure that nobody foresaw."""


class AuditLog(Protocol):
    """Where events go."""

    async def record(self, event: AuditEvent) -> None:
        """Return when *event* is durable.

        Raises:
            AuditUnavailable: It can be written nowhere.
        """
        ...


class Wording(Protocol):
    """What is written of the bodies of one kind of server, where that is not all of them.

    Attributes:
        most: Bytes of a result that are written, if the cap of the record allows as many.
    """

    most: int

    def arguments(self, body: bytes) -> bytes:
        """Return what is written of arguments, as raw JSON."""
        ...

    def result(self, body: bytes) -> bytes:
        """Return what is written of a result, as raw JSON."""
        ...

    def code(self, body: bytes) -> str:
        """Return the code of the failure that a result tells of, or nothing."""
        ...


def _as_it_is(_server: str) -> None:
    """Find no wording of its own for any server."""


def _never() -> bool:
    return False


class Recorder:
    """Builds the events of a call and hands them to the audit.

    What cannot be recorded before the call runs refuses the call; what cannot be recorded after
    it ran is logged and never turns the answer into a failure (R29).
    """

    def __init__(
        self,
        audit: AuditLog,
        *,
        revision: Callable[[], int],
        body_cap: Callable[[], int],
        now: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
        tally: Tally | None = None,
        wording: Callable[[str], Wording | None] = _as_it_is,
        is_stopping: Callable[[], bool] = _never,
    ) -> None:
        """Count into *tally*, or for nobody; *wording* is of the server of that name.

        *is_stopping* says whether a call that is cut off now is so by the gateway's own end.
        """
        self._is_stopping = is_stopping
        self._wording = wording
        self._audit = audit
        self._tally = Tally() if tally is None else tally
        self._log: structlog.typing.FilteringBoundLogger = log.bind()
        self._narrates = self._log.is_enabled_for(logging.INFO)
        self._revision = revision
        self._body_cap = body_cap
        self._now = now
        self._monotonic = monotonic

    async def refused(self, call: Call, refusal: CallDenied | BadCall | AgentNotFound) -> None:
        """Record a call that authorization turned away."""
        now, principal = self._now(), call.principal
        denied = isinstance(refusal, CallDenied)
        server = _server_of(call, refusal)
        await self._turn_away(
            AuditEvent(
                id=new_id(),
                kind=EventKind.REFUSED,
                call_id=call.id,
                time=now,
                tenant=principal.tenant,
                principal=principal.subject,
                role=role_of(principal),
                member=call.member,
                server=server,
                tool=_tool_of(call, refusal),
                decision="deny",
                layer=refusal.layer if denied else "",
                rule=refusal.rule if denied else "",
                revision=self._revision(),
                outcome=OutcomeKind.NONE.value,
                code=refusal.code,
                ms=self._ms_since(call),
                arguments=self._arguments(server, call.arguments),
                arguments_size=len(call.arguments),
                error=recorded_text(str(refusal), MOST_ERROR),
                agent=agent_of(principal, call.agent),
            )
        )

    async def rejected(
        self, authorized: AuthorizedCall, refusal: BadCall | UpstreamError | LimitReached
    ) -> None:
        """Record an allowed call that never ran: bad arguments, a server away, or too many."""
        await self._never_ran(authorized, str(refusal), refusal.code)

    async def broken(self, authorized: AuthorizedCall) -> None:
        """Record an allowed call that never ran, since a step failed as nobody foresaw.

        What failed is in the log alone, to which the call's id leads: its text can hold anything.
        """
        error = "a step before the call failed as nobody foresaw: the log has more"
        await self._never_ran(authorized, error, INTERNAL)

    async def given_up(self, authorized: AuthorizedCall) -> None:
        """Record an allowed call that was cut off while it waited for its turn."""
        try:
            await self._never_ran(authorized, f"{self._who_ended()} before the call ran")
        except AuditUnavailable:
            log.exception("call cannot be recorded", call_id=authorized.call.id)

    async def _never_ran(self, authorized: AuthorizedCall, error: str, code: str = "") -> None:
        await self._turn_away(
            replace(
                self._allowed(authorized),
                kind=EventKind.REFUSED,
                outcome=OutcomeKind.NONE.value,
                code=code,
                ms=self._ms_since(authorized.call),
                error=recorded_text(error, MOST_ERROR),
            )
        )

    async def invoked(self, admitted: AdmittedCall) -> RecordedCall:
        """Record that the call is about to run; until more is known its outcome is unknown.

        Raises:
            AuditUnavailable: Then the call must not run.
        """
        valid = admitted.valid
        event = self._allowed(valid.authorized)
        await self._before(event)
        self._tally.began(event)
        return RecordedCall(valid=valid, event=event)

    def finished(self, call: RecordedCall, outcome: Outcome) -> Awaitable[None]:
        """Record how the call ended."""
        wording = None
        if outcome.kind is OutcomeKind.TOOL_ERROR:
            wording = self._wording(call.event.server)
        code = "" if wording is None else wording.code(outcome.result)
        return self._end(call, outcome.kind, code=code, result=outcome.result)

    async def failed(self, call: RecordedCall, failure: UpstreamError) -> None:
        """Record that the upstream failed; if it may have run, the outcome is unknown (R23)."""
        await self._end(call, _outcome_of(failure), code=failure.code, error=str(failure))

    async def attempted(self, call: RecordedCall, failure: UpstreamError, number: int) -> None:
        """Record that attempt *number*, counted from 1, failed and another one will be made (R23).

        Raises:
            AuditUnavailable: Then the other one must not be made.
        """
        now = self._now()
        event = replace(
            call.event,
            id=new_id(),
            kind=EventKind.ATTEMPTED,
            time=now,
            outcome=_outcome_of(failure).value,
            code=failure.code,
            ms=self._ms_since(call.valid.call),
            error=recorded_text(f"attempt {number}: {failure}", MOST_ERROR),
        )
        await self._audit.record(event)
        self._tally.retries[event.server] += 1

    async def withdrawn(self, call: RecordedCall, refusal: Refused) -> None:
        """Record that the caller lost the right to it while it waited to be sent (R17)."""
        denied = isinstance(refusal, CallDenied)
        event = replace(
            call.event,
            decision="deny",
            layer=refusal.layer if denied else "",
            rule=refusal.rule if denied else "",
            revision=self._revision(),
        )
        outcome = OutcomeKind.UNKNOWN if refusal.sent else OutcomeKind.NONE
        refused = RecordedCall(valid=call.valid, event=event)
        await self._end(refused, outcome, code=refusal.code, error=str(refusal))

    async def abandoned(self, call: RecordedCall) -> None:
        """Record that the call was cut off before the upstream answered."""
        error = f"{self._who_ended()} before the answer"
        await self._end(call, OutcomeKind.UNKNOWN, error=error)

    def _who_ended(self) -> str:
        return "the gateway was stopped" if self._is_stopping() else "the caller went away"

    async def _end(
        self,
        call: RecordedCall,
        outcome: OutcomeKind,
        *,
        code: str = "",
        error: str | None = None,
        result: bytes | None = None,
    ) -> None:
        now = self._now()
        event = replace(
            call.event,
            id=new_id(),
            kind=EventKind.FINISHED,
            time=now,
            outcome=str(outcome),
            code=code,
            ms=self._ms_since(call.valid.call),
            result=None if result is None else self._result(call.event.server, result),
            result_size=0 if result is None else len(result),
            error=None if error is None else recorded_text(error, MOST_ERROR),
        )
        self._ended(event)
        try:
            await self._audit.record(event)
        except AuditUnavailable:
            self._tally.unrecorded += 1
            log.exception("outcome cannot be recorded", call_id=event.call_id)

    async def _turn_away(self, event: AuditEvent) -> None:
        await self._before(event)
        self._ended(event)

    def _ended(self, event: AuditEvent) -> None:
        self._tally.ended(event)
        if self._narrates:
            self._narrate(event)

    def _narrate(self, event: AuditEvent) -> None:
        about = {
            "call_id": event.call_id,
            "tenant": event.tenant,
            "principal": event.principal,
            "server": event.server,
            "tool": event.tool,
            "code": event.code,
            "ms": round(event.ms, 3),
        }
        if event.decision == "deny":
            self._log.info("call denied", layer=event.layer, rule=event.rule, **about)
        else:
            self._log.info("call ended", outcome=event.outcome, **about)

    async def _before(self, event: AuditEvent) -> None:
        try:
            await self._audit.record(event)
        except AuditUnavailable:
            self._tally.unrecorded += 1
            raise

    def _allowed(self, authorized: AuthorizedCall) -> AuditEvent:
        """Return the first event of an allowed call; it has the call's id."""
        call = authorized.call
        return replace(
            authorized.permit.words,
            id=call.id,
            call_id=call.id,
            time=self._now(),
            member=call.member,
            arguments=self._arguments(authorized.permit.words.server, call.arguments),
            arguments_size=len(call.arguments),
        )

    def _ms_since(self, call: Call) -> float:
        return (self._monotonic() - call.started) * 1000

    def _arguments(self, server: str, body: bytes) -> str:
        wording = self._wording(server)
        return recorded(body if wording is None else wording.arguments(body), self._body_cap())

    def _result(self, server: str, body: bytes) -> str:
        wording, cap = self._wording(server), self._body_cap()
        if wording is None:
            return recorded(body, cap)
        return recorded(wording.result(body), min(cap, wording.most))


def _outcome_of(failure: UpstreamError) -> OutcomeKind:
    return OutcomeKind.UNKNOWN if failure.is_outcome_unknown else OutcomeKind.ERROR


def _server_of(call: Call, refusal: CallDenied | BadCall | AgentNotFound) -> str:
    """Return the server of the tool that was meant, else the one whose endpoint was called.

    A tool is a server and a name (R1): what was asked for at `/mcp/git` is git's, whether there is
    such a tool or not, and is found by `--server git`. An endpoint can be called anything, so its
    name is recorded as a text is.
    """
    if isinstance(refusal, CallDenied) and refusal.layer:
        return refusal.server
    return recorded_text(call.scope or "", MOST_NAME)


def _tool_of(call: Call, refusal: CallDenied | BadCall | AgentNotFound) -> str:
    """Return the tool that was meant; a name that means none can be anything, a secret too."""
    if isinstance(refusal, CallDenied) and refusal.layer:
        return name_of(refusal.tool)
    kind = "" if call.kind is Kind.TOOL else f"{call.kind.value}:"
    return recorded_text(kind + call.requested, MOST_NAME)

"""The path of a call. Read this file first.

    door → authenticate → Call ─authorize→ AuthorizedCall ─validate→ ValidCall ─limit→ AdmittedCall
         ─record "invoked"→ RecordedCall ─invoke→ Outcome → record it → answer, unaltered
                                                ├─ a failure → record it, escalate it → error
                                                └─ it had to wait, and was withdrawn → record it

Each step takes one type and returns the next, so a call that skips a step does not type-check:
what is not in the record cannot run (R29). A call that is refused is recorded too (S0.23).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import anyio

from remit.errors import (
    AgentNotFound,
    BadCall,
    CallDenied,
    LimitReached,
    Refused,
    UpstreamError,
)
from remit.model.calls import (
    AdmittedCall,
    AuthorizedCall,
    Call,
    Outcome,
    RecordedCall,
    ValidCall,
)


class Calls(Protocol):
    """Takes calls to their end: the pipeline, or what stands around it."""

    async def run(self, call: Call) -> Outcome:
        """Do what `Pipeline.run` does.

        Raises:
            RemitError: As it says.
        """
        ...

    async def admit(self, call: Call) -> AuthorizedCall:
        """Do what `Pipeline.admit` does.

        Raises:
            RemitError: As it says.
        """
        ...

    async def refuse(self, call: Call, refusal: CallDenied | BadCall | AgentNotFound) -> None:
        """Do what `Pipeline.refuse` does.

        Raises:
            RemitError: As it says.
        """
        ...


class CallRecord(Protocol):
    """Where every end of a call is written down; `Recorder` says more."""

    async def refused(self, call: Call, refusal: CallDenied | BadCall | AgentNotFound) -> None:
        """Record a call that authorization turned away."""
        ...

    async def rejected(
        self, authorized: AuthorizedCall, refusal: BadCall | UpstreamError | LimitReached
    ) -> None:
        """Record an allowed call that never ran."""
        ...

    async def broken(self, authorized: AuthorizedCall) -> None:
        """Record an allowed call that never ran, since a step failed as nobody foresaw."""
        ...

    async def given_up(self, authorized: AuthorizedCall) -> None:
        """Record an allowed call that was cut off before it ran."""
        ...

    async def invoked(self, admitted: AdmittedCall) -> RecordedCall:
        """Record that the call is about to run.

        Raises:
            AuditUnavailable: Then the call must not run.
        """
        ...

    def finished(self, call: RecordedCall, outcome: Outcome) -> Awaitable[None]:
        """Record how the call ended."""
        ...

    async def failed(self, call: RecordedCall, failure: UpstreamError) -> None:
        """Record that the upstream failed."""
        ...

    async def withdrawn(self, call: RecordedCall, refusal: Refused) -> None:
        """Record that the caller lost the right to it while it waited to be sent (R17)."""
        ...

    async def abandoned(self, call: RecordedCall) -> None:
        """Record that the call was cut off before the upstream answered."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The steps, in the order in which they happen.

    Attributes:
        escalate: Takes note of a failure that its caller's superior is to hear of (R25): it
            returns at once, and never fails.
    """

    authorize: Callable[[Call], AuthorizedCall]
    validate: Callable[[AuthorizedCall], ValidCall]
    limit: Callable[[ValidCall], Awaitable[AdmittedCall]]
    record: CallRecord
    invoke: Callable[[RecordedCall], Awaitable[Outcome]]
    escalate: Callable[[AuthorizedCall, UpstreamError], None]

    async def run(self, call: Call) -> Outcome:
        """Take *call* through every step and return what its caller may see.

        Raises:
            CallDenied: Policy said no, or there is no such tool; no upstream has heard of it.
            Unauthenticated: It had to wait, and its credential holds no longer; likewise.
            BadCall: The arguments do not fit; likewise.
            LimitReached: It has to wait; likewise.
            AuditUnavailable: The call cannot be recorded; likewise.
            UpstreamError: The server failed or did not answer in time.
        """
        authorized = await self.admit(call)
        try:
            valid = self.validate(authorized)
            admitted = await self.limit(valid)
        except (BadCall, UpstreamError, LimitReached) as refusal:
            await self.record.rejected(authorized, refusal)
            if isinstance(refusal, UpstreamError):
                self.escalate(authorized, refusal)
            raise
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.record.given_up(authorized)
            raise
        except Exception:
            await self.record.broken(authorized)
            raise
        recorded = await self.record.invoked(admitted)
        try:
            outcome = await self.invoke(recorded)
        except UpstreamError as failure:
            await self.record.failed(recorded, failure)
            self.escalate(authorized, failure)
            raise
        except Refused as refusal:
            await self.record.withdrawn(recorded, refusal)
            raise
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.record.abandoned(recorded)
            raise
        await self.record.finished(recorded, outcome)
        return outcome

    async def admit(self, call: Call) -> AuthorizedCall:
        """Take *call* through the first step alone; a refusal is recorded.

        Raises:
            CallDenied: Policy said no, or there is no such thing.
            BadCall: The name means several.
            AuditUnavailable: The refusal cannot be recorded.
        """
        try:
            return self.authorize(call)
        except (CallDenied, BadCall) as refusal:
            await self.record.refused(call, refusal)
            raise

    async def refuse(self, call: Call, refusal: CallDenied | BadCall | AgentNotFound) -> None:
        """Record a call that its door turned away, since its caller is not whom it acts for.

        Raises:
            AuditUnavailable: The refusal cannot be recorded.
        """
        await self.record.refused(call, refusal)

"""Delivers the crew's events to subscribers, at least once, in the order of their commits (S3.29).

    written with the change ──▶ outbox ──▶ the one process with the lease ──▶ subscriber
                                  ▲                                               │
                                  ├── has it: on to the next                      │
                                  ├── has not: tried again after growing pauses ◀─┤
                                  └── never takes it: put aside, on to the next ◀─┘

A process that dies in between leaves the place of the subscriber where it was: whoever gets the
lease then tells of the same event again, under the same id.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

import anyio
import structlog

from remit.errors import StorageUnavailable
from remit.model.crew import CrewEvent
from remit.model.outbox import DeadLetter, Standing

log = structlog.get_logger(__name__)

LEASE: Final = timedelta(seconds=10)
"""How long nobody else delivers to a subscriber whose process is gone."""

PATIENCE: Final = 5.0
"""Seconds that a subscriber has for one event; less than the lease."""

LOOK_EVERY: Final = 1.0
"""Seconds between looks where nobody tells of events."""

MOST_ATTEMPTS: Final = 12
"""How often one event is tried: with the pauses below, for some 19 minutes."""

LONGEST_PAUSE: Final = timedelta(minutes=5)

KEPT: Final = timedelta(days=30)
"""How long events are kept, delivered or not."""

_PRUNE_EVERY: Final = timedelta(hours=1)
_BATCH: Final = 100
_ADVANCE_AFTER: Final = 20


class DeliveryFailed(Exception):
    """A subscriber has not taken an event; in words without secrets."""


class Subscriber(Protocol):
    """Whoever is told."""

    @property
    def name(self) -> str:
        """Under which its place is kept; holds no secret."""
        ...

    async def deliver(self, event: CrewEvent, now: datetime) -> None:
        """Return once it has the event; it may have had it before.

        Raises:
            DeliveryFailed: It may not have it.
        """
        ...


class Events(Protocol):
    """Where events are read."""

    async def events(self, *, after: int, limit: int) -> Sequence[tuple[int, CrewEvent]]:
        """Return events with a number above *after*, lowest first."""
        ...


class Places(Protocol):
    """Where the place of each subscriber is kept; `storage/outbox.py` says more."""

    async def subscribe(self, name: str) -> None:
        """Keep the place of a subscriber."""
        ...

    async def backlog(self, name: str) -> tuple[Standing, int]:
        """Return where a subscriber stands, and how many events are ahead of it."""
        ...

    async def claim(
        self, name: str, holder: str, *, now: datetime, until: datetime
    ) -> Standing | None:
        """Let *holder* alone tell a subscriber."""
        ...

    async def release(self, name: str, holder: str, *, within: float = math.inf) -> None:
        """Leave a subscriber to whoever comes; takes so many seconds at most."""
        ...

    async def advance(self, name: str, holder: str, delivered: int) -> None:
        """Take note that a subscriber has all events up to this one."""
        ...

    async def postpone(self, name: str, holder: str, *, due: datetime, problem: str) -> None:
        """Take note that the next event could not be delivered."""
        ...

    async def give_up(self, holder: str, letter: DeadLetter) -> None:
        """Put an event aside."""
        ...

    async def prune(self, before: datetime) -> bool:
        """Delete events from before then, as many as takes less than a lease; True if all."""
        ...


class Changes(Protocol):
    """Tells that something was changed, here or in another process."""

    async def changed(self, seen: int, *, within: float) -> int:
        """Return once the number of changes is not *seen*, or *within* seconds later."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What one process delivers with.

    Attributes:
        holder: An id that no other process has.
        clock: Returns the time, aware UTC.
    """

    events: Events
    places: Places
    holder: str
    clock: Callable[[], datetime]


class Delivery:
    """Tells one subscriber of every event.

    Args:
        post: What to deliver with.
        subscriber: Whom to tell.
    """

    def __init__(self, post: Post, subscriber: Subscriber) -> None:
        self._post = post
        self._subscriber = subscriber
        self._name = subscriber.name
        self._pruned = datetime.min.replace(tzinfo=post.clock().tzinfo)

    async def keep_delivering(self, changes: Changes) -> None:
        """Deliver until cancelled; a database that is away is waited for."""
        seen, problem = 0, ""
        try:
            while True:
                pause = LOOK_EVERY
                try:
                    pause = await self.deliver_due()
                    problem = ""
                except StorageUnavailable as error:
                    if str(error) != problem:
                        problem = str(error)
                        log.warning("events cannot be read", error=problem)
                if pause > 0:
                    seen = await changes.changed(seen, within=pause)
        finally:
            with anyio.CancelScope(shield=True):
                await self._release()

    async def deliver_due(self) -> float:
        """Deliver what can be delivered now; returns the seconds until another look is worth it."""
        post, now = self._post, self._post.clock()
        standing, ahead = await post.places.backlog(self._name)
        if not ahead:
            return LOOK_EVERY
        # what is due later than any pause is, was postponed by a clock that was ahead
        if standing.due is not None and now < standing.due <= now + LONGEST_PAUSE:
            return min(LOOK_EVERY, (standing.due - now).total_seconds())
        leased = await post.places.claim(self._name, post.holder, now=now, until=now + LEASE)
        if leased is None:
            return LOOK_EVERY
        if now - self._pruned > _PRUNE_EVERY and await post.places.prune(now - KEPT):
            self._pruned = now
        batch = await post.events.events(after=leased.delivered, limit=_BATCH)
        went_well = await self._deliver(batch, leased)
        if went_well and len(batch) == _BATCH:
            return 0.0
        await post.places.release(self._name, post.holder)
        return LOOK_EVERY

    async def _deliver(self, batch: Sequence[tuple[int, CrewEvent]], leased: Standing) -> bool:
        post, name = self._post, self._name
        done = advanced = leased.delivered
        renew_at = post.clock() + LEASE / 2
        for number, event in batch:
            now = post.clock()
            if now >= renew_at:
                if await post.places.claim(name, post.holder, now=now, until=now + LEASE) is None:
                    return False
                renew_at = now + LEASE / 2
            problem = await told(self._subscriber, event, now)
            if problem:
                if done > advanced:
                    await post.places.advance(name, post.holder, done)
                attempts = leased.attempts + 1 if done == leased.delivered else 1
                await self._failed(number, event, attempts, problem)
                return False
            done = number
            if number - advanced >= _ADVANCE_AFTER:
                await post.places.advance(name, post.holder, done)
                advanced = done
        if done > advanced:
            await post.places.advance(name, post.holder, done)
        return True

    async def _failed(self, number: int, event: CrewEvent, attempts: int, problem: str) -> None:
        post, now = self._post, self._post.clock()
        about = {"subscriber": self._name, "event_id": event.id, "topic": event.topic}
        if attempts >= MOST_ATTEMPTS:
            log.error("event given up", **about, attempts=attempts, error=problem)
            letter = DeadLetter(
                subscriber=self._name,
                number=number,
                event=event,
                attempts=attempts,
                problem=problem,
                died=now,
            )
            await post.places.give_up(post.holder, letter)
            return
        pause = min(timedelta(seconds=2 ** (attempts - 1)), LONGEST_PAUSE)
        log.warning("event not delivered", **about, attempts=attempts, error=problem)
        await post.places.postpone(self._name, post.holder, due=now + pause, problem=problem)

    async def _release(self) -> None:
        try:
            await self._post.places.release(self._name, self._post.holder, within=PATIENCE)
        except StorageUnavailable as error:
            log.info("a subscriber is not released", subscriber=self._name, error=str(error))


async def told(subscriber: Subscriber, event: CrewEvent, now: datetime) -> str:
    """Tell a subscriber of an event, and return why it may not have it; empty where it has."""
    try:
        with anyio.fail_after(PATIENCE):
            await subscriber.deliver(event, now)
    except DeliveryFailed as error:
        return str(error) or "it was not taken"
    except TimeoutError:
        return f"no answer within {PATIENCE:g} s"
    return ""


class EventLog:
    """The subscriber that is always there: the process's own log (S3.29)."""

    name = "log"

    async def deliver(self, event: CrewEvent, now: datetime) -> None:
        """Log what happened, and to whom; never what a mail says."""
        log.info(
            "crew event",
            topic=event.topic,
            event_id=event.id,
            tenant=event.tenant,
            after=(now - event.created).total_seconds(),
            **{key: value for key, value in event.payload.items() if _names(key)},
        )


def _names(key: str) -> bool:
    """Whether a part of an event says what it is about, and not what somebody wrote."""
    return key.endswith("Id") or key in ("alertType", "severity")

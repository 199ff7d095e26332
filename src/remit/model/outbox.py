"""How far each subscriber has heard of the crew's events, and what it would not take."""

from dataclasses import dataclass
from datetime import datetime

from remit.model.crew import CrewEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a subscriber stands.

    Attributes:
        name: Holds no secret.
        delivered: The number of the last event that it has, or that was given up.
        attempts: How often the next one was tried in vain.
        due: When that is tried again, or None.
        problem: Why it was in vain the last time, or empty.
        holder: The process that delivers to it, or empty.
        until: As long as nobody else does.
    """

    name: str
    delivered: int
    attempts: int = 0
    due: datetime | None = None
    problem: str = ""
    holder: str = ""
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An event that a subscriber did not take, however often it was tried.

    Attributes:
        number: Of the event in the order of all.
        died: When it was given up.
    """

    subscriber: str
    number: int
    event: CrewEvent
    attempts: int
    problem: str
    died: datetime

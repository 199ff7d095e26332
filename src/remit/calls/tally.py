"""Counts of one tenant's calls, kept as plain integers; who asks for them makes sense of them."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from remit.model.events import AuditEvent, EventKind

BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 600.0)
"""Seconds at which the classes of duration end; what takes longer falls into one more."""


class Durations:
    """How long calls took.

    Attributes:
        classes: How many fell into each class of `BOUNDS`, and beyond the last.
        seconds: All together.
    """

    __slots__ = ("classes", "seconds")

    def __init__(self) -> None:
        self.classes = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def note(self, seconds: float) -> None:
        """Count one call."""
        self.classes[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


@dataclass(frozen=True, slots=True)
class CallEnd:
    """What calls are told apart by; every field has few values, whatever callers send.

    Attributes:
        server: Empty where the requested name meant no tool.
        layer: What decided, or empty where there was nothing to decide on.
        code: Empty for a call that had a result.
    """

    server: str
    decision: str
    layer: str
    outcome: str
    code: str


class Tally:
    """Counts what the recorder writes down, so that numbers and record agree.

    Nothing that a caller may choose becomes a key: no name of a tool, no principal, and of servers
    those alone that policy has decided on.

    Attributes:
        durations: Of calls that ran, by server; seconds from the door to the outcome.
        running: How many run at this moment, by server.
        retries: Attempts beyond the first of their call, by server (R23).
        unrecorded: Calls that were turned away since they could not be recorded, and calls whose
            outcome could not be (R29).
        alerts: Alerts that this process opened, by severity (S2.48).
    """

    def __init__(self) -> None:
        self._ends: dict[tuple[str, str, str, str, str], int] = defaultdict(int)
        self.durations: dict[str, Durations] = defaultdict(Durations)
        self.running: dict[str, int] = defaultdict(int)
        self.retries: dict[str, int] = defaultdict(int)
        self.unrecorded = 0
        self.alerts: dict[str, int] = defaultdict(int)

    def ends(self) -> Mapping[CallEnd, int]:
        """Return how many calls ended in each way."""
        return {CallEnd(*key): count for key, count in self._ends.items()}

    def began(self, event: AuditEvent) -> None:
        """Count a call that runs from now on."""
        self.running[event.server] += 1

    def ended(self, event: AuditEvent) -> None:
        """Count a call that is over, and one that never ran."""
        is_end = event.kind is EventKind.FINISHED
        # Of what never ran, and no layer decided on, it is whatever the caller wrote.
        server = event.server if event.layer or is_end else ""
        key = (server, event.decision, event.layer, event.outcome, event.code)
        self._ends[key] += 1
        if is_end:
            self.running[server] -= 1
            self.durations[server].note(event.ms / 1000)

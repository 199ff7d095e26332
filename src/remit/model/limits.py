"""Limits: at most so many calls in any span of so many seconds, wherever that span begins."""

from dataclasses import dataclass
from typing import NamedTuple

SPANS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
"""The words that `per` knows, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One entry of `limits`, as declared; what is empty narrows nothing.

    Attributes:
        role: Only callers that hold this role.
        principal: Only this caller, in SUBJECT spelling.
        tool: Only tools that this pattern fits; their calls count together (R15).
        calls: How many calls.
        seconds: In any span of this length.
        per_caller: Whether each caller has as many for itself; else all share them.
    """

    role: str = ""
    principal: str = ""
    tool: str = ""
    calls: int
    seconds: int
    per_caller: bool = True

    @property
    def subject_matter(self) -> tuple[object, ...]:
        """What it is about: all but the number of calls."""
        return self.role, self.principal, self.tool, self.seconds, self.per_caller

    @property
    def rate(self) -> str:
        """Say how many calls there may be, such as `30 calls per minute`."""
        word = next((word for word, span in SPANS.items() if span == self.seconds), None)
        span = word or f"{self.seconds} seconds"
        return f"{self.calls} {'call' if self.calls == 1 else 'calls'} per {span}"


class Allowance(NamedTuple):
    """What one limit leaves to one caller, or to all who share it.

    Attributes:
        key: The same for the same limit and caller in every worker, at every revision.
        calls: How many calls fit into any span of `seconds`.
        rule: The limit's path into the declaration, such as `limits[0]`.
        rate: How many that is, in words.
    """

    key: str
    calls: int
    seconds: int
    rule: str
    rate: str


class Shortage(NamedTuple):
    """Why a call has to wait.

    Attributes:
        at: Which of the wanted allowances is used up; of several, the one that is so for longest.
        wait: Seconds until it has room again.
    """

    at: int
    wait: float

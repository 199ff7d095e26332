"""The decision log: what agents did and decided, one row each (S3.20-S3.22, R28)."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDecision:
    """A row: a call that was begun, its result or its error, or a decision written down.

    Attributes:
        id: Unique: the request id of what was begun, the `logId` of what was written down.
        agent: Who acted.
        decision: As `Tool result: mcp__mail__send`, or the title.
        reasoning: As `Automatic tool result log`, or the body.
        context: JSON, redacted: input, output, or code and message; None for what was written down.
    """

    id: str
    agent: str
    decision: str
    reasoning: str
    context: str | None
    time: datetime


def usual_rows(agent: str | None) -> int:
    """Return how many rows are shown of one agent, or of all (S3.22)."""
    return 100 if agent is None else 50

"""The crew at work: what each agent is at."""

from datetime import datetime

import msgspec

from remit.client.operations import Operation, Page, at


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A registered agent at its work.

    Attributes:
        type: `SUPERVISOR`, `ORCHESTRATOR` or `WORKER`.
        state: `IDLE`, `BUSY`, `WAITING` for somebody else, or `FAILED`.
        epic: Id of the epic that it runs or works on, or None.
        task: Id of the task that it has now, or None.
        paused: Why it is given no work, or None.
        crashes: How often it stopped in the middle of its work.
    """

    id: str
    type: str
    state: str
    epic: str | None
    task: str | None
    paused: str | None
    crashes: int
    last_active: datetime | None


def list_all(*, limit: int | None = None, cursor: str | None = None) -> Operation[Page[Member]]:
    """What every agent is at."""
    return Operation(
        id="crew.list",
        method="GET",
        path=at("crew"),
        answer=Page[Member],
        query={"limit": limit, "cursor": cursor},
    )


def get(agent_id: str) -> Operation[Member]:
    """What one agent is at."""
    return Operation(id="crew.get", method="GET", path=at("crew", agent_id), answer=Member)

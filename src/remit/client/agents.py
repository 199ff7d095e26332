"""Agents: the supervised workers that keys can be bound to."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from remit.client.operations import Operation, Page, at


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A registered agent.

    Attributes:
        type: `SUPERVISOR`, `ORCHESTRATOR` or `WORKER`.
        role: The squad role that it also acts in, or None.
        epic: The epic that it works on, or None.
        tmux_session: Where its program runs, or None.
    """

    id: str
    type: str
    role: str | None
    epic: str | None
    tmux_session: str | None
    created: datetime


class WrittenAgent(Agent, frozen=True, kw_only=True):
    """An agent that was registered or changed.

    Attributes:
        notes: What does not go together in it, such as an epic that there is not.
    """

    notes: tuple[str, ...]


def list_all(*, limit: int | None = None, cursor: str | None = None) -> Operation[Page[Agent]]:
    """Every agent."""
    return Operation(
        id="agents.list",
        method="GET",
        path=at("agents"),
        answer=Page[Agent],
        query={"limit": limit, "cursor": cursor},
    )


def get(agent_id: str) -> Operation[Agent]:
    """One agent."""
    return Operation(id="agents.get", method="GET", path=at("agents", agent_id), answer=Agent)


def create(
    agent_id: str,
    *,
    type: str,  # noqa: A002 - what the API calls it
    role: str | None = None,
    epic: str | None = None,
    tmux_session: str | None = None,
    reason: str = "",
) -> Operation[WrittenAgent]:
    """Register an agent."""
    return Operation(
        id="agents.create",
        method="POST",
        path=at("agents"),
        answer=WrittenAgent,
        query={"reason": reason or None},
        body={
            "id": agent_id,
            "type": type,
            "role": role,
            "epic": epic,
            "tmux_session": tmux_session,
        },
    )


def change(
    agent_id: str, patch: Mapping[str, str | None], *, if_match: str, reason: str = ""
) -> Operation[WrittenAgent]:
    """Change an agent.

    Args:
        agent_id: Which.
        patch: `type`, `role`, `epic` and `tmux_session`; None takes one away, what is not there
            stays.
        if_match: The `ETag` of what was read, or `*`.
        reason: For the record.
    """
    return Operation(
        id="agents.change",
        method="PATCH",
        path=at("agents", agent_id),
        answer=WrittenAgent,
        query={"reason": reason or None},
        body=patch,
        if_match=if_match,
    )

"""The crew's nouns: who works on what, and the mail between them (S3.31-S3.36).

A task:

    PENDING ──▶ ASSIGNED ──▶ IN_PROGRESS ──▶ REVIEW ──▶ COMPLETED
       │  ◀───────┘           ▲ │ │  ▲  ▲      │ │
       └──────────────────────┘ │ │  │  └──────┘ │ changes wanted
                                │ └──┼──▶ BLOCKED ◀┘
                                ▼    │       │ │
                              FAILED ┘ ◀─────┘ └──▶ IN_PROGRESS

An epic:

    PLANNING ──▶ IN_PROGRESS ◀──▶ BLOCKED        all three ──▶ CANCELLED
                      └──▶ COMPLETED (once no task is left)

Every value that changes has a version: who writes it says which one it has seen, so that of two who
change one thing at once the second looks again (`storage/crew.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from remit.model.agents import Agent
from remit.model.principals import AgentType


class AgentState(StrEnum):
    """What an agent is at: WAITING for somebody else, FAILED when it was given up."""

    IDLE = "IDLE"
    BUSY = "BUSY"
    WAITING = "WAITING"
    FAILED = "FAILED"


class TaskState(StrEnum):
    """Where a task stands (S3.33)."""

    PENDING = "PENDING"
    ASSIGNED = "ASSIGNED"
    IN_PROGRESS = "IN_PROGRESS"
    REVIEW = "REVIEW"
    BLOCKED = "BLOCKED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class EpicState(StrEnum):
    """Where an epic stands (S3.32)."""

    PLANNING = "PLANNING"
    IN_PROGRESS = "IN_PROGRESS"
    BLOCKED = "BLOCKED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"


TASK_MOVES: Final[Mapping[TaskState, frozenset[TaskState]]] = MappingProxyType(
    {
        TaskState.PENDING: frozenset({TaskState.ASSIGNED, TaskState.IN_PROGRESS}),
        TaskState.ASSIGNED: frozenset({TaskState.IN_PROGRESS, TaskState.PENDING}),
        TaskState.IN_PROGRESS: frozenset({TaskState.REVIEW, TaskState.BLOCKED, TaskState.FAILED}),
        TaskState.REVIEW: frozenset(
            {TaskState.COMPLETED, TaskState.IN_PROGRESS, TaskState.BLOCKED}
        ),
        TaskState.BLOCKED: frozenset({TaskState.IN_PROGRESS, TaskState.FAILED}),
        TaskState.FAILED: frozenset({TaskState.IN_PROGRESS}),
        TaskState.COMPLETED: frozenset(),
    }
)
"""From each state to those that may follow (S3.35)."""

EPIC_MOVES: Final[Mapping[EpicState, frozenset[EpicState]]] = MappingProxyType(
    {
        EpicState.PLANNING: frozenset({EpicState.IN_PROGRESS, EpicState.CANCELLED}),
        EpicState.IN_PROGRESS: frozenset(
            {EpicState.BLOCKED, EpicState.COMPLETED, EpicState.CANCELLED}
        ),
        EpicState.BLOCKED: frozenset({EpicState.IN_PROGRESS, EpicState.CANCELLED}),
        EpicState.COMPLETED: frozenset(),
        EpicState.CANCELLED: frozenset(),
    }
)
"""From each state to those that may follow."""

ENDED: Final = frozenset({EpicState.COMPLETED, EpicState.CANCELLED})
"""States in which an epic takes no more tasks."""

DONE: Final = frozenset({TaskState.COMPLETED, TaskState.FAILED})
"""States in which nobody works on a task."""

AT_WORK: Final[Mapping[TaskState, AgentState]] = MappingProxyType(
    {
        TaskState.ASSIGNED: AgentState.BUSY,
        TaskState.IN_PROGRESS: AgentState.BUSY,
        TaskState.REVIEW: AgentState.WAITING,
        TaskState.BLOCKED: AgentState.WAITING,
    }
)
"""What its worker is at, by the state of the task."""


GATEWAY: Final = "remit"
"""Sender of mail that nobody wrote."""

CRITICAL: Final = "⚠️ CRITICAL: "
"""How the subject of a mail begins without whose tool nobody can go on (S3.26)."""

MOST_LISTED_TEXT: Final = 1_000_000
"""Characters of one list of mail, tasks or comments: it ends with the one that reaches them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A registered agent at its work.

    Attributes:
        id: Its id in `model/agents.py`, where type, epic and creation stand, too.
        epic: The epic that it runs or works on, or empty.
        task: The task that it has now, or empty.
        paused: Why it is given no work, or empty.
        tmux_session: Where its program runs, if whoever started that said so (S3.31).
        crashes: How often it stopped in the middle of its work, since `crashed`.
        crashed: When the first of these was, or None.
        last_active: When it last called a tool of the crew, or None.
        version: How often it was changed; 0 as long as it was only registered.
    """

    id: str
    tenant: str
    type: AgentType
    state: AgentState = AgentState.IDLE
    epic: str = ""
    task: str = ""
    paused: str = ""
    tmux_session: str = ""
    crashes: int = 0
    crashed: datetime | None = None
    last_active: datetime | None = None
    created: datetime
    updated: datetime
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Epic:
    """A piece of work that one ORCHESTRATOR runs.

    Attributes:
        linear_issue_id: Unique in its tenant, or empty.
        version: 0 for one that is still to be stored.
    """

    id: str
    tenant: str
    title: str
    description: str
    state: EpicState = EpicState.PLANNING
    linear_issue_id: str = ""
    linear_issue_url: str = ""
    completed: datetime | None = None
    created: datetime
    updated: datetime
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A piece of an epic that one WORKER does.

    Attributes:
        assigned: The agent that has it, or had it last; empty before the first.
        attempts: How often it was given up and returned to PENDING.
        submitted: When it was last put up for review.
        version: 0 for one that is still to be stored.
    """

    id: str
    tenant: str
    epic: str
    title: str
    description: str
    state: TaskState = TaskState.PENDING
    assigned: str = ""
    worktree_path: str = ""
    branch_name: str = ""
    pr_url: str = ""
    attempts: int = 0
    failure_reason: str = ""
    submitted: datetime | None = None
    completed: datetime | None = None
    created: datetime
    updated: datetime
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """What somebody said about a task.

    Attributes:
        author: Who, as a SUBJECT such as `agent:w1`.
    """

    id: str
    tenant: str
    task: str
    author: str
    body: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A message to one agent, or to the human.

    Attributes:
        from_agent: The agent that wrote it, or whose failed call the gateway tells of; or empty.
            Whoever answers writes to that agent.
        from_type: What that agent was, or None.
        sender: Who wrote it as a SUBJECT; `remit` where the gateway itself did.
        to_agent: The agent that it is for; empty for one to the human.
        read: When it was first read, or None.
        version: 0 for one that is still to be stored.
    """

    id: str
    tenant: str
    from_agent: str = ""
    from_type: AgentType | None = None
    sender: str
    to_agent: str = ""
    subject: str
    body: str
    created: datetime
    read: datetime | None = None
    version: int = 0

    @property
    def is_for_human(self) -> bool:
        """Whether it is for the human (S3.34)."""
        return not self.to_agent


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewEvent:
    """Something that happened, for whoever wants to hear of it (S3.29, S3.30).

    Attributes:
        id: Unique: who hears of it twice knows by this.
        topic: Such as `mail.sent`.
        payload: A JSON object.
    """

    id: str
    tenant: str
    topic: str
    payload: Mapping[str, object]
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """The key under which somebody asks for something to be done no more than once (S3.28).

    Attributes:
        by: Who asks, as a SUBJECT; keys of others are others.
        tool: What is asked, such as `mail/send`.
        key: The caller's own text.
        asked: A digest of the arguments: the same key with others is a mistake.
        answer: What was answered, as JSON.
    """

    tenant: str
    by: str
    tool: str
    key: str
    asked: str
    answer: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is written together, or not at all.

    Of epics, tasks, members and mails the version says which one the writer has seen: 0 for what
    is new, or for a member that was never changed. They are stored with the next one. An epic is
    COMPLETED only while no task of it is left.

    Attributes:
        open_epics: Ids of those that must not have ended, in the tenant of the tasks.
        agents: New ones, to be registered.
        members: An epic that differs from the registered agent's becomes that one's.
        events: What it means to others: written with it, so that neither is without the other.
        once: The key that it uses up, or None.
    """

    agents: tuple[Agent, ...] = ()
    epics: tuple[Epic, ...] = ()
    tasks: tuple[Task, ...] = ()
    open_epics: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    mails: tuple[Mail, ...] = ()
    comments: tuple[Comment, ...] = ()
    events: tuple[CrewEvent, ...] = ()
    once: Once | None = None

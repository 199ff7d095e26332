"""What the crew's tools ask of where its work is kept; `storage/crew.py` says more."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from remit.model.crew import Change, Comment, Epic, Mail, Member, Once, Task, TaskState
from remit.model.principals import AgentType


class CrewStore(Protocol):
    """Where the crew's work is kept; `storage/crew.py` says more."""

    async def apply(self, change: Change) -> None:
        """Write all of *change*, or raise Outdated or Conflict and write nothing."""
        ...

    async def touch(self, tenant: str, agent_id: str, now: datetime) -> None:
        """Take note that an agent is active."""
        ...

    async def find_member(self, tenant: str, agent_id: str) -> Member | None:
        """Return a registered agent, or None."""
        ...

    async def members(
        self, tenant: str, *, of_type: AgentType | None = None, epic: str | None = None
    ) -> Sequence[Member]:
        """Return registered agents, oldest first."""
        ...

    async def find_epic(self, tenant: str, epic_id: str) -> Epic | None:
        """Return an epic, or None."""
        ...

    async def find_task(self, tenant: str, task_id: str) -> Task | None:
        """Return a task, or None."""
        ...

    async def tasks(
        self, tenant: str, *, epic: str | None = None, state: TaskState | None = None
    ) -> Sequence[Task]:
        """Return tasks, oldest first."""
        ...

    async def listed_tasks(
        self,
        tenant: str,
        *,
        epic: str | None = None,
        state: TaskState | None = None,
        by_submission: bool = False,
        after: str = "",
        limit: int,
    ) -> tuple[Sequence[Task], bool]:
        """Return the first tasks after one, and whether there are more."""
        ...

    async def comments(self, tenant: str, task_id: str, *, limit: int) -> Sequence[Comment]:
        """Return what was said last about a task, oldest first."""
        ...

    async def count_comments(self, tenant: str, task_id: str) -> int:
        """Return how often something was said about a task."""
        ...

    async def find_mail(self, tenant: str, mail_id: str) -> Mail | None:
        """Return a mail, or None."""
        ...

    async def inbox(
        self, tenant: str, to_agent: str, *, include_read: bool, limit: int
    ) -> Sequence[Mail]:
        """Return mails to an agent, newest first."""
        ...

    async def count_unread(self, tenant: str, to_agent: str) -> int:
        """Return how many of them are unread."""
        ...

    async def find_once(self, tenant: str, by: str, tool: str, key: str) -> Once | None:
        """Return what was answered under a key, or None."""
        ...


class Changes(Protocol):
    """Tells that something was changed, here or in another process."""

    @property
    def told(self) -> int:
        """How often something was."""
        ...

    async def changed(self, seen: int, *, within: float) -> int:
        """Return once that is not *seen*, or *within* seconds later."""
        ...

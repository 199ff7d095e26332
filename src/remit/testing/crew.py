"""The crew's work in memory: passes the same suite as the stores in a database."""

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from remit.errors import Conflict, Outdated
from remit.model.agents import Agent
from remit.model.crew import (
    DONE,
    ENDED,
    MOST_LISTED_TEXT,
    Change,
    Comment,
    CrewEvent,
    Epic,
    EpicState,
    Mail,
    Member,
    Once,
    Task,
    TaskState,
)
from remit.model.principals import AgentType

Versioned = TypeVar("Versioned", Epic, Task, Mail, Member)
Listed = TypeVar("Listed")
Place = tuple[str, str]

_by_age = attrgetter("created", "id")


class InMemoryCrew:
    """Agents at work, epics, tasks and mail, in dictionaries by tenant and id.

    Args:
        agents: Who is registered.
    """

    def __init__(self, *agents: Agent) -> None:
        self._agents: dict[Place, Agent] = {(agent.tenant, agent.id): agent for agent in agents}
        self._members: dict[Place, Member] = {}
        self._active: dict[Place, datetime] = {}
        self._epics: dict[Place, Epic] = {}
        self._tasks: dict[Place, Task] = {}
        self._mails: dict[Place, Mail] = {}
        self._comments: list[Comment] = []
        self._events: list[CrewEvent] = []
        self._once: dict[tuple[str, str, str, str], Once] = {}

    async def apply(self, change: Change) -> None:
        """Write all of *change*.

        Raises:
            Outdated: Something of it was changed meanwhile; nothing is written.
            Conflict: Another epic has that issue; likewise.
        """
        self._check(change)
        if change.once is not None:
            self._once[_once_key(change.once)] = change.once
        self._agents |= {(agent.tenant, agent.id): agent for agent in change.agents}
        _store(self._epics, change.epics)
        _store(self._tasks, change.tasks)
        _store(self._members, change.members)
        _store(self._mails, change.mails)
        for member in change.members:
            place = (member.tenant, member.id)
            self._agents[place] = replace(self._agents[place], epic=member.epic)
        self._comments += change.comments
        self._events += change.events

    def _check(self, change: Change) -> None:
        if change.once is not None and _once_key(change.once) in self._once:
            raise Outdated("somebody else made the same meanwhile")
        if any((agent.tenant, agent.id) in self._agents for agent in change.agents):
            raise Outdated("somebody else made the same meanwhile")
        for epic in change.epics:
            if epic.linear_issue_id and any(
                (each.tenant, each.linear_issue_id) == (epic.tenant, epic.linear_issue_id)
                and each.id != epic.id
                for each in self._epics.values()
            ):
                raise Conflict(f"an epic of the issue {epic.linear_issue_id!r} exists already")
            if epic.state is EpicState.COMPLETED and any(
                (task.tenant, task.epic) == (epic.tenant, epic.id) and task.state not in DONE
                for task in self._tasks.values()
            ):
                raise Outdated(f"epic {epic.id!r} was given another task meanwhile")
        for place in {(task.tenant, epic) for task in change.tasks for epic in change.open_epics}:
            if place not in self._epics or self._epics[place].state in ENDED:
                raise Outdated("an epic has ended meanwhile")
        _require_seen(self._epics, change.epics)
        _require_seen(self._tasks, change.tasks)
        _require_seen(self._members, change.members)
        _require_seen(self._mails, change.mails)

    async def touch(self, tenant: str, agent_id: str, now: datetime) -> None:
        """Take note that an agent is active; that is no change of it."""
        self._active[tenant, agent_id] = now

    async def find_member(self, tenant: str, agent_id: str) -> Member | None:
        """Return a registered agent at its work, or None."""
        agent = self._agents.get((tenant, agent_id))
        return None if agent is None else self._member(agent)

    async def members(
        self, tenant: str, *, of_type: AgentType | None = None, epic: str | None = None
    ) -> Sequence[Member]:
        """Return registered agents, oldest first; of one type or of one epic where that is said."""
        found = [
            self._member(agent)
            for agent in self._agents.values()
            if agent.tenant == tenant
            and of_type in (None, agent.type)
            and epic in (None, agent.epic)
        ]
        return sorted(found, key=_by_age)

    async def members_after(self, tenant: str, after: str | None, limit: int) -> Sequence[Member]:
        """Return registered agents by id, at most *limit*, those behind an id alone."""
        found = sorted(await self.members(tenant), key=lambda member: member.id)
        return [member for member in found if after is None or member.id > after][:limit]

    def _member(self, agent: Agent) -> Member:
        place = (agent.tenant, agent.id)
        known = self._members.get(place)
        if known is None:
            known = Member(
                id=agent.id,
                tenant=agent.tenant,
                type=agent.type,
                tmux_session=agent.tmux_session,
                created=agent.created,
                updated=agent.created,
            )
        active = self._active.get(place)
        if active is not None and known.version == 0:
            known = replace(known, updated=active)
        return replace(known, epic=agent.epic, last_active=active)

    async def find_epic(self, tenant: str, epic_id: str) -> Epic | None:
        """Return an epic, or None."""
        return self._epics.get((tenant, epic_id))

    async def epics(self, tenant: str) -> Sequence[Epic]:
        """Return every epic, oldest first."""
        return sorted((each for each in self._epics.values() if each.tenant == tenant), key=_by_age)

    async def find_task(self, tenant: str, task_id: str) -> Task | None:
        """Return a task, or None."""
        return self._tasks.get((tenant, task_id))

    async def tasks(
        self, tenant: str, *, epic: str | None = None, state: TaskState | None = None
    ) -> Sequence[Task]:
        """Return every task, oldest first; of one epic or in one state where that is said."""
        found = [
            each
            for each in self._tasks.values()
            if each.tenant == tenant and epic in (None, each.epic) and state in (None, each.state)
        ]
        return sorted(found, key=_by_age)

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
        """Return the first tasks, oldest first, and whether there are more after them."""
        place = _by_submission if by_submission else _by_age
        found = sorted(await self.tasks(tenant, epic=epic, state=state), key=place)
        if after:
            last = self._tasks.get((tenant, after))
            found = [each for each in found if last is not None and place(each) > place(last)]
        listed = _bounded(found, _task_size, limit)
        return listed, len(listed) < len(found)

    async def comments(self, tenant: str, task_id: str, *, limit: int) -> Sequence[Comment]:
        """Return what was said last about a task, oldest first."""
        newest = sorted(self._said(tenant, task_id), key=_by_age, reverse=True)
        return _bounded(newest, _body_size, limit)[::-1]

    async def count_comments(self, tenant: str, task_id: str) -> int:
        """Return how often something was said about a task."""
        return len(self._said(tenant, task_id))

    def _said(self, tenant: str, task_id: str) -> list[Comment]:
        return [each for each in self._comments if each.tenant == tenant and each.task == task_id]

    async def find_mail(self, tenant: str, mail_id: str) -> Mail | None:
        """Return a mail, or None."""
        return self._mails.get((tenant, mail_id))

    async def inbox(
        self, tenant: str, to_agent: str, *, include_read: bool, limit: int
    ) -> Sequence[Mail]:
        """Return the newest mails to an agent, as many as `listed_mail` would."""
        found, _ = await self.listed_mail(tenant, to_agent, include_read=include_read, limit=limit)
        return found

    async def listed_mail(
        self, tenant: str, to_agent: str, *, include_read: bool, after: str = "", limit: int
    ) -> tuple[Sequence[Mail], bool]:
        """Return the newest mails to an agent, newest first, and whether there are older ones."""
        found = self._mails_to(tenant, to_agent, include_read=include_read)
        if after:
            last = self._mails.get((tenant, after))
            found = [each for each in found if last is not None and _by_age(each) < _by_age(last)]
        listed = _newest(found, limit)
        return listed, len(listed) < len(found)

    async def between(
        self, tenant: str, agent_id: str, subjects: Collection[str], *, limit: int
    ) -> Sequence[Mail]:
        """Return mails between an agent and the human under these subjects, newest first."""
        found = [
            mail
            for mail in self._mails.values()
            if mail.tenant == tenant
            and (mail.from_agent, mail.to_agent) in {(agent_id, ""), ("", agent_id)}
            and mail.subject in subjects
        ]
        return _newest(found, limit)

    def _mails_to(self, tenant: str, to_agent: str, *, include_read: bool) -> list[Mail]:
        return [
            mail
            for mail in self._mails.values()
            if mail.tenant == tenant
            and mail.to_agent == to_agent
            and (include_read or mail.read is None)
        ]

    async def count_unread(self, tenant: str, to_agent: str) -> int:
        """Return how many mails to an agent are not read yet; an empty id is the human."""
        return len(self._mails_to(tenant, to_agent, include_read=False))

    async def find_once(self, tenant: str, by: str, tool: str, key: str) -> Once | None:
        """Return what was answered under a key, or None."""
        return self._once.get((tenant, by, tool, key))

    async def events(self, *, after: int, limit: int) -> Sequence[tuple[int, CrewEvent]]:
        """Return events of every tenant with a number above *after*, lowest first."""
        return list(enumerate(self._events, start=1))[after : after + limit]


def _once_key(once: Once) -> tuple[str, str, str, str]:
    return (once.tenant, once.by, once.tool, once.key)


def _store(kept: MutableMapping[Place, Versioned], changed: Sequence[Versioned]) -> None:
    for value in changed:
        kept[value.tenant, value.id] = replace(value, version=value.version + 1)


def _require_seen(kept: Mapping[Place, Versioned], changed: Sequence[Versioned]) -> None:
    for value in changed:
        known = kept.get((value.tenant, value.id))
        if value.version != (0 if known is None else known.version):
            raise Outdated(f"{value.id!r} was changed by somebody else meanwhile")


def _newest(mails: Sequence[Mail], limit: int) -> Sequence[Mail]:
    return _bounded(sorted(mails, key=_by_age, reverse=True), _body_size, limit)


def _bounded(found: Sequence[Listed], size: Callable[[Listed], int], limit: int) -> list[Listed]:
    listed: list[Listed] = []
    left = MOST_LISTED_TEXT
    for each in found[:limit]:
        if left <= 0:
            break
        left -= size(each)
        listed.append(each)
    return listed


def _body_size(said: Mail | Comment) -> int:
    return len(said.body)


def _task_size(task: Task) -> int:
    return len(task.title) + len(task.description) + len(task.failure_reason)


def _by_submission(task: Task) -> tuple[datetime, str]:
    return task.submitted or task.updated, task.id

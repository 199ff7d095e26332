"""Puts right what agents that are gone leave behind: desired against actual state (S3.38, S3.41).

    every task that is ASSIGNED or IN_PROGRESS has a worker that is active
    every open epic has an ORCHESTRATOR that is active, and so has the crew its SUPERVISORs

        worker silent for 7 minutes, or known to have crashed
          └─▶ its task is PENDING again, attempts + 1; its orchestrator has mail
                └─▶ at 5 attempts FAILED; the human has mail, too
          └─▶ or stays in REVIEW or BLOCKED, and its orchestrator has mail: what is done is not
              thrown away, and what blocks it would block the next one
          └─▶ it is FAILED until it is active again
                └─▶ after 3 crashes within a minute of the first paused; the human has mail

Nothing is remembered between two looks: whoever looks next finds what is left to do, and two who
look at once do it once, since every change names the versions that it has seen.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from remit.crew.desk import UNHEALTHY_AFTER, Desk, Request, settled
from remit.crew.mailbox import mail_to
from remit.crew.moves import agents_changed, free, moved, resting_or_at_work, task_updated
from remit.crew.store import Changes, CrewStore
from remit.errors import NotFound
from remit.model.crew import (
    ENDED,
    GATEWAY,
    AgentState,
    Change,
    CrewEvent,
    Epic,
    Mail,
    Member,
    Task,
    TaskState,
)
from remit.model.principals import AgentType, Principal, PrincipalKind

MOST_TAKEN: Final = 5
"""How often a task is taken back before it is FAILED."""

LOOP: Final = 3
"""Crashes that make a loop, when they are within LOOP_WITHIN of the first."""

LOOP_WITHIN: Final = timedelta(minutes=1)

_AT_WORK: Final = (TaskState.ASSIGNED, TaskState.IN_PROGRESS)
_WAITING: Final = (TaskState.REVIEW, TaskState.BLOCKED)


class HealthStore(CrewStore, Protocol):
    """Where the crew's work is kept; `storage/crew.py` says more."""

    async def epics(self, tenant: str) -> Sequence[Epic]:
        """Return epics, oldest first."""
        ...


class Health:
    """Looks after the agents of a tenant.

    Args:
        store: Where the crew's work is kept.
        changes: Of that store.
        clock: Returns the time, aware UTC.
        new_id: Returns an id that nothing has.
        silence: How long an agent may be without activity.
    """

    def __init__(
        self,
        store: HealthStore,
        changes: Changes,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        silence: timedelta = UNHEALTHY_AFTER,
    ) -> None:
        self._store = store
        self._changes = changes
        self._clock = clock
        self._new_id = new_id
        self._silence = silence

    async def look(self, tenant: str) -> None:
        """Put right what is wrong now; other rounds may go on at the same time.

        Raises:
            UpstreamUnavailable: Others change the same all the time.
        """
        desk = self._desk(tenant)
        is_open = any(epic.state not in ENDED for epic in await self._store.epics(tenant))
        for member in await self._store.members(tenant):
            agent_id = member.id

            async def attempt(agent_id: str = agent_id) -> None:
                await self._reconcile(desk, agent_id, is_open=is_open)

            await settled(attempt)

    async def crashed(self, tenant: str, agent_id: str) -> str:
        """Take back the task of a worker whose program has ended; return its id, or nothing.

        One that waits for others stays as it is, and somebody hears of it.

        Raises:
            NotFound: There is no such agent.
            UpstreamUnavailable: Others change the same all the time.
        """
        desk = self._desk(tenant)

        async def attempt() -> str:
            member = await self._store.find_member(tenant, agent_id)
            if member is None:
                raise NotFound(f"there is no agent {agent_id!r}")
            return await self._give_up(desk, member, "its program has ended")

        return await settled(attempt)

    def _desk(self, tenant: str) -> Desk:
        return Desk(
            principal=Principal(kind=PrincipalKind.KEY, name=GATEWAY, tenant=tenant),
            request=Request(tool="", key="", digest=""),
            store=self._store,
            changes=self._changes,
            clock=self._clock,
            new_id=self._new_id,
        )

    async def _reconcile(self, desk: Desk, agent_id: str, *, is_open: bool) -> None:
        member = await self._store.find_member(desk.tenant, agent_id)
        if member is None or member.paused:
            return
        if member.state is AgentState.FAILED:
            if member.last_active is not None and member.last_active > member.updated:
                await self._welcome_back(desk, member)
            return
        active = max(member.last_active or member.created, member.updated)
        if desk.clock() - active <= self._silence:
            return
        silence = f"it was not active for {_minutes(self._silence)}"
        if member.type is AgentType.WORKER:
            await self._give_up(desk, member, silence)
        elif member.type is AgentType.ORCHESTRATOR:
            await self._report_orchestrator(desk, member, silence)
        elif is_open:
            await self._report(desk, member, "", "supervisor.check", silence)

    async def _give_up(self, desk: Desk, member: Member, why: str) -> str:
        """Give up a worker that has a task; return the id of the task if that is taken back."""
        if member.type is not AgentType.WORKER or not member.task:
            return ""
        task = await self._store.find_task(desk.tenant, member.task)
        if task is None:
            return ""
        if task.state in _AT_WORK:
            await self._take_back(desk, member, task, why)
            return task.id
        if task.state in _WAITING and member.state is not AgentState.FAILED:
            await self._report_waiting(desk, member, task, why)
        return ""

    async def _welcome_back(self, desk: Desk, member: Member) -> None:
        now = desk.clock()
        back = replace(member, state=await resting_or_at_work(desk, member), updated=now)
        events = tuple(agents_changed(desk, now, (member, back)))
        await self._store.apply(Change(members=(back,), events=events))

    async def _take_back(self, desk: Desk, member: Member, task: Task, why: str) -> None:
        now = desk.clock()
        after = replace(moved(task, TaskState.PENDING, now), attempts=task.attempts + 1)
        is_lost = after.attempts >= MOST_TAKEN
        if is_lost:
            reason = f"{after.attempts} workers gave it up; the last was {member.id}: {why}"
            after = replace(after, state=TaskState.FAILED, failure_reason=reason)
        rested = _after_crash(member, now)
        post = _Post(desk)
        what = f"Task {task.id} ({task.title}), attempt {after.attempts} of {MOST_TAKEN}"
        left = "FAILED" if is_lost else "PENDING again"
        subject = f"Task {left}: {task.title}"[:1000]
        body = f"{what}: worker {member.id} gave it up, since {why}. It is {left}."
        for orchestrator in await self._store.members(
            desk.tenant, of_type=AgentType.ORCHESTRATOR, epic=task.epic
        ):
            post.add(orchestrator.id, subject, body)
        if is_lost:
            post.add("", subject, body)
        if rested.paused:
            post.add("", f"Crash loop: agent {member.id} is paused", f"{rested.paused}. {body}")
        events = (
            task_updated(desk, task, after),
            *agents_changed(desk, now, (member, rested)),
            *post.events,
        )
        await self._store.apply(
            Change(tasks=(after,), members=(rested,), mails=tuple(post.mails), events=events)
        )

    async def _report_waiting(self, desk: Desk, member: Member, task: Task, why: str) -> None:
        of_epic = await self._store.members(
            desk.tenant, of_type=AgentType.ORCHESTRATOR, epic=task.epic
        )
        above = of_epic[0].id if of_epic else await self._supervisor(desk)
        what = (
            f"Its task {task.id} ({task.title}) stays {task.state.value}. Once that is IN_PROGRESS"
            f" again and nobody is at it, it is PENDING for another worker after"
            f" {_minutes(self._silence)}"
        )
        await self._report(desk, member, above, "", f"{why}. {what}")

    async def _supervisor(self, desk: Desk) -> str:
        """Return the id of a supervisor that is there; empty for the human."""
        supervisors = await self._store.members(desk.tenant, of_type=AgentType.SUPERVISOR)
        return next((each.id for each in supervisors if each.state is not AgentState.FAILED), "")

    async def _report_orchestrator(self, desk: Desk, member: Member, why: str) -> None:
        epic = await self._store.find_epic(desk.tenant, member.epic) if member.epic else None
        if epic is None or epic.state in ENDED:
            return
        above = await self._supervisor(desk)
        await self._report(desk, member, above, "orchestrator.check", why)

    async def _report(self, desk: Desk, member: Member, to: str, topic: str, why: str) -> None:
        now = desk.clock()
        failed = replace(member, state=AgentState.FAILED, updated=now)
        post = _Post(desk)
        of_epic = f" of epic {member.epic}" if member.epic else ""
        post.add(
            to,
            f"{member.type.value} {member.id} is unhealthy",
            f"{member.type.value} {member.id}{of_epic} is unhealthy: {why}.",
        )
        events = [*agents_changed(desk, now, (member, failed)), *post.events]
        if topic:
            about = {"agentId": member.id, "epicId": member.epic or None}
            events.insert(0, desk.event(topic, now, **about, healthy=False))
        change = Change(members=(failed,), mails=tuple(post.mails), events=tuple(events))
        await self._store.apply(change)


class _Post:
    """Mails of the gateway's own, with their events."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.mails: list[Mail] = []
        self.events: list[CrewEvent] = []

    def add(self, to_agent: str, subject: str, body: str) -> None:
        """Add one to an agent, or to the human where none is named."""
        mail, event = mail_to(self._desk, None, to_agent, subject, body)
        self.mails.append(replace(mail, sender=GATEWAY))
        self.events.append(event)


def _after_crash(member: Member, now: datetime) -> Member:
    """Return the worker without its task: FAILED, or paused where it crashes again and again."""
    # of either sign: clocks of several gateways differ, and one may have been put back
    is_again = member.crashed is not None and abs(now - member.crashed) <= LOOP_WITHIN
    crashes = member.crashes + 1 if is_again else 1
    rested = replace(
        free(member, now),
        state=AgentState.FAILED,
        crashes=crashes,
        crashed=member.crashed if is_again else now,
    )
    if crashes < LOOP:
        return rested
    return replace(
        rested, state=AgentState.WAITING, paused=f"crash loop: {crashes} crashes within a minute"
    )


def _minutes(span: timedelta) -> str:
    seconds = span.total_seconds()
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"  # noqa: PLR2004

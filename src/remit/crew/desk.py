"""Where one call of a crew tool is worked on: who acts, and what it may reach (R9, layer F).

SUPERVISOR, or a caller that is no agent    every epic and task of the tenant
ORCHESTRATOR                                its epic, and the tasks of that
WORKER                                      its task
everybody                                   its own mail
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar, cast

from remit.calls.settling import looking_again
from remit.crew.store import Changes, CrewStore
from remit.errors import (
    AgentNotFound,
    BadCall,
    InvalidAgentState,
    NotFound,
    NotYours,
    Outdated,
    UpstreamUnavailable,
)
from remit.model.crew import Change, CrewEvent, Epic, Member, Once, Task
from remit.model.principals import AgentType, Principal, PrincipalKind

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked, for whoever asks the same again (S3.28).

    Attributes:
        tool: Such as `mail/send`.
        key: The caller's idempotency key, or empty.
        digest: Of the arguments.
    """

    tool: str
    key: str
    digest: str


UNHEALTHY_AFTER: Final = timedelta(minutes=7)
"""Without activity (S3.38)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One call: who makes it, and what it is worked on with.

    Attributes:
        principal: Who acts.
        clock: Returns the time, aware UTC.
        new_id: Returns an id that nothing has.
        silence: How long an agent may be without activity.
        waiting: How many calls of each agent, by tenant and id, look for mail at this server.
    """

    principal: Principal
    request: Request
    store: CrewStore
    changes: Changes
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    silence: timedelta = UNHEALTHY_AFTER
    waiting: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    @property
    def tenant(self) -> str:
        """Whose work this is."""
        return self.principal.tenant

    @property
    def rules_all(self) -> bool:
        """Whether every epic and task of the tenant is within reach."""
        return self.principal.agent_type in (None, AgentType.SUPERVISOR)

    @property
    def is_agent(self) -> bool:
        """Whether a registered agent acts."""
        return self.principal.kind is PrincipalKind.AGENT

    async def me(self) -> Member:
        """Return the agent that acts.

        Raises:
            InvalidAgentState: None does.
            AgentNotFound: It is registered no longer.
        """
        if not self.is_agent:
            raise InvalidAgentState(f"{self.principal.subject} is no agent, and this needs one")
        return await self.agent(self.principal.name)

    async def agent(self, agent_id: str) -> Member:
        """Return an agent of the tenant.

        Raises:
            AgentNotFound: There is none of that id.
        """
        found = await self.store.find_member(self.tenant, agent_id)
        if found is None:
            raise AgentNotFound(f"there is no agent {agent_id[:80]!r}")
        return found

    @property
    def agents(self) -> Sequence[Principal]:
        """The agents whose doing this is: who acts, and another one that acts for it (R9, R26)."""
        principal = self.principal
        both = (principal,) if principal.caller is None else (principal, principal.caller)
        return [each for each in both if each.kind is PrincipalKind.AGENT]

    async def require_working(self) -> None:
        """Let those who are paused change nothing but mail, nor others for them or by them.

        Raises:
            InvalidAgentState: Whoever acts is paused.
        """
        for agent in self.agents:
            require_unpaused(await self.agent(agent.name))

    async def epic(self, epic_id: str | None) -> Epic:
        """Return an epic within reach; without an id the caller's own.

        Raises:
            InvalidAgentState: An agent without an epic of its own named none.
            BadCall: A caller that is no agent named none.
            NotFound: There is none of that id.
            NotYours: It is another agent's.
        """
        own = await self._own_epic()
        wanted = epic_id or own
        if not wanted:
            if not self.is_agent:
                raise BadCall("epicId is missing: say which epic is meant")
            raise InvalidAgentState(
                f"agent {self.principal.name!r} has no current epic"
                + ("; say which one is meant in epicId" if self.rules_all else "")
            )
        found = await self.store.find_epic(self.tenant, wanted)
        if found is None:
            raise NotFound(f"there is no epic {wanted[:80]!r}")
        if not self.rules_all and wanted != own:
            raise NotYours(f"epic {wanted!r} is another agent's")
        return found

    async def _own_epic(self) -> str:
        if self.rules_all and not self.is_agent:
            return ""
        me = await self.me()
        if me.type is AgentType.WORKER and me.task:
            task = await self.store.find_task(self.tenant, me.task)
            if task is not None:
                return task.epic
        return me.epic

    async def task(self, task_id: str | None) -> Task:
        """Return a task within reach; without an id the caller's own.

        Raises:
            InvalidAgentState: An agent without a task of its own named none.
            BadCall: A caller that is no agent named none.
            NotFound: There is none of that id.
            NotYours: It is another agent's, or of another one's epic.
        """
        if task_id is None and not self.is_agent and self.rules_all:
            raise BadCall("taskId is missing: say which task is meant")
        me = None if self.rules_all and task_id is not None else await self.me()
        wanted = task_id or (me.task if me is not None else "")
        if not wanted:
            raise InvalidAgentState(f"agent {self.principal.name!r} has no current task")
        found = await self.store.find_task(self.tenant, wanted)
        if found is None:
            raise NotFound(f"there is no task {wanted[:80]!r}")
        if me is not None and not self.rules_all:
            if me.type is AgentType.WORKER and found.assigned != me.id:
                raise NotYours(f"task {wanted!r} is not assigned to agent {me.id!r}")
            if me.type is AgentType.ORCHESTRATOR and found.epic != me.epic:
                raise NotYours(f"task {wanted!r} is of another agent's epic")
        return found

    async def answered(self) -> dict[str, object] | None:
        """Return what was answered under the caller's key already, or None.

        Raises:
            BadCall: The key was used for something else.
        """
        asked = self.request
        if not asked.key:
            return None
        once = await self.store.find_once(
            self.tenant, self.principal.subject, asked.tool, asked.key
        )
        if once is None:
            return None
        if once.asked != asked.digest:
            raise BadCall("this idempotency key was used with other arguments; take a new one")
        return cast("dict[str, object]", json.loads(once.answer))

    async def write(self, change: Change, answer: dict[str, object]) -> dict[str, object]:
        """Write *change* and return *answer*, which uses up the caller's key, if there is one.

        Raises:
            Outdated: Something of it was changed meanwhile; nothing is written.
            Conflict: Another epic has that issue; likewise.
        """
        asked = self.request
        if asked.key:
            once = Once(
                tenant=self.tenant,
                by=self.principal.subject,
                tool=asked.tool,
                key=asked.key,
                asked=asked.digest,
                answer=json.dumps(answer),
                created=self.clock(),
            )
            change = replace(change, once=once)
        await self.store.apply(change)
        return answer

    def event(self, topic: str, now: datetime, **payload: object) -> CrewEvent:
        """Return an event to be written with what it tells of."""
        return CrewEvent(
            id=self.new_id(), tenant=self.tenant, topic=topic, payload=payload, created=now
        )


def require_unpaused(member: Member) -> None:
    """Let an agent work.

    Raises:
        InvalidAgentState: It is paused.
    """
    if member.paused:
        raise InvalidAgentState(f"agent {member.id!r} is paused: {member.paused}")


async def settled(attempt: Callable[[], Awaitable[Made]]) -> Made:
    """Look and change, and look again as long as somebody else was faster.

    Raises:
        UpstreamUnavailable: Others were, too often; nothing was changed.
    """
    try:
        return await looking_again(attempt)
    except Outdated:
        raise UpstreamUnavailable(
            "is busy: others change the same all the time; nothing was done", transient=True
        ) from None


async def done_once(
    desk: Desk, attempt: Callable[[], Awaitable[dict[str, object]]]
) -> dict[str, object]:
    """Do what `settled` does, unless it was done under the caller's key already (S3.28).

    What was answered then is answered again.

    Raises:
        BadCall: The key was used for something else.
        UpstreamUnavailable: Others were faster, too often; nothing was changed.
    """

    async def first() -> dict[str, object]:
        answered = await desk.answered()
        return await attempt() if answered is None else answered

    return await settled(first)

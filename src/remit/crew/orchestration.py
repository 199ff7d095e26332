"""What SUPERVISORs do about orchestrators of epics, and about any agent (R34, S3.37, S3.38)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from remit.crew.desk import Desk, done_once
from remit.crew.mailbox import mail_to
from remit.crew.moves import (
    agents_changed,
    at_work,
    free,
    moved,
    resting_or_at_work,
    task_assigned,
    task_updated,
    workers_at,
)
from remit.crew.outputs import AGENT_STATES, TASK_STATES, Result, iso, iso_or_null, moved_result
from remit.crew.tasks import require_fit, require_open, task_id
from remit.errors import BadCall, InvalidAgentState
from remit.model.agents import Agent
from remit.model.crew import DONE, ENDED, AgentState, Change, Member, TaskState
from remit.model.crew_events import agent_created
from remit.model.principals import AgentType
from remit.servers.arguments import Arguments
from remit.servers.shapes import (
    COUNT,
    FLAG,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    given,
    list_of,
    record,
    text,
)
from remit.servers.toolbox import Hints, Tool


def is_healthy(member: Member, now: datetime, silence: timedelta) -> bool:
    """Whether an agent has been active lately; a new one has that time to begin."""
    return now - (member.last_active or member.created) <= silence


async def _list(desk: Desk, _: Arguments) -> Result:
    now = desk.clock()
    found = await desk.store.members(desk.tenant, of_type=AgentType.ORCHESTRATOR)
    orchestrators = [_health(member, now, desk.silence) for member in found]
    return {"count": len(found), "orchestrators": orchestrators}


async def _check_health(desk: Desk, arguments: Arguments) -> Result:
    return _health(await _orchestrator(desk, arguments), desk.clock(), desk.silence)


def _health(member: Member, now: datetime, silence: timedelta) -> Result:
    since = now - (member.last_active or member.created)
    return {
        "agentId": member.id,
        "epicId": member.epic or None,
        "state": member.state.value,
        "healthy": is_healthy(member, now, silence),
        "minutesSinceActivity": max(0, int(since / timedelta(minutes=1))),
        "lastActiveAt": iso_or_null(member.last_active),
        "paused": bool(member.paused),
    }


async def _orchestrator(desk: Desk, arguments: Arguments) -> Member:
    member = await desk.agent(arguments.text("agentId"))
    if member.type is not AgentType.ORCHESTRATOR:
        raise InvalidAgentState(f"agent {member.id!r} is no ORCHESTRATOR")
    return member


async def _create(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        await desk.require_working()
        epic = await desk.epic(arguments.text("epicId"))
        if epic.state in ENDED:
            raise BadCall(f"epic {epic.id!r} is {epic.state}, and needs no orchestrator")
        for member in await desk.store.members(
            desk.tenant, of_type=AgentType.ORCHESTRATOR, epic=epic.id
        ):
            raise BadCall(f"epic {epic.id!r} has an orchestrator already, {member.id!r}")
        now = desk.clock()
        agent_id = f"orchestrator-{epic.id}"
        if await desk.store.find_member(desk.tenant, agent_id) is not None:  # at another epic now
            agent_id = f"{agent_id}-{desk.new_id()[-8:]}"
        agent = Agent(
            id=agent_id,
            tenant=desk.tenant,
            type=AgentType.ORCHESTRATOR,
            epic=epic.id,
            created=now,
        )
        event = agent_created(agent, desk.new_id())
        # writing the epic, too, so that of two who do this at once one looks again
        touched = replace(epic, updated=now)
        answer: Result = {"agentId": agent.id, "epicId": epic.id, "timestamp": iso(now)}
        change = Change(agents=(agent,), epics=(touched,), events=(event,))
        return await desk.write(change, answer)

    return await done_once(desk, attempt)


async def _recover(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        await desk.require_working()
        orchestrator = await _orchestrator(desk, arguments)
        now = desk.clock()
        epic = orchestrator.epic
        tasks = await desk.store.tasks(desk.tenant, epic=epic) if epic else ()
        lost = [
            task for task in tasks if task.state not in DONE and task.state is not TaskState.PENDING
        ]
        reset = [replace(moved(task, TaskState.PENDING, now), attempts=0) for task in lost]
        idle = replace(free(orchestrator, now), paused="", crashes=0, state=AgentState.IDLE)
        at_them = await workers_at(desk, lost)
        changed = [(orchestrator, idle), *((worker, free(worker, now)) for _, worker in at_them)]
        me = await desk.me() if desk.is_agent else None
        mail, sent = mail_to(
            desk,
            me,
            "",
            f"Recovered orchestrator {orchestrator.id}",
            f"Epic {orchestrator.epic or 'none'}: {len(reset)} unfinished tasks are PENDING again,"
            f" and {len(changed) - 1} workers are free.",
        )
        events = [
            *(task_updated(desk, old, new) for old, new in zip(lost, reset, strict=True)),
            *agents_changed(desk, now, *changed),
            sent,
        ]
        change = Change(
            tasks=tuple(reset),
            members=tuple(new for _, new in changed),
            mails=(mail,),
            events=tuple(events),
        )
        answer: Result = {
            "agentId": orchestrator.id,
            "epicId": orchestrator.epic or None,
            "tasksReset": len(reset),
            "workersFreed": len(changed) - 1,
            "timestamp": iso(now),
        }
        return await desk.write(change, answer)

    return await done_once(desk, attempt)


async def _pause_agent(desk: Desk, arguments: Arguments) -> Result:
    agent_id = arguments.text("agentId")
    if agent_id in [agent.name for agent in desk.agents]:
        raise BadCall("nobody pauses itself: there would be nobody to resume it")
    reason = arguments.text("reason")
    return await _set_pause(desk, agent_id, reason)


async def _resume_agent(desk: Desk, arguments: Arguments) -> Result:
    return await _set_pause(desk, arguments.text("agentId"), "")


async def _set_pause(desk: Desk, agent_id: str, paused: str) -> Result:
    async def attempt() -> Result:
        await desk.require_working()  # or who is paused would resume itself
        member = await desk.agent(agent_id)
        state = AgentState.WAITING if paused else await resting_or_at_work(desk, member)
        if (member.paused, member.state) == (paused, state):
            return _paused(member)
        now = desk.clock()
        after = replace(member, paused=paused, state=state, updated=now)
        events = tuple(agents_changed(desk, now, (member, after)))
        return await desk.write(Change(members=(after,), events=events), _paused(after))

    return await done_once(desk, attempt)


def _paused(member: Member) -> Result:
    return {
        "agentId": member.id,
        "state": member.state.value,
        "paused": bool(member.paused),
        "reason": member.paused or None,
        "updatedAt": iso(member.updated),
    }


async def _reassign_task(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        await desk.require_working()
        task = await desk.task(arguments.text("taskId"))
        worker = await desk.agent(arguments.text("agentId"))
        if task.state is TaskState.COMPLETED:
            raise BadCall(f"task {task.id!r} is COMPLETED, and nobody's any more")
        now = desk.clock()
        before = await desk.store.find_member(desk.tenant, task.assigned)
        if task.assigned == worker.id and worker.task == task.id:
            return {**moved_result(task), "agentId": worker.id, "previousAgentId": worker.id}
        await require_fit(desk, worker, task)
        await require_open(desk, task)
        after = replace(moved(task, TaskState.ASSIGNED, now), assigned=worker.id)
        if task.state is TaskState.FAILED:  # it begins anew, as after a recovery
            after = replace(after, attempts=0, failure_reason="")
        changed = [(worker, at_work(worker, after, now))]
        if before is not None and before.id != worker.id and before.task == task.id:
            changed.append((before, free(before, now)))
        event = task_assigned(desk, task, after)
        events = (event, *agents_changed(desk, now, *changed))
        members = tuple(new for _, new in changed)
        answer: Result = {
            **moved_result(after),
            "agentId": worker.id,
            "previousAgentId": task.assigned or None,
        }
        change = Change(tasks=(after,), open_epics=(task.epic,), members=members, events=events)
        return await desk.write(change, answer)

    return await done_once(desk, attempt)


_AGENT: Final = text("The id of the agent", 200)
_HEALTH: Final[dict[str, Schema]] = {
    "agentId": TEXT,
    "epicId": TEXT_OR_NULL,
    "state": AGENT_STATES,
    "healthy": FLAG,
    "minutesSinceActivity": COUNT,
    "lastActiveAt": TEXT_OR_NULL,
    "paused": FLAG,
}
_PAUSED: Final = record(
    agentId=TEXT, state=AGENT_STATES, paused=FLAG, reason=TEXT_OR_NULL, updatedAt=TEXT
)
_LOOK: Final = Hints(read_only=True, idempotent=True)

ORCHESTRATOR_TOOLS: Final = (
    Tool(
        name="list",
        title="List orchestrators",
        description="List every orchestrator, with its epic and whether it is healthy.",
        takes=given({}),
        gives=record(count=COUNT, orchestrators=list_of(record(**_HEALTH))),
        hints=_LOOK,
        run=_list,
    ),
    Tool(
        name="create",
        title="Register an orchestrator",
        description=(
            "Register the orchestrator of an epic that has none. Whoever starts its program makes"
            " it a key: `remit keys create NAME --agent ID`."
        ),
        takes=given({"epicId": text("The id of the epic", 100)}, ["epicId"]),
        gives=record(agentId=TEXT, epicId=TEXT, timestamp=TEXT),
        hints=Hints(),
        run=_create,
    ),
    Tool(
        name="check_health",
        title="Is an orchestrator healthy",
        description="Say whether an orchestrator was active lately: in the last 7 minutes, mostly.",
        takes=given({"agentId": _AGENT}, ["agentId"]),
        gives=record(**_HEALTH),
        hints=_LOOK,
        run=_check_health,
    ),
    Tool(
        name="recover",
        title="Recover an orchestrator",
        description=(
            "Begin an epic's work anew after its orchestrator was lost: its unfinished tasks are"
            " PENDING again, their workers are free, and the human gets mail."
        ),
        takes=given({"agentId": _AGENT}, ["agentId"]),
        gives=record(
            agentId=TEXT,
            epicId=TEXT_OR_NULL,
            tasksReset=COUNT,
            workersFreed=COUNT,
            timestamp=TEXT,
        ),
        hints=Hints(destructive=True),
        run=_recover,
    ),
)
"""The tools of `orchestrator`."""

SUPERVISOR_TOOLS: Final = (
    Tool(
        name="pause_agent",
        title="Pause an agent",
        description=(
            "Let an agent rest: it is given no task and can move none, but it can read and send"
            " mail."
        ),
        takes=given(
            {"agentId": _AGENT, "reason": text("Why", 1000, pattern=r"\S")}, ["agentId", "reason"]
        ),
        gives=_PAUSED,
        hints=Hints(idempotent=True),
        run=_pause_agent,
    ),
    Tool(
        name="resume_agent",
        title="Resume an agent",
        description="Let an agent that was paused go on.",
        takes=given({"agentId": _AGENT}, ["agentId"]),
        gives=_PAUSED,
        hints=Hints(idempotent=True),
        run=_resume_agent,
    ),
    Tool(
        name="reassign_task",
        title="Give a task to another worker",
        description=(
            "Take a task from whoever has it and give it to another worker; it is ASSIGNED again."
        ),
        takes=given({"taskId": task_id(), "agentId": _AGENT}, ["taskId", "agentId"]),
        gives=record(
            taskId=TEXT,
            agentId=TEXT,
            previousAgentId=TEXT_OR_NULL,
            state=TASK_STATES,
            updatedAt=TEXT,
        ),
        hints=Hints(destructive=True, idempotent=True),
        run=_reassign_task,
    ),
)
"""The tools of `supervisor`."""

"""How tasks and epics move, and what that makes of the agent that has a task (S3.35)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from remit.crew.desk import Desk
from remit.errors import BadCall, InvalidAgentState
from remit.model.crew import (
    AT_WORK,
    EPIC_MOVES,
    TASK_MOVES,
    AgentState,
    Comment,
    CrewEvent,
    Epic,
    EpicState,
    Member,
    Task,
    TaskState,
)

State = TypeVar("State", TaskState, EpicState)


def require_move(task: Task, state: TaskState) -> None:
    """Let a task move.

    Raises:
        BadCall: There is no such way; the text says which ones there are.
    """
    _require_way(f"task {task.id!r}", task.state, state, TASK_MOVES)


def require_epic_move(epic: Epic, state: EpicState) -> None:
    """Let an epic move.

    Raises:
        BadCall: As `require_move` says.
    """
    _require_way(f"epic {epic.id!r}", epic.state, state, EPIC_MOVES)


def _require_way(
    what: str, before: State, after: State, moves: Mapping[State, frozenset[State]]
) -> None:
    ways = moves[before]
    if after not in ways:
        known = ", ".join(each for each in type(after) if each in ways) or "nothing: it is final"
        raise BadCall(f"{what} is {before} and cannot become {after}; what may follow: {known}")


def moved(task: Task, state: TaskState, now: datetime) -> Task:
    """Return the task in another state, with what the move says of it."""
    task = replace(task, state=state, updated=now)
    match state:
        case TaskState.PENDING:
            return replace(task, assigned="", submitted=None)
        case TaskState.REVIEW:
            return replace(task, submitted=now)
        case TaskState.COMPLETED:
            return replace(task, completed=now)
        case TaskState.IN_PROGRESS:
            return replace(task, failure_reason="")
        case _:
            return task


def at_work(member: Member, task: Task, now: datetime) -> Member:
    """Return the agent that has *task*, at what it is now.

    Raises:
        InvalidAgentState: It has another task.
    """
    state = AT_WORK.get(task.state)
    if state is None:
        if member.task != task.id:
            return member
        return replace(member, task="", state=_resting(member), updated=now)
    if member.task not in ("", task.id):
        raise InvalidAgentState(f"agent {member.id!r} is at another task, {member.task!r}")
    state = AgentState.WAITING if member.paused else state
    if (member.task, member.state) == (task.id, state):
        return member
    return replace(member, task=task.id, state=state, updated=now)


async def workers_at(desk: Desk, tasks: Sequence[Task]) -> Sequence[tuple[Task, Member]]:
    """Return those of *tasks* that an agent is at, each with that agent."""
    found: list[tuple[Task, Member]] = []
    for task in tasks:
        worker = await desk.store.find_member(desk.tenant, task.assigned)
        if worker is not None and worker.task == task.id:
            found.append((task, worker))
    return found


def free(member: Member, now: datetime) -> Member:
    """Return the agent without a task."""
    return replace(member, task="", state=_resting(member), updated=now)


def _resting(member: Member) -> AgentState:
    return AgentState.WAITING if member.paused else AgentState.IDLE


async def resting_or_at_work(desk: Desk, member: Member) -> AgentState:
    """Return what an agent that is not paused is at: its task, if it has one, or nothing."""
    task = await desk.store.find_task(desk.tenant, member.task) if member.task else None
    return AgentState.IDLE if task is None else AT_WORK.get(task.state, AgentState.IDLE)


def comment_on(desk: Desk, task: Task, body: str, now: datetime) -> Comment:
    """Return what whoever acts says about a task."""
    return Comment(
        id=desk.new_id(),
        tenant=desk.tenant,
        task=task.id,
        author=desk.principal.subject,
        body=body,
        created=now,
    )


def task_assigned(desk: Desk, before: Task, after: Task) -> CrewEvent:
    """Return the event of a task that was given to somebody."""
    return desk.event(
        "task.assigned",
        after.updated,
        taskId=after.id,
        epicId=after.epic,
        agentId=after.assigned,
        previousAgentId=before.assigned or None,
    )


def task_updated(desk: Desk, before: Task, after: Task) -> CrewEvent:
    """Return the event of a task that moved."""
    return desk.event(
        "task.updated",
        after.updated,
        taskId=after.id,
        epicId=after.epic,
        state=after.state.value,
        previousState=before.state.value,
        assignedAgentId=after.assigned or None,
    )


def agents_changed(desk: Desk, now: datetime, *pairs: tuple[Member, Member]) -> Sequence[CrewEvent]:
    """Return the events of agents that are at something else now; pairs of before and after."""
    return [
        desk.event(
            "agent.state.changed",
            now,
            agentId=after.id,
            state=after.state.value,
            previousState=before.state.value,
        )
        for before, after in pairs
        if before.state is not after.state
    ]

"""How a task moves, and what that makes of the agent that has it (S3.35)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from remit.crew.desk import Desk
from remit.errors import BadCall, InvalidAgentState
from remit.model.crew import (
    AT_WORK,
    TASK_MOVES,
    AgentState,
    CrewEvent,
    Member,
    Task,
    TaskState,
)


def require_move(task: Task, state: TaskState) -> None:
    """Let a task move.

    Raises:
        BadCall: There is no such way; the text says which ones there are.
    """
    ways = TASK_MOVES[task.state]
    if state not in ways:
        known = ", ".join(each for each in TaskState if each in ways) or "nothing: it is final"
        raise BadCall(
            f"task {task.id!r} is {task.state} and cannot become {state}; what may follow: {known}"
        )


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


def free(member: Member, now: datetime) -> Member:
    """Return the agent without a task."""
    return replace(member, task="", state=_resting(member), updated=now)


def _resting(member: Member) -> AgentState:
    return AgentState.WAITING if member.paused else AgentState.IDLE


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

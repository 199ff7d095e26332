"""Tasks: making them, giving them to workers, and moving them on (S3.33, S3.35)."""

from dataclasses import replace
from typing import Final

from remit.crew.desk import Desk, done_once, require_unpaused
from remit.crew.listing import WHICH, get_task, list_tasks
from remit.crew.moves import (
    agents_changed,
    at_work,
    comment_on,
    moved,
    require_move,
    task_assigned,
    task_updated,
)
from remit.crew.outputs import (
    TASK,
    TASK_MOVED,
    TASK_STATES,
    TASKS,
    Result,
    iso,
    moved_result,
)
from remit.errors import BadCall, InvalidAgentState, NotYours
from remit.model.crew import ENDED, Change, Member, Task, TaskState
from remit.model.principals import AgentType
from remit.servers.arguments import Arguments
from remit.servers.shapes import LONGEST_TEXT, TEXT, given, record, text
from remit.servers.toolbox import Hints, Tool


async def _create(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        await desk.require_working()
        epic = await desk.epic(arguments.find_text("epicId"))
        if epic.state in ENDED:
            raise BadCall(f"epic {epic.id!r} is {epic.state}, and takes no more tasks")
        now = desk.clock()
        task = Task(
            id=desk.new_id(),
            tenant=desk.tenant,
            epic=epic.id,
            title=arguments.text("title"),
            description=arguments.text("description"),
            created=now,
            updated=now,
        )
        event = desk.event("task.created", now, taskId=task.id, epicId=task.epic, title=task.title)
        answer: Result = {
            "taskId": task.id,
            "epicId": task.epic,
            "state": task.state.value,
            "timestamp": iso(now),
        }
        change = Change(tasks=(task,), open_epics=(epic.id,), events=(event,))
        return await desk.write(change, answer)

    return await done_once(desk, attempt)


async def _assign(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        await desk.require_working()
        task = await desk.task(arguments.text("taskId"))
        worker = await desk.agent(arguments.text("agentId"))
        if task.assigned == worker.id and worker.task == task.id:
            return _assigned(task)  # it has it already, and may have begun
        require_move(task, TaskState.ASSIGNED)
        await require_fit(desk, worker, task)
        await require_open(desk, task)
        now = desk.clock()
        after = replace(moved(task, TaskState.ASSIGNED, now), assigned=worker.id)
        busy = at_work(worker, after, now)
        event = task_assigned(desk, task, after)
        changed = agents_changed(desk, now, (worker, busy))
        change = Change(
            tasks=(after,),
            open_epics=(task.epic,),
            members=(busy,),
            events=(event, *changed),
        )
        return await desk.write(change, _assigned(after))

    return await done_once(desk, attempt)


def _assigned(task: Task) -> Result:
    return {**moved_result(task), "agentId": task.assigned}


async def require_fit(desk: Desk, worker: Member, task: Task) -> None:
    """Let a worker be given a task.

    Raises:
        InvalidAgentState: It is no worker, is paused, has another task, or is another epic's.
    """
    if worker.type is not AgentType.WORKER:
        raise InvalidAgentState(f"agent {worker.id!r} is no WORKER")
    require_unpaused(worker)
    if worker.task and worker.task != task.id:
        raise InvalidAgentState(f"agent {worker.id!r} is at another task, {worker.task!r}")
    if worker.epic and worker.epic != task.epic and not desk.rules_all:
        raise InvalidAgentState(f"agent {worker.id!r} works on another epic, {worker.epic!r}")


async def require_open(desk: Desk, task: Task) -> None:
    """Let a task be begun, or begun again.

    Raises:
        BadCall: Its epic has ended.
    """
    epic = await desk.store.find_epic(desk.tenant, task.epic)
    if epic is None or epic.state in ENDED:
        what = "gone" if epic is None else epic.state
        raise BadCall(f"epic {task.epic!r} is {what}, and nobody works on its tasks any more")


def _require_reviewer(desk: Desk, task: Task, state: TaskState) -> None:
    """Let only others say that a worker's task is done: approving is its manager's (S3.37).

    Raises:
        NotYours: A worker approves its own work, be it by acting for another.
    """
    is_worker = any(agent.agent_type is AgentType.WORKER for agent in desk.agents)
    if state is TaskState.COMPLETED and is_worker:
        raise NotYours(
            f"task {task.id!r} is in REVIEW: whoever runs its epic approves it, and not its worker"
        )


async def _update_status(desk: Desk, arguments: Arguments) -> Result:
    state = TaskState(arguments.text("state"))
    reason = arguments.text("failureReason")
    if reason and state is not TaskState.FAILED:
        raise BadCall("failureReason goes with the state FAILED")

    async def attempt() -> Result:
        await desk.require_working()
        task = await desk.task(arguments.find_text("taskId"))
        require_move(task, state)
        if state is TaskState.ASSIGNED:
            raise BadCall("a task becomes ASSIGNED by assigning it to an agent, with task__assign")
        if not task.assigned:
            raise BadCall(
                f"task {task.id!r} is assigned to nobody, so that nobody can work on it;"
                " task__assign gives one that is PENDING to a worker, and a SUPERVISOR any other"
                " with supervisor__reassign_task"
            )
        _require_reviewer(desk, task, state)
        again = task.state is TaskState.FAILED
        if again:
            await require_open(desk, task)
        now = desk.clock()
        after = _with_places(moved(task, state, now), arguments)
        after = replace(after, failure_reason=reason or after.failure_reason)
        more = Change(open_epics=(task.epic,) if again else ())
        return await write_move(desk, task, after, moved_result(after), more)

    return await done_once(desk, attempt)


def _with_places(task: Task, arguments: Arguments) -> Task:
    return replace(
        task,
        worktree_path=arguments.text("worktreePath", task.worktree_path),
        branch_name=arguments.text("branchName", task.branch_name),
        pr_url=arguments.text("prUrl", task.pr_url),
    )


async def write_move(
    desk: Desk, task: Task, after: Task, answer: Result, more: Change | None = None
) -> Result:
    """Write a task that moved, with what its worker is at now, and *more*; return *answer*.

    Raises:
        Outdated: One of the two was changed meanwhile.
        InvalidAgentState: The worker has another task by now.
    """
    more = more or Change()
    worker = await desk.store.find_member(desk.tenant, task.assigned)
    members = more.members
    events = (task_updated(desk, task, after), *more.events)
    if worker is not None:
        at = at_work(worker, after, after.updated)
        if at is not worker:
            members = (*members, at)
            events = (*events, *agents_changed(desk, after.updated, (worker, at)))
    change = replace(more, tasks=(after,), members=members, events=events)
    return await desk.write(change, answer)


async def _add_comment(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        task = await desk.task(arguments.find_text("taskId"))
        now = desk.clock()
        comment = comment_on(desk, task, arguments.text("body"), now)
        event = desk.event(
            "task.updated", now, taskId=task.id, epicId=task.epic, commentId=comment.id
        )
        answer: Result = {
            "commentId": comment.id,
            "taskId": task.id,
            "timestamp": iso(now),
        }
        return await desk.write(Change(comments=(comment,), events=(event,)), answer)

    return await done_once(desk, attempt)


def task_id(*, own: bool = False) -> dict[str, object]:
    """Return the argument that names a task."""
    return text("The id of the task" + ("; without it, yours" if own else ""), 100)


def epic_id() -> dict[str, object]:
    """Return the argument that names an epic."""
    return text("The id of the epic; without it, yours", 100)


TITLE: Final = text("What it is, in one line", 1000, pattern=r"\S")
DESCRIPTION: Final = text("What is to be done, and when it is done", LONGEST_TEXT, pattern=r"\S")

TASK_TOOLS: Final = (
    Tool(
        name="create",
        title="Make a task",
        description="Make a task of an epic. It is PENDING until it is assigned to a worker.",
        takes=given(
            {"title": TITLE, "description": DESCRIPTION, "epicId": epic_id()},
            ["title", "description"],
        ),
        gives=record(taskId=TEXT, epicId=TEXT, state=TASK_STATES, timestamp=TEXT),
        hints=Hints(),
        run=_create,
    ),
    Tool(
        name="assign",
        title="Assign a task",
        description=(
            "Give a PENDING task to a worker that has none. Of two who assign one task at once,"
            " one is told that it was too late."
        ),
        takes=given(
            {"taskId": task_id(), "agentId": text("The worker", 200)}, ["taskId", "agentId"]
        ),
        gives=record(taskId=TEXT, agentId=TEXT, state=TASK_STATES, updatedAt=TEXT),
        hints=Hints(idempotent=True),
        run=_assign,
    ),
    Tool(
        name="update_status",
        title="Move a task on",
        description=(
            "Say where your task stands now: IN_PROGRESS when you begin, REVIEW when you are done,"
            " BLOCKED when you wait for somebody, FAILED (with failureReason) when it cannot be"
            " done. Say where the work is with branchName, worktreePath and prUrl."
        ),
        takes=given(
            {
                "state": {**TASK_STATES, "description": "Where it stands now"},
                "taskId": task_id(own=True),
                "failureReason": text("Why it failed", LONGEST_TEXT),
                "branchName": text("The branch that the work is on", 1000),
                "worktreePath": text("The folder that the work is in"),
                "prUrl": text("The pull request"),
            },
            ["state"],
        ),
        gives=TASK_MOVED,
        hints=Hints(),
        run=_update_status,
    ),
    Tool(
        name="add_comment",
        title="Comment on a task",
        description="Write something down with a task, for whoever works on it or reviews it.",
        takes=given(
            {
                "body": text("What you have to say", LONGEST_TEXT, pattern=r"\S"),
                "taskId": task_id(own=True),
            },
            ["body"],
        ),
        gives=record(commentId=TEXT, taskId=TEXT, timestamp=TEXT),
        hints=Hints(),
        run=_add_comment,
    ),
    Tool(
        name="list",
        title="List tasks",
        description=(
            "List the tasks of an epic, oldest first. A long list ends early: go on with what"
            " next says."
        ),
        takes=given({"epicId": epic_id(), **WHICH}),
        gives=TASKS,
        hints=Hints(read_only=True, idempotent=True),
        run=list_tasks,
    ),
    Tool(
        name="get",
        title="One task",
        description=(
            "Return a task with what was said about it; of very much the last, and commentCount"
            " counts all."
        ),
        takes=given({"taskId": task_id()}, ["taskId"]),
        gives=TASK,
        hints=Hints(read_only=True, idempotent=True),
        run=get_task,
    ),
)
"""The tools of `task`."""

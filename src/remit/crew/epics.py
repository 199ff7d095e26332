"""Epics, and the review of their tasks (S3.32, S3.37)."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from remit.crew.desk import Desk, done_once
from remit.crew.listing import WHICH, list_tasks_of_epic, review_queue
from remit.crew.mailbox import mail_to
from remit.crew.moves import (
    agents_changed,
    comment_on,
    free,
    moved,
    require_epic_move,
    task_updated,
    workers_at,
)
from remit.crew.outputs import (
    EPIC_STATES,
    TASK_MOVED,
    TASK_STATES,
    TASKS,
    Result,
    iso,
    moved_result,
)
from remit.crew.tasks import (
    DESCRIPTION,
    TITLE,
    epic_id,
    task_id,
    write_move,
)
from remit.errors import BadCall, InvalidAgentState
from remit.model.crew import (
    DONE,
    ENDED,
    Change,
    CrewEvent,
    Epic,
    EpicState,
    Mail,
    Member,
    Task,
    TaskState,
)
from remit.model.principals import AgentType
from remit.servers.arguments import Arguments
from remit.servers.shapes import LONGEST_TEXT, TEXT, given, record, text
from remit.servers.toolbox import Hints, Tool


async def _create(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        await desk.require_working()
        runner = await _runner(desk)
        now = desk.clock()
        epic = Epic(
            id=desk.new_id(),
            tenant=desk.tenant,
            title=arguments.text("title"),
            description=arguments.text("description"),
            linear_issue_id=arguments.text("linearIssueId"),
            linear_issue_url=arguments.text("linearIssueUrl"),
            created=now,
            updated=now,
        )
        event = desk.event("epic.created", now, epicId=epic.id, title=epic.title)
        members = () if runner is None else (replace(runner, epic=epic.id, updated=now),)
        answer: Result = {
            "epicId": epic.id,
            "state": epic.state.value,
            "timestamp": iso(now),
        }
        return await desk.write(Change(epics=(epic,), members=members, events=(event,)), answer)

    return await done_once(desk, attempt)


async def _runner(desk: Desk) -> Member | None:
    """Return the orchestrator that will run the epic it makes, or None.

    Raises:
        InvalidAgentState: It runs one already.
    """
    if desk.rules_all:
        return None
    me = await desk.me()
    if me.type is not AgentType.ORCHESTRATOR:
        return None
    runs = await desk.store.find_epic(desk.tenant, me.epic) if me.epic else None
    if runs is not None and runs.state not in ENDED:
        raise InvalidAgentState(f"agent {me.id!r} runs an epic already, {runs.id!r}")
    return me


async def _update_status(desk: Desk, arguments: Arguments) -> Result:
    state = EpicState(arguments.text("state"))

    async def attempt() -> Result:
        await desk.require_working()
        epic = await desk.epic(arguments.find_text("epicId"))
        require_epic_move(epic, state)
        now = desk.clock()
        after = replace(epic, state=state, updated=now)
        events: list[CrewEvent] = []
        ended = Change()
        if state is EpicState.CANCELLED:
            ended = await _given_up(desk, epic, now)
        if state is EpicState.COMPLETED:
            await _require_no_work_left(desk, epic)
            after = replace(after, completed=now)
            events = [
                desk.event("agent.completed", now, agentId=each.id, epicId=epic.id)
                for each in await desk.store.members(
                    desk.tenant, of_type=AgentType.ORCHESTRATOR, epic=epic.id
                )
            ]
        event = desk.event(
            "epic.updated",
            now,
            epicId=epic.id,
            state=state.value,
            previousState=epic.state.value,
        )
        answer: Result = {"epicId": epic.id, "state": state.value, "updatedAt": iso(now)}
        events = [event, *events, *ended.events]
        return await desk.write(replace(ended, epics=(after,), events=tuple(events)), answer)

    return await done_once(desk, attempt)


async def _given_up(desk: Desk, epic: Epic, now: datetime) -> Change:
    """End what is left of an epic that is cancelled: tasks are FAILED, workers free, and told so.

    They could not be freed later: nothing moves in an epic that has ended (S3.41).
    """
    reason = f"epic {epic.id} was cancelled"
    left = [
        task for task in await desk.store.tasks(desk.tenant, epic=epic.id) if task.state not in DONE
    ]
    failed = [replace(moved(task, TaskState.FAILED, now), failure_reason=reason) for task in left]
    events = [task_updated(desk, old, new) for old, new in zip(left, failed, strict=True)]
    me = await desk.me() if desk.is_agent else None
    members: list[Member] = []
    mails: list[Mail] = []
    for task, worker in await workers_at(desk, left):
        members.append(free(worker, now))
        subject = f"Your task was given up: {task.title}"[:1000]
        mail, sent = mail_to(desk, me, worker.id, subject, f"Task {task.id}: {reason}.")
        mails.append(mail)
        events += [*agents_changed(desk, now, (worker, members[-1])), sent]
    return Change(
        tasks=tuple(failed), members=tuple(members), mails=tuple(mails), events=tuple(events)
    )


async def _require_no_work_left(desk: Desk, epic: Epic) -> None:
    left = [
        task.id
        for task in await desk.store.tasks(desk.tenant, epic=epic.id)
        if task.state not in DONE
    ]
    if left:
        shown = ", ".join(left[:5]) + (" and more" if len(left) > 5 else "")  # noqa: PLR2004 - enough to go on
        raise BadCall(f"epic {epic.id!r} has {len(left)} tasks that are not done: {shown}")


async def _in_review(desk: Desk, arguments: Arguments) -> Task:
    await desk.require_working()
    task = await desk.task(arguments.text("taskId"))
    if task.state is not TaskState.REVIEW:
        raise BadCall(f"task {task.id!r} is {task.state}, and not in REVIEW")
    return task


async def _approve_task(desk: Desk, arguments: Arguments) -> Result:
    async def attempt() -> Result:
        task = await _in_review(desk, arguments)
        after = moved(task, TaskState.COMPLETED, desk.clock())
        return await write_move(desk, task, after, moved_result(after))

    return await done_once(desk, attempt)


async def _request_changes(desk: Desk, arguments: Arguments) -> Result:
    feedback = arguments.text("feedback")

    async def attempt() -> Result:
        task = await _in_review(desk, arguments)
        sender = await desk.me() if desk.is_agent else None
        mail, sent = mail_to(
            desk, sender, task.assigned, f"Changes wanted: {task.title}"[:1000], feedback
        )
        now = mail.created
        comment = comment_on(desk, task, feedback, now)
        after = moved(task, TaskState.IN_PROGRESS, now)
        more = Change(mails=(mail,), comments=(comment,), events=(sent,))
        answer: Result = {**moved_result(after), "mailId": mail.id}
        return await write_move(desk, task, after, answer, more)

    return await done_once(desk, attempt)


EPIC_TOOLS: Final = (
    Tool(
        name="create",
        title="Make an epic",
        description=(
            "Make an epic: a piece of work that is split into tasks. An orchestrator that runs"
            " none runs it from now on."
        ),
        takes=given(
            {
                "title": TITLE,
                "description": DESCRIPTION,
                "linearIssueId": text("The issue that it comes from; one epic for each", 200),
                "linearIssueUrl": text("Where that issue is"),
            },
            ["title", "description"],
        ),
        gives=record(epicId=TEXT, state=EPIC_STATES, timestamp=TEXT),
        hints=Hints(),
        run=_create,
    ),
    Tool(
        name="update_status",
        title="Move an epic on",
        description=(
            "Say where an epic stands now. COMPLETED is possible once every task of it is"
            " COMPLETED or FAILED; CANCELLED ends those that are not, and their workers are free."
        ),
        takes=given(
            {
                "state": {**EPIC_STATES, "description": "Where it stands now"},
                "epicId": epic_id(),
            },
            ["state"],
        ),
        gives=record(epicId=TEXT, state=EPIC_STATES, updatedAt=TEXT),
        hints=Hints(),
        run=_update_status,
    ),
    Tool(
        name="list_tasks",
        title="List an epic's tasks",
        description=(
            "List the tasks of an epic, oldest first. A long list ends early: go on with what"
            " next says."
        ),
        takes=given({"epicId": epic_id(), **WHICH}),
        gives=TASKS,
        hints=Hints(read_only=True, idempotent=True),
        run=list_tasks_of_epic,
    ),
    Tool(
        name="get_review_queue",
        title="What waits for review",
        description="List the tasks of an epic that are in REVIEW, in the order of submission.",
        takes=given({"epicId": epic_id(), "after": WHICH["after"]}),
        gives=TASKS,
        hints=Hints(read_only=True, idempotent=True),
        run=review_queue,
    ),
    Tool(
        name="approve_task",
        title="Approve a task",
        description="Accept a task that is in REVIEW: it is COMPLETED, and its worker is free.",
        takes=given({"taskId": task_id()}, ["taskId"]),
        gives=TASK_MOVED,
        hints=Hints(),
        run=_approve_task,
    ),
    Tool(
        name="request_changes",
        title="Request changes",
        description=(
            "Send a task that is in REVIEW back to its worker: it is IN_PROGRESS again, and the"
            " worker gets your feedback as mail."
        ),
        takes=given(
            {
                "taskId": task_id(),
                "feedback": text("What has to change", LONGEST_TEXT, pattern=r"\S"),
            },
            ["taskId", "feedback"],
        ),
        gives=record(taskId=TEXT, state=TASK_STATES, updatedAt=TEXT, mailId=TEXT),
        hints=Hints(),
        run=_request_changes,
    ),
)
"""The tools of `epic`."""

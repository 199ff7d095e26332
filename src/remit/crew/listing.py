"""Lists of tasks, and one task with what was said about it; none of them is of any size."""

from typing import Final

from remit.crew.desk import Desk
from remit.crew.outputs import (
    TASK_STATES,
    Result,
    comment_result,
    task_result,
    tasks_result,
)
from remit.errors import BadCall
from remit.model.crew import TaskState
from remit.servers.arguments import Arguments
from remit.servers.shapes import Schema, text

MOST_TASKS: Final = 1000
"""Tasks of one answer, the oldest of those that are asked for."""

MOST_COMMENTS: Final = 1000
"""Comments of one answer, the newest."""

WHICH: Final[dict[str, Schema]] = {
    "state": {**TASK_STATES, "description": "Only those in this state"},
    "after": text("Go on after this task: what `next` was in the answer before", 100),
}
"""What a list may be asked for, beside its epic."""


async def list_tasks(desk: Desk, arguments: Arguments) -> Result:
    """Return tasks of one epic; without an id of every epic within reach."""
    wanted = arguments.find_text("epicId")
    epic = None if desk.rules_all and wanted is None else (await desk.epic(wanted)).id
    return await _listed(desk, arguments, epic, _state_of(arguments))


async def list_tasks_of_epic(desk: Desk, arguments: Arguments) -> Result:
    """Return tasks of one epic."""
    epic = await desk.epic(arguments.find_text("epicId"))
    return await _listed(desk, arguments, epic.id, _state_of(arguments))


async def review_queue(desk: Desk, arguments: Arguments) -> Result:
    """Return tasks of an epic that are in REVIEW, in the order of submission."""
    epic = await desk.epic(arguments.find_text("epicId"))
    return await _listed(desk, arguments, epic.id, TaskState.REVIEW, by_submission=True)


async def get_task(desk: Desk, arguments: Arguments) -> Result:
    """Return a task with what was said about it last."""
    task = await desk.task(arguments.text("taskId"))
    said = await desk.store.comments(desk.tenant, task.id, limit=MOST_COMMENTS)
    return {
        **task_result(task),
        "commentCount": await desk.store.count_comments(desk.tenant, task.id),
        "comments": [comment_result(each) for each in said],
    }


def _state_of(arguments: Arguments) -> TaskState | None:
    state = arguments.find_text("state")
    return None if state is None else TaskState(state)


async def _listed(
    desk: Desk,
    arguments: Arguments,
    epic: str | None,
    state: TaskState | None,
    *,
    by_submission: bool = False,
) -> Result:
    after = arguments.text("after")
    if after:
        last = await desk.store.find_task(desk.tenant, after)
        if last is None or epic not in (None, last.epic):
            raise BadCall(f"after names no task of this list: {after!r}; begin again without it")
    tasks, is_more = await desk.store.listed_tasks(
        desk.tenant,
        epic=epic,
        state=state,
        by_submission=by_submission,
        after=after,
        limit=MOST_TASKS,
    )
    return tasks_result(tasks, is_more=is_more)

"""What an agent may know of itself: who it is, its task, its epic (S3.17-S3.19)."""

from typing import Final

from remit.crew.desk import Desk
from remit.crew.outputs import (
    AGENT,
    EPIC,
    OWN_TASK,
    Result,
    agent_result,
    epic_result,
    own_task_result,
)
from remit.errors import InvalidAgentState, NotFound
from remit.model.crew import Member, Task
from remit.model.principals import AgentType
from remit.servers.arguments import Arguments
from remit.servers.shapes import given
from remit.servers.toolbox import Hints, Tool


async def _get_status(desk: Desk, _: Arguments) -> Result:
    return agent_result(await desk.me())


async def _get_task(desk: Desk, _: Arguments) -> Result:
    me = await desk.me()
    if me.type is not AgentType.WORKER:
        raise InvalidAgentState(f"agent {me.id!r} is no WORKER, and has no task of its own")
    return own_task_result(await _task_of(desk, me))


async def _get_epic(desk: Desk, _: Arguments) -> Result:
    me = await desk.me()
    wanted = me.epic if me.type is not AgentType.WORKER else (await _task_of(desk, me)).epic
    if not wanted:
        raise InvalidAgentState(f"agent {me.id!r} has no current epic")
    epic = await desk.store.find_epic(desk.tenant, wanted)
    if epic is None:
        raise NotFound(f"there is no epic {wanted!r}")
    return epic_result(epic)


async def _task_of(desk: Desk, me: Member) -> Task:
    if not me.task:
        raise InvalidAgentState(f"agent {me.id!r} has no current task")
    task = await desk.store.find_task(desk.tenant, me.task)
    if task is None:
        raise NotFound(f"there is no task {me.task!r} any more")
    return task


_LOOK: Final = Hints(read_only=True, idempotent=True)

AGENT_TOOLS: Final = (
    Tool(
        name="get_status",
        title="Who you are",
        description="Return who you are, what you are at, and your current epic and task.",
        takes=given({}),
        gives=AGENT,
        hints=_LOOK,
        run=_get_status,
    ),
    Tool(
        name="get_task",
        title="Your task",
        description="Return the task that is assigned to you. For workers.",
        takes=given({}),
        gives=OWN_TASK,
        hints=_LOOK,
        run=_get_task,
    ),
    Tool(
        name="get_epic",
        title="Your epic",
        description="Return the epic that you run, or that your task belongs to.",
        takes=given({}),
        gives=EPIC,
        hints=_LOOK,
        run=_get_epic,
    ),
)
"""The tools of `agent`."""

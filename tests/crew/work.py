"""Epics and tasks, for tests of what becomes of them."""

from remit.testing.crew_gateway import CrewCaller


async def make_epic(boss: CrewCaller) -> str:
    """Make an epic, and return its id."""
    return (await boss.does("epic__create", title="Shop", description="d"))["epicId"]


async def make_task(boss: CrewCaller, epic: str, worker: CrewCaller | None = None) -> str:
    """Make a task, given to *worker* if there is one, and return its id."""
    made = await boss.does("task__create", title="Cart", description="d", epicId=epic)
    if worker is not None:
        await boss.does("task__assign", taskId=made["taskId"], agentId=worker.id)
    return made["taskId"]

"""A task group that lives as long as the body it serves."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


@asynccontextmanager
async def open_background() -> AsyncGenerator[TaskGroup]:
    """Give a task group whose tasks are cancelled when the body ends.

    An error of the body comes out as it is, not in a group: to whoever catches it, that there
    are tasks beside it is nothing.
    """
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # noqa: BLE001 - raised again below
            problem = error
        finally:
            tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem

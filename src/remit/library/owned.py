"""Work that goes on between two calls of an object's methods, and belongs to that object.

`start()` and `stop()` of a connection are called by whichever tasks its user has, while the
connection's scopes must be entered and left by one and the same task.
"""

import asyncio
from collections.abc import Awaitable, Callable

import anyio


class Owned:
    """One task, from its making until `end`, or until its work is done.

    Args:
        work: What it does; it answers for its own errors.
    """

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._scope = anyio.CancelScope()
        # No task group can be open from one call of a method to another one in a different task;
        # the owner is the object that holds this, and `end` waits.
        self._task = asyncio.get_running_loop().create_task(self._run(work))

    async def end(self) -> None:
        """Cancel the work and wait until it has cleaned up; cannot be cancelled itself."""
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([self._task])

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        with self._scope:
            await work()

"""Work that goes on until it is ended, in a task of a group that lives longer."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup


class Owned:
    """One task, from its making until `end`, or until its work is done.

    Args:
        tasks: Owns it, on the loop where it is made and ended.
        work: What it does; it answers for its own errors.
    """

    def __init__(self, tasks: TaskGroup, work: Callable[[], Awaitable[None]]) -> None:
        self._scope = anyio.CancelScope()
        self._over = anyio.Event()
        tasks.start_soon(self._run, work)

    async def end(self) -> None:
        """Cancel the work and wait until it has cleaned up; cannot be cancelled itself."""
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._over.wait()

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            with self._scope:
                await work()
        finally:
            self._over.set()

"""A caller of the modern era that goes away cancels its call, at almost no cost to the others."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup

NOTICE_AFTER: Final = 0.1
"""Seconds after which a call is watched; the many that are over by then cost a timer, no task."""


class Disconnects:
    """Watches the connections of calls that take their time; its task group owns the watchers."""

    def __init__(self) -> None:
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Watch while entered."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    @contextmanager
    def watching(self, gone: Callable[[], Awaitable[None]]) -> Generator[None]:
        """Cancel the block when *gone* returns, which it does when the client has left."""
        call = anyio.CancelScope()
        watcher: anyio.CancelScope | None = None

        async def watch(scope: anyio.CancelScope) -> None:
            with scope:
                await gone()
                call.cancel()

        def begin() -> None:
            nonlocal watcher
            if self._tasks is not None:
                watcher = anyio.CancelScope()
                self._tasks.start_soon(watch, watcher)

        timer = asyncio.get_running_loop().call_later(NOTICE_AFTER, begin)
        try:
            with call:
                yield
        finally:
            timer.cancel()
            if watcher is not None:
                watcher.cancel()

"""A caller of the modern era that goes away cancels its call, at almost no cost to the others."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Final, Protocol, Self

import anyio
from anyio.abc import TaskGroup

NOTICE_AFTER: Final = 0.1
"""Seconds after which a call is watched; the many that are over by then cost a timer, no task."""


class Client(Protocol):
    """Whoever waits for an answer."""

    @property
    def leaving(self) -> AbstractContextManager[object, bool] | None:
        """What cancels its block once it has left; None where `gone` has to be awaited."""
        ...

    async def gone(self) -> None:
        """Return when it has left."""
        ...


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

    def watch(self, client: Client) -> AbstractContextManager[object, bool]:
        """Cancel the block when the client has left; entered by the task that answers it."""
        return client.leaving or Watching(self, client)

    def start(self, watch: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin to watch a call that takes its time."""
        if self._tasks is not None:
            self._tasks.start_soon(watch)


class Watching:
    """One call under watch whose connection does not tell of its end itself.

    It costs a timer as long as the call is quick: no task and no cancel scope.
    """

    __slots__ = ("_client", "_left", "_owner", "_scope", "_task", "_timer")

    def __init__(self, owner: Disconnects, client: Client) -> None:
        self._owner = owner
        self._client = client
        self._scope: anyio.CancelScope | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._left = False
        self._task: asyncio.Task[object] | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._task = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(NOTICE_AFTER, self._begin)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """End; a cancellation of ours ends here, and so quietly."""
        if self._timer is not None:
            self._timer.cancel()
        if self._scope is not None:
            self._scope.cancel()
        ours = self._left and self._task is not None and self._task.uncancel() == 0
        self._task = None  # nobody cancels it any more, though the watcher be on its way
        return ours and kind is not None and issubclass(kind, asyncio.CancelledError)

    async def run(self) -> None:
        """Wait for the client to leave."""
        with anyio.CancelScope() as self._scope:
            await self._client.gone()
            self._left = self._task is not None and self._task.cancel()

    def _begin(self) -> None:
        self._owner.start(self.run)

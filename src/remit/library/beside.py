"""A resource on an event loop of its own, for programs that open and close it where they like.

    program's loop ──use()──▶ thread with a loop: async with resource ──▶ result

Connections are owned by task groups, which must be entered and left in one task (R27); a method
called `connect` can do neither for its caller. Here one task does both, and callers may come from
any loop, as each test of a suite has its own.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, Generic, TypeVar

import anyio
import anyio.to_thread
import structlog
from anyio.from_thread import BlockingPortal

from remit.errors import UpstreamUnavailable

log = structlog.get_logger(__name__)

LAST_MOMENT: Final = 10.0
"""Seconds that closing may take at the end of the program, where nobody closed it before."""

T = TypeVar("T")
R = TypeVar("R")


class Beside(Generic[T]):
    """Opens a resource when it is first used, and keeps it until `close`.

    What was never closed is closed when it is collected, or at the end of the program.

    Args:
        opening: Gives the resource; called once for each time that it is opened.
        name: Of the thread.
    """

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]], *, name: str) -> None:
        self._opening = opening
        self._name = name
        self._life: _Life[T] | None = None
        self._closing: _Life[T] | None = None
        self._turn = threading.Lock()

    async def use(self, function: Callable[[T], Awaitable[R]]) -> R:
        """Return what *function* makes of the resource, run where that lives.

        Whoever is cancelled meanwhile has cancelled the function, too.

        Raises:
            Exception: What the function raises, or what opening did; that is tried anew then.
            UpstreamUnavailable: It was closed meanwhile, or another process opened it.
        """
        return await (await self.begin(function))

    async def begin(self, function: Callable[[T], Awaitable[R]]) -> "asyncio.Future[R]":
        """Return once *function* is under way; cancelling the future cancels it.

        Raises:
            Exception: What opening did; that is tried anew then.
            UpstreamUnavailable: It was closed meanwhile, or another process opened it; the
                function did not begin.
        """
        life = self._begun()
        opened = asyncio.wrap_future(life.opened)
        opened.add_done_callback(_take_note)
        # Several may wait for it: none of them may take it from the others by leaving.
        portal, resource = await asyncio.shield(opened)
        try:
            return asyncio.wrap_future(portal.start_task_soon(life.run, function, resource))
        except RuntimeError as error:  # the portal's word for having ended
            raise UpstreamUnavailable("closed before it was used") from error

    async def use_if_open(self, function: Callable[[T], Awaitable[object]]) -> None:
        """Run *function* where the resource lives, unless it is closed, or is so meanwhile."""
        if self._life is not None and not self._life.has_failed:
            with suppress(UpstreamUnavailable):
                await self.use(function)

    async def close(self) -> None:
        """Close the resource; calls under way end. Harmless when it is not open.

        Returns when it is closed, whoever began that. What another process opened stays open.
        """
        with self._turn:
            life = self._life or self._closing
            if life is not None and life.is_here:
                self._life, self._closing = None, life
        if life is not None and life.is_here:
            life.end()
            await anyio.to_thread.run_sync(life.closed.result)

    def _begun(self) -> "_Life[T]":
        with self._turn:  # two loops may come at once
            if self._life is None or self._life.has_failed:
                self._life = _Life(self._opening)
                thread = self._life.start(self._name)
                weakref.finalize(self, _end, self._life, thread)
            if not self._life.is_here:
                # Its thread is not in this process: nobody would answer.
                raise UpstreamUnavailable(
                    "was opened before this process was forked, and works in the one that opened it"
                    " alone; make another one after the fork"
                )
            return self._life


class _Life(Generic[T]):
    """One time from opening to closing. It must not know its owner, whose end is its own."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._opening = opening
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = threading.Event()
        self._over: anyio.Event | None = None
        self.opened = Future[tuple[BlockingPortal, T]]()
        self.closed = Future[None]()

    @property
    def is_here(self) -> bool:
        """Whether it is this process that lives it, and no other that this one was forked from."""
        return self._process == os.getpid()

    @property
    def has_failed(self) -> bool:
        """Whether it never came to be, be it that nobody waited for it any more."""
        return self.opened.done() and self.opened.exception() is not None

    async def run(self, function: Callable[[T], Awaitable[R]], resource: T) -> R:
        """Return what *function* makes of the resource.

        Raises:
            UpstreamUnavailable: It is cancelled since this ends: to whoever waits for it, that
                must not look like a cancellation of its own.
        """
        try:
            return await function(resource)
        except anyio.get_cancelled_exc_class():
            if not self._ending.is_set():
                raise
            raise UpstreamUnavailable("closed while it was in use", sent=True) from None

    def start(self, name: str) -> threading.Thread:
        """Begin it, in a thread that does not keep the program from ending."""
        thread = threading.Thread(target=self._run, name=name, daemon=True)
        thread.start()
        return thread

    def end(self) -> None:
        """Let it end, from any thread and more than once."""
        if not self.is_here:
            return
        self._ending.set()
        loop, over = self._loop, self._over
        if loop is not None and over is not None:
            with suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(over.set)

    def _run(self) -> None:
        try:
            anyio.run(self._live)
        except Exception as error:
            if self.opened.done():
                log.exception("a resource did not close well")
            else:
                self.opened.set_exception(error)
        finally:
            self.closed.set_result(None)

    async def _live(self) -> None:
        self._over = anyio.Event()
        self._loop = asyncio.get_running_loop()
        async with self._opening() as resource, BlockingPortal() as portal:
            self.opened.set_result((portal, resource))
            if not self._ending.is_set():
                await self._over.wait()
            await portal.stop(cancel_remaining=True)


def _take_note(opened: "asyncio.Future[Any]") -> None:
    """Have asyncio not complain of a failure that nobody is left to hear."""
    if not opened.cancelled():
        opened.exception()


def _end(life: _Life[T], thread: threading.Thread) -> None:
    life.end()
    if thread is not threading.current_thread():
        thread.join(LAST_MOMENT)

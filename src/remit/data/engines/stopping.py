"""Statements that end in the database when their time is up, or when nobody waits any more."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

import anyio
from anyio import lowlevel, to_thread

from remit.errors import DataFailure
from remit.model.data import DataCode

T = TypeVar("T")

AGAIN: Final = 0.1
"""Seconds after which what has not stopped is stopped again."""


async def run_stoppable(
    work: Callable[[], Awaitable[T]], stop: Callable[[], Awaitable[None]], *, seconds: float
) -> T:
    """Wait for *work* to its very end, which *stop* brings about when it is time.

    What runs in a database runs on when its caller goes away, so whoever is cancelled has it
    stopped and waits until it has; only then is its connection, or its thread, free again. The
    work has a task of its own, since no shield keeps from it that its caller's task is cancelled,
    as the task of a request is whose client has left.

    Args:
        work: Never cancelled.
        stop: Makes *work* end soon with a DataFailure; it must not fail, and is called again
            where it came between two steps of the work.
        seconds: When it is stopped, at the latest.

    Raises:
        DataFailure: What *work* raises, or `query_error` where its time was up.
    """
    is_late = False
    over = anyio.Event()
    results: list[T] = []
    failures: list[Exception] = []

    async def run() -> None:
        with anyio.CancelScope(shield=True):
            try:
                results.append(await work())
            except Exception as failure:  # noqa: BLE001 - raised below, to whoever waits
                failures.append(failure)
            finally:
                over.set()
        group.cancel_scope.cancel()

    async def watch() -> None:
        nonlocal is_late
        try:
            await anyio.sleep(seconds)
            is_late = True
        finally:
            with anyio.CancelScope(shield=True):
                while not over.is_set():
                    await stop()
                    with anyio.move_on_after(AGAIN):
                        await over.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        group.start_soon(run)
    await lowlevel.checkpoint_if_cancelled()
    if not failures:
        return results[0]
    if is_late:
        raise out_of_time(seconds) from failures[0]
    raise failures[0]


async def run_in_thread(
    work: Callable[[], T],
    stop: Callable[[], None],
    *,
    seconds: float,
    limiter: anyio.CapacityLimiter,
) -> T:
    """Run *work* in a worker thread as `run_stoppable` does; *stop* is called from the loop.

    Args:
        work: Blocks.
        stop: Does not block.
        seconds: When it is stopped, at the latest.
        limiter: Of the datasource's own, so that slow statements take no threads from others.
    """

    async def stop_now() -> None:
        stop()
        await lowlevel.checkpoint()

    run = partial(to_thread.run_sync, work, limiter=limiter)
    return await run_stoppable(run, stop_now, seconds=seconds)


def out_of_time(seconds: float) -> DataFailure:
    """Return what is said of a statement that ran too long."""
    return DataFailure(
        DataCode.QUERY_ERROR,
        f"stopped after {seconds:g} s, which is the time limit; read fewer rows or say more "
        "narrowly which",
        details={"seconds": seconds},
    )

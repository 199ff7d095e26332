import signal
import threading
from contextvars import ContextVar

import anyio
import pytest

from remit.library.waiting import waiting

asked_by: ContextVar[str] = ContextVar("asked_by")


async def test_it_runs_under_a_loop_that_is_running_with_its_callers_context() -> None:
    asked_by.set("ann")

    @waiting
    async def who(greeting: str) -> str:
        return f"{greeting} {asked_by.get()}"

    assert who("hello") == "hello ann"


def test_an_interrupt_cancels_it() -> None:
    ended: list[str] = []
    caller = threading.get_ident()

    @waiting
    async def work() -> None:
        try:
            signal.pthread_kill(caller, signal.SIGINT)
            await anyio.sleep_forever()
        finally:
            ended.append("work")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)

    assert ended == ["work"]


def test_its_error_is_the_callers() -> None:
    @waiting
    async def fail() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        fail()

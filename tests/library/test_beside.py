import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from remit import AgentMCPService, MCPToolMapper
from remit.errors import StartupError, UpstreamUnavailable
from remit.library.beside import Beside
from remit.settings import Settings

FORKING = """
import asyncio, os, signal
from contextlib import asynccontextmanager
from remit.errors import UpstreamUnavailable
from remit.library.beside import Beside

@asynccontextmanager
async def resource():
    yield "resource"
    print("closed", flush=True)

async def same(given):
    return given

beside = Beside(resource, name="test")
asyncio.run(beside.use(same))
child = os.fork()
if not child:
    signal.alarm(30)  # should it wait for a thread that is not there
    try:
        asyncio.run(beside.use(same))
    except UpstreamUnavailable as error:
        print(error, flush=True)
    asyncio.run(beside.close())
    raise SystemExit
print(os.waitpid(child, 0)[1], asyncio.run(beside.use(same)), flush=True)
asyncio.run(beside.close())
"""


class Resource:
    """Counts how often it was opened, and knows the tasks in which it was opened and closed."""

    def __init__(self, problems: list[Exception] | None = None) -> None:
        self.problems = problems or []
        self.opened: list[object] = []
        self.closed: list[object] = []

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[str]:
        if self.problems:
            raise self.problems.pop()
        self.opened.append(asyncio.current_task())
        try:
            yield "resource"
        finally:
            self.closed.append(asyncio.current_task())


async def same(given: str) -> str:
    return given


async def test_one_task_opens_and_closes_whoever_uses_it() -> None:
    resource = Resource()
    beside = Beside(resource.open, name="test")

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(beside.use, same)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beside.close)

    assert len(resource.opened) == 1
    assert resource.closed == resource.opened


async def test_a_failure_that_nobody_waited_for_any_more_is_not_the_next_callers() -> None:
    begun, go_on = threading.Event(), threading.Event()
    problems = [StartupError("away")]
    complaints: list[object] = []

    @asynccontextmanager
    async def opening() -> AsyncGenerator[str]:
        begun.set()
        await anyio.to_thread.run_sync(go_on.wait)
        if problems:
            raise problems.pop()
        yield "resource"

    beside = Beside(opening, name="left alone")
    asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beside.use, same)
        await anyio.to_thread.run_sync(begun.wait)
        tasks.cancel_scope.cancel()
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "left alone":
            await anyio.to_thread.run_sync(thread.join)

    assert await beside.use(same) == "resource"
    await beside.close()
    del beside
    gc.collect()
    assert not complaints


async def test_whoever_comes_while_another_thread_closes_it_reads_so() -> None:
    beside = Beside(Resource().open, name="test")
    await beside.use(same)
    heard: list[str] = []

    async def use() -> None:
        with pytest.raises(UpstreamUnavailable) as caught:
            await beside.use(same)
        heard.append(str(caught.value))

    async def close_from_another_thread() -> None:
        closing = threading.Thread(target=anyio.run, args=[beside.close])
        closing.start()
        closing.join()  # this loop stands still: who found it open a moment ago finds it closed

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(use)
        tasks.start_soon(close_from_another_thread)

    assert heard == ["closed before it was used"]
    await beside.use_if_open(same)  # harmless


async def test_closing_twice_at_once_returns_when_it_is_closed() -> None:
    resource = Resource()
    beside = Beside(resource.open, name="test")
    await beside.use(same)
    counts: list[int] = []

    async def close() -> None:
        await beside.close()
        counts.append(len(resource.closed))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(close)

    assert counts == [1] * 5


def test_loops_of_several_threads_share_it() -> None:
    resource = Resource()
    beside = Beside(resource.open, name="test")
    ready = threading.Barrier(4)

    def work() -> None:
        ready.wait()
        asyncio.run(beside.use(same))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(beside.close())

    assert len(resource.opened) == len(resource.closed) == 1


async def test_what_could_not_be_opened_is_tried_anew() -> None:
    resource = Resource([StartupError("no room")])
    beside = Beside(resource.open, name="test")

    with pytest.raises(StartupError, match="no room"):
        await beside.use(same)

    assert await beside.use(same) == "resource"
    await beside.close()


async def test_an_error_of_the_work_is_the_callers_and_leaves_it_open() -> None:
    resource = Resource()
    beside = Beside(resource.open, name="test")

    async def fail(_: str) -> None:
        raise ValueError("not so")

    with pytest.raises(ValueError, match="not so"):
        await beside.use(fail)
    assert await beside.use(same) == "resource"
    await beside.close()

    assert len(resource.opened) == 1


async def test_closing_ends_work_under_way() -> None:
    resource = Resource()
    beside = Beside(resource.open, name="test")
    begun = threading.Event()

    async def wait(_: str) -> None:
        begun.set()
        await anyio.sleep_forever()

    with anyio.fail_after(30):
        work = asyncio.ensure_future(beside.use(wait))
        await anyio.to_thread.run_sync(begun.wait)
        await beside.close()
        with pytest.raises(UpstreamUnavailable, match="closed while"):
            await work

    assert len(resource.closed) == 1


async def test_whoever_leaves_takes_its_work_along() -> None:
    resource = Resource()
    beside = Beside(resource.open, name="test")
    ended = threading.Event()

    async def wait(_: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    await beside.use(same)
    with anyio.move_on_after(0.1) as scope:
        await beside.use(wait)

    assert scope.cancelled_caught
    assert await anyio.to_thread.run_sync(ended.wait, 30)
    await beside.close()


async def test_what_nobody_holds_any_more_is_closed() -> None:
    resource = Resource()
    beside = Beside(resource.open, name="test")
    await beside.use(same)

    del beside
    gc.collect()

    assert len(resource.closed) == 1


def test_a_forked_process_reads_that_it_needs_one_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING], capture_output=True, text=True, check=True
    )

    told = done.stdout.splitlines()
    assert "make another one after the fork" in told[0]
    assert told[1:] == ["0 resource", "closed"]
    assert done.stderr == ""


async def test_a_record_that_cannot_be_opened_is_said_and_nothing_runs(tmp_path: Path) -> None:
    blocked = tmp_path / ".remit"
    blocked.write_text("no folder")
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text('{"mcp_servers": {"store": {"command": "cat"}}, "roles": {}}')
    settings = Settings(config=mapping)

    service = AgentMCPService(mapper=MCPToolMapper(mapping), settings=settings)
    with pytest.raises(StartupError):
        await service.execute_tool("reader", "store", "read", {})
    await service.close()

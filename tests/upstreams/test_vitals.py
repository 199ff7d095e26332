"""A child's memory, and a server's clock (issue 4)."""

import subprocess
import sys
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anyio
import pytest

from remit.cli.serving import bind
from remit.upstreams.clock import clock_skew
from remit.upstreams.memory import memory_by_group
from remit.upstreams.trust import Trust

LAUNCHER = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "b = bytearray(40_000_000); print(1); input()"],
                         stdin=sys.stdin)
child.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_is_that_of_the_process_and_of_what_it_launched() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        memory = memory_by_group().get(process.pid)

        assert memory is not None
        assert memory > 40_000_000
        process.communicate(b"\n")
    assert process.pid not in memory_by_group()


@pytest.fixture
async def ahead() -> AsyncGenerator[str]:
    """Give the URL of a server whose clock is an hour ahead, and that refuses everything."""

    async def answer(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
            head = f"HTTP/1.1 401 Unauthorized\r\nDate: {date}\r\nContent-Length: 0\r\n\r\n"
            await stream.send(head.encode())

    with bind("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        yield f"http://127.0.0.1:{port}/mcp"
        tasks.cancel_scope.cancel()


async def test_the_clock_is_read_off_any_answer(ahead: str) -> None:
    skew = await clock_skew(ahead, Trust())

    assert skew is not None
    assert abs(skew - 3600) < 30


async def test_whoever_cannot_be_reached_tells_no_time() -> None:
    with bind("127.0.0.1", 0) as unused:
        port = unused.getsockname()[1]

    assert await clock_skew(f"http://127.0.0.1:{port}/", Trust()) is None

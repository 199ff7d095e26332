"""The process groups of all children: how long they have to end, and that none outlives us.

gateway ──pipe──▶ warden_process.py, started with the first child
gateway gone, by SIGKILL too ──▶ the pipe ends ──▶ the warden ends every group that is left

Out of reach is what left its group (a server that calls `setsid` for a process of its own), and a
child in the instant between its start and the line that names it; both have lost their input.
"""

import math
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import structlog

log = structlog.get_logger(__name__)

GRACE: Final = 5.0
"""Seconds a child has to end after it was asked to (S1.8)."""

LEAST_GRACE: Final = 0.5
"""What is left of it at the least, when everything ends and calls took their time."""

_LEAVING: Final = 3.0
_PROGRAM: Final = Path(__file__).with_name("warden_process.py")


class Warden:
    """Knows the groups of this process's children, and keeps the warden process informed."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._until = math.inf

    @property
    def grace(self) -> float:
        """Seconds that a child has to end after it was asked to."""
        return max(LEAST_GRACE, min(GRACE, self._until - anyio.current_time()))

    def hurry(self) -> None:
        """Let all children together have one grace from now on: the gateway stops."""
        self._until = min(self._until, anyio.current_time() + GRACE)

    def watch(self, group: int) -> None:
        """Take a new group under watch."""
        self._groups.add(group)
        if self._process is None or not self._tell(b"+%d\n" % group):
            self._start()

    def release(self, group: int) -> None:
        """Take note that a group has ended."""
        self._groups.discard(group)
        if self._process is not None:
            self._tell(b"-%d\n" % group)

    async def close(self) -> None:
        """Let the warden process go."""
        process, self._process = self._process, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_part_with, process)

    def _start(self) -> None:
        """Start a warden process, or another one in place of one that was lost."""
        if self._process is not None:
            log.warning("the warden process was lost", pid=self._process.pid)
            self._process.kill()
            _part_with(self._process)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={},
                start_new_session=True,
            )
        except OSError as error:
            self._process = None
            log.warning("no warden process", error=str(error))
            return
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
        self._tell(b"".join(b"+%d\n" % group for group in self._groups))

    def _tell(self, lines: bytes) -> bool:
        """Return whether the warden process is there to take it."""
        stdin = None if self._process is None else self._process.stdin
        if stdin is None:
            return False
        try:
            return stdin.write(lines) == len(lines)
        except OSError:
            return False


@asynccontextmanager
async def open_warden() -> AsyncGenerator[Warden]:
    """Give a warden; whoever holds it stops its children before."""
    warden = Warden()
    try:
        yield warden
    finally:
        await warden.close()


def _part_with(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_LEAVING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

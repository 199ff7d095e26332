"""Keeps the workers of `remit serve --workers` running, and stops them all.

    start ──▶ serves ──▶ ended ──▶ pause, start again
      │ never served at first: all stop, and so does the supervisor
    SIGHUP ──▶ every worker      SIGTERM, Ctrl-C ──▶ every worker, killed when it takes too long

A worker holds one end of a line; the other closes with the supervisor, even at kill -9, and the
worker then stops by itself.
"""

import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import anyio
import structlog
from anyio.abc import Process, TaskStatus

from remit.cli.serving import GRACE
from remit.errors import StartupError

log = structlog.get_logger(__name__)

STOPS_WITHIN: Final = GRACE + 10.0
"""Seconds that a worker has to end requests under way, its servers, and its journal."""

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
"""Seconds before a worker that ended is started again; each early end doubles it."""

LIVED: Final = 10.0
"""Seconds after which an end is no early one."""


class Supervisor:
    """The workers of one port.

    Args:
        command: What starts a worker, but for its number and the descriptor of its line.
        count: How many there are.

    Attributes:
        all_serve: Set once every worker has served.
    """

    def __init__(self, command: Sequence[str], count: int) -> None:
        self._command = command
        self._count = count
        self._serving: dict[int, Process] = {}
        self._have_served: set[int] = set()
        self.all_serve = anyio.Event()

    async def run(self) -> None:
        """Keep every worker running until cancelled; none is left then.

        Raises:
            StartupError: One cannot start at all; it said why itself.
        """
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._pass_on_hangups)
            for number in range(1, self._count + 1):
                tasks.start_soon(self._keep, number)

    async def _keep(self, number: int) -> None:
        pause = FIRST_PAUSE
        while True:
            began = anyio.current_time()
            status = await self._run_once(number)
            if number not in self._have_served:
                raise StartupError(f"worker {number} cannot start (status {status}), see above")
            if anyio.current_time() - began > LIVED:
                pause = FIRST_PAUSE
            log.error("a worker ended; another is started", worker=number, status=status)
            await anyio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _run_once(self, number: int) -> int:
        ours, theirs = socket.socketpair()
        # the first ones serve at once, as a gateway of one process does
        beside = ("--beside",) if self._serving and number in self._have_served else ()
        with ours:
            with theirs:
                process = await anyio.open_process(
                    [
                        *self._command,
                        *("--number", str(number), "--line", str(theirs.fileno())),
                        *beside,
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=None,
                    stderr=None,
                    # a Ctrl-C reaches the supervisor alone, which stops each once
                    start_new_session=True,
                    pass_fds=(theirs.fileno(),),
                )
            try:
                await anyio.wait_readable(ours)
                if ours.recv(1):
                    self._now_serves(number, process)
                return await process.wait()
            finally:
                self._serving.pop(number, None)
                with anyio.CancelScope(shield=True):
                    await _stop(process, number)

    def _now_serves(self, number: int, process: Process) -> None:
        self._serving[number] = process
        self._have_served.add(number)
        if len(self._have_served) == self._count:
            self.all_serve.set()

    async def _pass_on_hangups(
        self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        with anyio.open_signal_receiver(signal.SIGHUP) as hangups:
            task_status.started()
            async for _ in hangups:
                for process in self._serving.values():
                    with suppress(ProcessLookupError):
                        process.send_signal(signal.SIGHUP)


async def _stop(process: Process, number: int) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    with anyio.move_on_after(STOPS_WITHIN) as waiting:
        await process.wait()
    if waiting.cancelled_caught:
        log.error("a worker does not stop and is killed", worker=number)
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()

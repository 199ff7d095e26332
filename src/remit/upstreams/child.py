"""A server as a child process: started in a group of its own, fed, drained, and never left behind.

start ──▶ running ──▶ stdin closed, SIGTERM to the group ──▶ SIGKILL to the group ──▶ reaped
             └──▶ exits by itself ────────────────────────────────┘
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import cast

import anyio

from remit.errors import UpstreamUnavailable
from remit.model.lines import Lines, TooLong
from remit.model.servers import ServerConfig
from remit.upstreams.environment import ResolvedServer
from remit.upstreams.transcript import Transcript
from remit.upstreams.warden import Warden

AT_ONCE = 256
"""Lines taken in one go: a child that floods its output must not hold up the other servers."""

BREATH = 0.002
"""Seconds between one go and the next, for everybody else; meanwhile the child is not read."""

TOGETHER = 8
"""Lines that leave together at most: the child begins on them while more are being written."""

_LAST_WORDS = 0.5
_REAPING = 5.0
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class Child(asyncio.SubprocessProtocol):
    """A child process: made, then started once."""

    def __init__(self, config: ServerConfig, transcript: Transcript, warden: Warden) -> None:
        self._config = config
        self._warden = warden
        self._lines = Lines(config.max_message)
        self._unread = deque[bytes | TooLong]()
        self._is_paused = False
        self._unwritten: list[bytes] = []
        self._unwritten_size = 0
        self._transcript = transcript
        self._on_line: Callable[[bytes | TooLong], None] | None = None
        self._on_end: Callable[[str], None] | None = None
        self._exited = anyio.Event()
        self._closed = anyio.Event()
        self._is_stopping = False

    async def start(
        self,
        resolved: ResolvedServer,
        *,
        on_line: Callable[[bytes | TooLong], None],
        on_end: Callable[[str], None],
    ) -> None:
        """Start the command of *resolved*, without a shell and with no environment but its own.

        Args:
            resolved: The entry with its values filled in.
            on_line: Takes every line of its standard output.
            on_end: Told once, with the reason, when nothing more can come from it.

        Raises:
            UpstreamUnavailable: It cannot be started.
        """
        self._on_line, self._on_end = on_line, on_end
        try:
            # Once begun it must be carried through, or a process is left that nobody knows.
            with anyio.CancelScope(shield=True):
                await asyncio.get_running_loop().subprocess_exec(
                    lambda: self,
                    resolved.command,
                    *resolved.args,
                    env=dict(resolved.env),
                    cwd=resolved.cwd or None,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            problem = _why_not_started(self._config, resolved, error)
            raise UpstreamUnavailable(problem) from error

    @property
    def pid(self) -> int:
        """The id of the process once it was started, and of its group."""
        return self._pid

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the process over (called by asyncio)."""
        self._process = cast("asyncio.SubprocessTransport", transport)
        self._pid = self._process.get_pid()
        self._warden.watch(self._pid)
        self._stdin = cast("asyncio.WriteTransport", self._process.get_pipe_transport(_STDIN))
        self._stdout = cast("asyncio.ReadTransport", self._process.get_pipe_transport(_STDOUT))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take output (called by asyncio)."""
        if fd == _STDERR:
            self._transcript.error_output(data)
            return
        self._unread.extend(self._lines.feed(data))
        if not self._is_paused:
            self._take_lines()

    def _take_lines(self) -> None:
        for _ in range(min(AT_ONCE, len(self._unread))):
            line = self._unread.popleft()
            if self._on_line is not None:
                self._on_line(line)
        if self._unread:
            self._pause(wanted=True)
            asyncio.get_running_loop().call_later(BREATH, self._take_lines)
        else:
            self._pause(wanted=False)

    def _pause(self, *, wanted: bool) -> None:
        if wanted == self._is_paused:
            return
        self._is_paused = wanted
        if not self._stdout.is_closing():
            (self._stdout.pause_reading if wanted else self._stdout.resume_reading)()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Take note that a pipe was closed (called by asyncio)."""
        del exc
        if fd != _STDERR and not self._exited.is_set():
            # It may be about to exit, which says more than a closed pipe does.
            asyncio.get_running_loop().call_later(_LAST_WORDS, self._over)

    def process_exited(self) -> None:
        """Take note that the process ended (called by asyncio)."""
        self._exited.set()
        # What it wrote last is still in the pipes; a grandchild may hold them open for ever.
        asyncio.get_running_loop().call_later(_LAST_WORDS, self._over)

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note that process and pipes are gone (called by asyncio)."""
        del exc
        self._closed.set()
        self._over()

    def write(self, frame: bytes) -> bool:
        """Send one line; return False when the child is ending, of which `on_end` will tell.

        Lines of one turn of the event loop leave together: a pipe costs as much for many as for
        one.

        Raises:
            UpstreamUnavailable: The child lives and takes nothing any more; nothing was sent.
        """
        if self._stdin.is_closing():
            return False
        unread = self._stdin.get_write_buffer_size() + self._unwritten_size
        if unread > self._config.max_message:
            raise UpstreamUnavailable("is not reading what it is sent", transient=True)
        # In JSON a raw line break is space between tokens, never part of a text; here it would end
        # the message in the middle.
        if b"\n" in frame or b"\r" in frame:
            frame = frame.replace(b"\n", b" ").replace(b"\r", b" ")
        if not self._unwritten:
            asyncio.get_running_loop().call_soon(self._write_out)
        self._unwritten.append(frame)
        self._unwritten_size += len(frame) + 1
        if len(self._unwritten) == TOGETHER:
            self._write_out()
        return True

    def _write_out(self) -> None:
        lines, self._unwritten, self._unwritten_size = self._unwritten, [], 0
        if lines and not self._stdin.is_closing():
            lines.append(b"")  # so that the last one ends, too
            self._stdin.write(b"\n".join(lines))

    async def stop(self) -> None:
        """End the process and its group, and reap it; cannot be cancelled, and is bounded."""
        self._is_stopping = True
        self._unread.clear()
        self._write_out()  # that a call was cancelled, perhaps
        with anyio.CancelScope(shield=True):
            self._stdin.close()
            self._signal(signal.SIGTERM)
            with anyio.move_on_after(self._warden.grace):
                await self._exited.wait()
                await self._group_gone()
            self._signal(signal.SIGKILL)
            with anyio.move_on_after(_REAPING):
                await self._exited.wait()
            self._process.close()
            with anyio.move_on_after(_REAPING):
                await self._closed.wait()
        self._warden.release(self._pid)

    async def _group_gone(self) -> None:
        """Let what the child started end as well, for as long as last words may take."""
        with anyio.move_on_after(_LAST_WORDS):
            while self._signal(0):  # noqa: ASYNC110 - nobody reports the end of a grandchild
                await anyio.sleep(0.02)

    def _signal(self, number: int) -> bool:
        """Signal the whole group; return whether anything is left of it."""
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _over(self) -> None:
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end(self._reason())

    def _reason(self) -> str:
        code = self._process.get_returncode()
        if self._is_stopping:
            return "was stopped"
        if code is None:
            return "closed the pipe to us"
        last = self._transcript.last_line
        what = f"exited with code {code}" if code >= 0 else f"was killed by {_signal_name(-code)}"
        return f"{what}: {last}" if last else what


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _why_not_started(config: ServerConfig, resolved: ResolvedServer, error: Exception) -> str:
    # The command as written: what was filled into it may be secret.
    if resolved.cwd and not Path(resolved.cwd).is_dir():
        return f"cannot start: its cwd {config.cwd!r} is no folder"
    if isinstance(error, FileNotFoundError):
        return (
            f"cannot start: command {config.command!r} was not found; "
            "install it or give its full path"
        )
    if isinstance(error, PermissionError):
        return f"cannot start: command {config.command!r} may not be executed"
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot start command {config.command!r}: {reason}"

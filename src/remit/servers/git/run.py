"""Run the real git command: no shell, no terminal, bounded output, nothing left behind.

start in a session of its own ─▶ read both pipes up to the cap ─▶ status
         └─ cancelled: SIGTERM the group ─▶ GRACE ─▶ SIGKILL ─▶ drop the locks it held
"""

import os
import signal
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Protocol

import anyio
from anyio.abc import ByteReceiveStream, Process

from remit.servers.errors import ToolError
from remit.servers.git.credentials import without_credentials, without_secrets
from remit.servers.git.locks import drop_locks

OUTPUT_CAP = 256 * 1024
"""Bytes kept of each of git's two outputs; what follows is read and dropped."""

SAID_FIRST, SAID_LAST = 3_000, 5_000
"""Characters that are passed on of what git and hooks say when something goes wrong."""

LISTING_CAP = 32 * 1024 * 1024
"""Bytes kept of a listing that is worked through and not shown: 100,000 files and more."""

GRACE = 1.0
"""Seconds git gets to remove its lock files, and a hook's child to let go of the pipes."""

# Settings of the user or the repository that would change what the output looks like,
# run something in the background, or reach outside the repository.
_SETTINGS = (
    "core.quotepath=off",
    "core.fsmonitor=false",
    "color.ui=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "rerere.enabled=false",
    "submodule.recurse=false",
    "protocol.ext.allow=never",
    "advice.detachedHead=false",
    # A directory of the working tree that looks like a git directory is not one.
    "safe.bareRepository=explicit",
)
_PREFIX = ("git", "--no-pager", *(part for item in _SETTINGS for part in ("-c", item)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What one git command said.

    Attributes:
        names: Its standard output, decoded as file names are, so that no byte is lost.
        truncated: Whether either output passed its cap.
    """

    status: int
    names: str
    err: str
    truncated: bool = False

    @property
    def ok(self) -> bool:
        """Whether git was content."""
        return self.status == 0

    @property
    def out(self) -> str:
        """Its standard output as text."""
        return os.fsencode(self.names).decode(errors="replace")

    @property
    def fields(self) -> list[str]:
        """The names between NULs; not what follows the last one, which the cap may have cut."""
        return self.names.split("\0")[:-1]

    @property
    def said(self) -> str:
        """Both outputs, for a reader: without the credentials of URLs, and not without end."""
        texts = (self.err.strip(), self.out.strip())
        said = without_credentials("\n".join(text for text in texts if text))
        left_out = len(said) - SAID_FIRST - SAID_LAST
        if left_out <= 0:
            return said
        # What went wrong first is at the beginning, and what came of it at the end.
        note = f"\n[truncated: {left_out} characters and more left out]\n"
        return said[:SAID_FIRST] + note + said[-SAID_LAST:]


class Take(Protocol):
    """Takes git's standard output as it comes."""

    def __call__(self, chunk: bytes, /) -> bool:
        """Take the next bytes, and say whether more are wanted."""
        ...


class _Keep:
    """Keeps what it takes up to *cap* bytes, and one more as the sign that there was more."""

    def __init__(self, cap: int) -> None:
        self.kept = bytearray()
        self._cap = cap

    def __call__(self, chunk: bytes, /) -> bool:
        self.kept += chunk[: self._cap + 1 - len(self.kept)]
        return True

    @property
    def is_over(self) -> bool:
        return len(self.kept) > self._cap

    def raw(self) -> bytes:
        return bytes(self.kept[: self._cap])


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """The git command in one directory.

    Attributes:
        environ: All that git knows of the environment.
        homes: Git's own directories, where a git that had to be killed may have left locks.
        secrets: Strings that no output may show.
        options: Options of git itself, such as `-c name=value`.
    """

    directory: Path
    environ: Mapping[str, str] = field(repr=False)
    homes: tuple[Path, ...] = ()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    options: tuple[str, ...] = ()

    async def ask(self, *arguments: str, cap: int = OUTPUT_CAP) -> Output:
        """Run git and return what it said, whatever its exit status.

        Args:
            arguments: Of git.
            cap: Bytes of each output to keep.

        Raises:
            ToolError: If git cannot be started.
        """
        out, err = _Keep(cap), _Keep(cap)
        status = await self._run(arguments, out, err)
        return Output(
            status=status,
            names=without_secrets(os.fsdecode(out.raw()), self.secrets),
            err=self.text(err.raw()),
            truncated=out.is_over or err.is_over,
        )

    async def pour(self, take: Take, *arguments: str) -> Output:
        """Run git and give its standard output to *take*, until that has enough.

        Raises:
            ToolError: If git cannot be started.
        """
        err = _Keep(OUTPUT_CAP)
        status = await self._run(arguments, take, err)
        return Output(status=status, names="", err=self.text(err.raw()), truncated=err.is_over)

    async def run(self, *arguments: str, advice: str = "see git_status") -> str:
        """Run git and return its standard output.

        Raises:
            ToolError: If git fails: its words, then *advice*.
        """
        output = await self.ask(*arguments)
        if not output.ok:
            raise ToolError(f"git {arguments[0]} failed: {output.said or output.status}\n{advice}")
        return output.out

    async def _run(self, arguments: tuple[str, ...], out: Take, err: Take) -> int:
        """Return git's exit status; 0 when *out* had enough of it."""
        begun = time.time()
        # Called off while it starts, git alone would be killed, and its children would live on.
        with _shielded():
            process = await self._start(arguments)
        is_over = False
        try:
            is_over = await _outputs(process, out, err)
        finally:
            with _shielded():
                if not is_over and await _end(process):
                    await drop_locks(self.homes, begun)
                await process.aclose()
        return (process.returncode or 0) if is_over else 0

    async def _start(self, arguments: tuple[str, ...]) -> Process:
        try:
            return await anyio.open_process(
                [*_PREFIX, *self.options, *arguments],
                cwd=self.directory,
                env=self.environ,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError(
                f"git could not be started: {error.strerror}; see that git is installed, that the"
                " repository is still there, and that the arguments are not too long"
            ) from error

    def text(self, raw: bytes) -> str:
        """Return what git wrote as text, without secrets."""
        return without_secrets(raw.decode(errors="replace"), self.secrets)


@contextmanager
def _shielded() -> Generator[None]:
    with anyio.CancelScope(shield=True):
        yield


async def _outputs(process: Process, out: Take, err: Take) -> bool:
    """Read both outputs to their end, or until *out* has enough, and say which it was."""
    is_over = False
    async with anyio.create_task_group() as readers:
        for stream, take in ((process.stdout, out), (process.stderr, err)):
            if stream is not None:
                readers.start_soon(_read, stream, take, readers.cancel_scope)
        await process.wait()
        is_over = True
        # A hook may have left a child that holds the pipes open: git's answer is complete.
        readers.cancel_scope.deadline = anyio.current_time() + GRACE
    return is_over


async def _read(stream: ByteReceiveStream, take: Take, readers: anyio.CancelScope) -> None:
    async for chunk in stream:
        if not take(chunk):
            readers.cancel()


async def _end(process: Process) -> bool:
    """End the whole group and say whether git itself had to be killed."""
    _signal_group(process, signal.SIGTERM)
    with anyio.move_on_after(GRACE):
        await process.wait()
    killed = process.returncode is None
    _signal_group(process, signal.SIGKILL)
    await process.wait()
    return killed


def _signal_group(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)

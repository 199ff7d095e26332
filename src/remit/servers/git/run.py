"""Run the real git command: no shell, no terminal, bounded output, nothing left behind.

start in a session of its own ─▶ read both pipes up to the cap ─▶ status
         └─ cancelled: SIGTERM the group ─▶ GRACE ─▶ SIGKILL ─▶ drop the lock it held
"""

import os
import signal
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
from anyio.abc import ByteReceiveStream, Process

from remit.servers.errors import ToolError
from remit.servers.git.credentials import without_credentials, without_secrets

OUTPUT_CAP = 256 * 1024
"""Bytes kept of each of git's two outputs; what follows is read and dropped."""

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
)
_PREFIX = ("git", "--no-pager", *(part for item in _SETTINGS for part in ("-c", item)))

# Hooks are the repository's code, so they get what git needs and not this process's secrets.
_ENVIRONMENT = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TMPDIR",
        "LD_LIBRARY_PATH",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "SSH_AUTH_SOCK",
        "GNUPGHOME",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
# Of git's own variables, who commits and how to connect; never which repository or index.
_GIT_ENVIRONMENT = (
    "GIT_SSH",
    "GIT_ASKPASS",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG_",
    "GIT_SSL_",
    "GIT_HTTP_",
    "GIT_ALLOW_PROTOCOL",
    "GIT_EXEC_PATH",
)
_FIXED = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "SSH_ASKPASS_REQUIRE": "never",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What one git command said.

    Attributes:
        truncated: Whether either output passed `OUTPUT_CAP`.
    """

    status: int
    out: str
    err: str
    truncated: bool = False

    @property
    def ok(self) -> bool:
        """Whether git was content."""
        return self.status == 0

    @property
    def said(self) -> str:
        """Both outputs, for a person: without the credentials of URLs."""
        texts = (self.err.strip(), self.out.strip())
        note = "[truncated]" if self.truncated else ""
        return without_credentials("\n".join(text for text in (*texts, note) if text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """The git command in one directory.

    Attributes:
        lock: The index lock, to drop if git has to be killed while it holds it.
        secrets: Strings that no output may show.
        options: Options of git itself, such as `-c name=value`.
    """

    directory: Path
    lock: Path | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    options: tuple[str, ...] = ()

    async def ask(self, *arguments: str) -> Output:
        """Run git and return what it said, whatever its exit status.

        Raises:
            ToolError: If git cannot be started.
        """
        locked_before = self.lock is not None and self.lock.exists()
        # Called off while it starts, git alone would be killed, and its children would live on.
        with _shielded():
            process = await self._start(arguments)
        finished = False
        try:
            out, err = await _outputs(process)
            finished = True
        finally:
            with _shielded():
                if not finished and await _end(process) and self.lock and not locked_before:
                    self.lock.unlink(missing_ok=True)
                await process.aclose()
        return Output(
            status=process.returncode or 0,
            out=self._text(out),
            err=self._text(err),
            truncated=max(len(out), len(err)) > OUTPUT_CAP,
        )

    async def run(self, *arguments: str, advice: str = "see git_status") -> str:
        """Run git and return its standard output.

        Raises:
            ToolError: If git fails: its words, then *advice*.
        """
        output = await self.ask(*arguments)
        if not output.ok:
            raise ToolError(f"git {arguments[0]} failed: {output.said or output.status}\n{advice}")
        return output.out

    async def _start(self, arguments: tuple[str, ...]) -> Process:
        try:
            return await anyio.open_process(
                [*_PREFIX, *self.options, *arguments],
                cwd=self.directory,
                env=environment(os.environ),
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

    def _text(self, raw: bytearray) -> str:
        text = raw[:OUTPUT_CAP].decode(errors="replace")
        return without_secrets(text, self.secrets)


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Choose what git and the repository's hooks may know of *inherited*."""
    kept = {
        name: value
        for name, value in inherited.items()
        if name in _ENVIRONMENT or name.lower() in _PROXIES or name.startswith(_GIT_ENVIRONMENT)
    }
    return kept | _FIXED


@contextmanager
def _shielded() -> Generator[None]:
    with anyio.CancelScope(shield=True):
        yield


async def _outputs(process: Process) -> tuple[bytearray, bytearray]:
    out, err = bytearray(), bytearray()
    async with anyio.create_task_group() as readers:
        for stream, kept in ((process.stdout, out), (process.stderr, err)):
            if stream is not None:
                readers.start_soon(_read, stream, kept)
        await process.wait()
        # A hook may have left a child that holds the pipes open: git's answer is complete.
        readers.cancel_scope.deadline = anyio.current_time() + GRACE
    return out, err


async def _read(stream: ByteReceiveStream, kept: bytearray) -> None:
    async for chunk in stream:
        # One byte beyond the cap is kept as the sign that there was more.
        kept += chunk[: OUTPUT_CAP + 1 - len(kept)]


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

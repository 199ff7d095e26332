"""The git server as an object: the same in the gateway's process and alone on stdio."""

import os
from argparse import ArgumentTypeError
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.command_line import ServerArguments
from remit.servers.git.connect import Credentials
from remit.servers.git.environment import environment
from remit.servers.git.repository import Repository, Roots, open_repository
from remit.servers.git.tools import TOOLS
from remit.servers.git.turn import turn
from remit.servers.toolbox import Tool, ToolServer

TIME_LIMIT: Final = 28.0
"""Seconds a call may take unless the server is told otherwise; less than the gateway's, so that
the server can say where things stand."""

_LONGEST_LIMIT = 3600.0


class GitServer(ToolServer[Repository]):
    """Nine git tools over one repository and what is inside it, or over folders of them.

    Args:
        repository: The repository of calls that name none; it and those inside may be named.
        folders: What is inside these may be named as well.
        environ: Variables for git besides those of this process; only those that git needs to
            commit and to connect are passed on. `GIT_CREDENTIALS` is for remotes.
        time_limit: Seconds a call may take, waiting for its turn included.
        read_only: Offers only what changes nothing.

    Raises:
        ValueError: If `GIT_CREDENTIALS` does not fit.
    """

    def __init__(
        self,
        repository: Path | None,
        *,
        folders: Sequence[Path] = (),
        environ: Mapping[str, str] | None = None,
        time_limit: float = TIME_LIMIT,
        read_only: bool = False,
    ) -> None:
        super().__init__(
            "git",
            TOOLS,
            self._open,
            time_limit=time_limit,
            read_only=read_only,
            after_limit="see git_status for where things stand, then ask for less at once or try"
            " again",
        )
        self._roots = Roots(
            repository=None if repository is None else repository.resolve(),
            others=tuple(folder.resolve() for folder in folders),
        )
        self._environ = environ or {}
        self._credentials = Credentials.parse(self._environ)

    @asynccontextmanager
    async def _open(
        self, tool: Tool[Repository], arguments: Arguments
    ) -> AsyncGenerator[Repository]:
        environ = environment(os.environ | dict(self._environ))
        repository = await open_repository(
            self._roots, arguments.find_text("repo_path"), environ, self._credentials
        )
        async with AsyncExitStack() as stack:
            if not tool.hints.read_only:
                # Two writers at once would only meet each other's index lock.
                lock = repository.git_dir / "index.lock"
                await stack.enter_async_context(turn(repository.common, lock))
            yield repository


def open_server(args: Sequence[str], environ: Mapping[str, str], folder: Path) -> GitServer:
    """Open the server that the command-line arguments *args* describe.

    Args:
        args: Such as `["--repository", "orders"]`.
        environ: Variables for git besides those of this process.
        folder: Where relative paths begin.

    Raises:
        ValueError: If they do not; the message is one line.
    """
    parser = ServerArguments("git")
    parser.add_argument("--repository", metavar="PATH", type=Path)
    parser.add_argument("--root", metavar="PATH", type=Path, action="append", default=[])
    parser.add_argument("--time-limit", metavar="SECONDS", type=_seconds, default=TIME_LIMIT)
    given = parser.read(args)
    if given.repository is None and not given.root:
        given.repository = Path()
    repository = None if given.repository is None else folder / given.repository
    folders = [folder / root for root in given.root]
    with parser.naming():
        if repository is not None:
            _check_folder("--repository", repository)
        for root in folders:
            _check_folder("--root", root)
        return GitServer(
            repository,
            folders=folders,
            environ=environ,
            time_limit=given.time_limit,
            read_only=given.read_only,
        )


def _check_folder(option: str, folder: Path) -> None:
    if not folder.is_dir():
        raise ValueError(f"{option} {str(folder)!r} is not a directory")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST_LIMIT:
        raise ArgumentTypeError(f"{text!r} is no number of seconds from 0 to {_LONGEST_LIMIT:g}")
    return seconds

"""The git server as an object: the same in the gateway's process and alone on stdio."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from remit.servers.arguments import Arguments
from remit.servers.command_line import ServerArguments
from remit.servers.git.repository import Repository, open_repository
from remit.servers.git.tools import TOOLS
from remit.servers.toolbox import Tool, ToolServer


class GitServer(ToolServer[Repository]):
    """Nine git tools over one repository and what is inside it.

    Args:
        repository: The fence; also the repository of calls that name none.
        time_limit: Seconds a call may take, waiting for its turn included.
    """

    def __init__(self, repository: Path, *, time_limit: float = 30.0) -> None:
        super().__init__(
            "git",
            TOOLS,
            self._open,
            time_limit=time_limit,
            after_limit="see git_status for where things stand, then ask for less at once or try"
            " again",
        )
        self._root = repository.resolve()
        # Two writers at once would only meet each other's index lock.
        self._turn = anyio.Lock()

    @asynccontextmanager
    async def _open(
        self, tool: Tool[Repository], arguments: Arguments
    ) -> AsyncGenerator[Repository]:
        async with AsyncExitStack() as stack:
            if not tool.hints.read_only:
                await stack.enter_async_context(self._turn)
            yield await open_repository(self._root, arguments.find_text("repo_path"))


def open_server(args: Sequence[str], environ: Mapping[str, str], folder: Path) -> GitServer:
    """Open the server that the command-line arguments *args* describe.

    Args:
        args: Such as `["--repository", "orders"]`.
        environ: Unused: git has the environment of the process, less what could mislead it.
        folder: Where relative paths begin.

    Raises:
        ValueError: If they do not; the message is one line.
    """
    del environ
    parser = ServerArguments("git")
    parser.add_argument("--repository", metavar="PATH", default=".", type=Path)
    repository: Path = folder / parser.read(args).repository
    if not repository.is_dir():
        raise ValueError(f"git server: --repository {str(repository)!r} is not a directory")
    return GitServer(repository)

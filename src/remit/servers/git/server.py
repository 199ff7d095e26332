"""The git server as an object: the same in the gateway's process and alone on stdio."""

import argparse
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, NoReturn

import anyio

from remit.servers.git.arguments import Arguments
from remit.servers.git.branch import git_branch, git_checkout
from remit.servers.git.commit import git_commit
from remit.servers.git.diff import git_diff
from remit.servers.git.errors import ToolError
from remit.servers.git.log import git_log
from remit.servers.git.merge import git_merge
from remit.servers.git.pull import git_pull
from remit.servers.git.push import git_push
from remit.servers.git.repository import Repository, open_repository
from remit.servers.git.schemas import TOOLS
from remit.servers.git.status import git_status

Tool = Callable[[Repository, Arguments], Awaitable[dict[str, object]]]

_READING: Final[Mapping[str, Tool]] = {
    "git_status": git_status,
    "git_diff": git_diff,
    "git_log": git_log,
}
_WRITING: Final[Mapping[str, Tool]] = {
    "git_branch": git_branch,
    "git_checkout": git_checkout,
    "git_commit": git_commit,
    "git_push": git_push,
    "git_pull": git_pull,
    "git_merge": git_merge,
}


class GitServer:
    """Nine git tools over one repository and what is inside it.

    Args:
        repository: The fence; also the repository of calls that name none.
        time_limit: Seconds a call may take, waiting for its turn included.
    """

    name: Final = "git"
    version: str = "0.1.0"

    def __init__(self, repository: Path, *, time_limit: float = 30.0) -> None:
        self._root = repository.resolve()
        self._time_limit = time_limit
        # Two writers at once would only meet each other's index lock.
        self._turn = anyio.Lock()

    def tools(self) -> Sequence[Mapping[str, object]]:
        """Return the tools in wire format."""
        return TOOLS

    async def call_tool(self, name: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Call a tool and return its result in wire format; a failure is an `isError` result.

        Raises:
            KeyError: If there is no such tool.
        """
        tool = _READING[name] if name in _READING else _WRITING[name]
        with anyio.move_on_after(self._time_limit):
            try:
                checked = Arguments(name, arguments)
                async with AsyncExitStack() as stack:
                    if name in _WRITING:
                        await stack.enter_async_context(self._turn)
                    repository = await open_repository(self._root, checked.find_text("repo_path"))
                    structured = await tool(repository, checked)
            except ToolError as error:
                return _error(str(error))
            # Clients without structured results read the same as JSON (MCP §tools/call).
            text = json.dumps(structured, ensure_ascii=False)
            return {
                "content": [{"type": "text", "text": text}],
                "structuredContent": structured,
                "isError": False,
            }
        return _error(
            f"{name} was stopped after {self._time_limit:g} s; see git_status for where things"
            " stand, then ask for less at once or try again"
        )


def open_server(args: Sequence[str], folder: Path = Path()) -> GitServer:
    """Open the server that the command-line arguments *args* describe.

    Args:
        args: Such as `["--repository", "orders"]`.
        folder: Where relative paths begin; by default where the process runs.

    Raises:
        ValueError: If they do not; the message is one line.
    """
    parser = _Parser(prog="git server", add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--repository", default=".", type=Path)
    try:
        repository: Path = folder / parser.parse_args(args).repository
    except argparse.ArgumentError as error:
        raise ValueError(f"git server: {error}") from error
    if not repository.is_dir():
        raise ValueError(f"git server: --repository {str(repository)!r} is not a directory")
    return GitServer(repository)


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises where the standard one exits the process."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"git server: {message}; expected --repository PATH")


def _error(text: str) -> Mapping[str, object]:
    return {"content": [{"type": "text", "text": text}], "isError": True}

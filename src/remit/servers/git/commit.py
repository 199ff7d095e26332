"""git_commit: record what is staged, named, or changed at all."""

import secrets
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.to_thread

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.fence import fenced_paths, plain
from remit.servers.git.kept import listed
from remit.servers.git.names import shown
from remit.servers.git.refs import current_branch, find_commit, require_identity
from remit.servers.git.repository import Repository

MOST = 200
"""Files of a commit that are named; all are counted."""


async def git_commit(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """Commit, and leave the index as it was if that fails.

    Raises:
        ToolError: If there is nothing to commit, or a hook refuses.
    """
    git = repository.git
    message = message_from(arguments.text("message"))
    paths = fenced_paths(repository.top, arguments.texts("paths"))
    async with _index_kept(repository):
        if arguments.flag("all"):
            await git.run("add", "--all")
        elif paths:
            await git.run("add", "--all", "--", *paths, advice="see git_status for the paths")
        await _require_changes(repository)
        await commit(repository, message)
    what = ("--first-parent", "-m", "--name-only", "--no-renames", "--no-ext-diff", "--format=")
    files = [file for file in await listed(repository, "log", "-1", *what) if file]
    return {
        "commit": await find_commit(git, "HEAD"),
        "branch": await current_branch(git),
        "subject": message.partition("\n")[0],
        "files": [shown(file) for file in files[:MOST]],
        "file_count": len(files),
    }


def message_from(text: str) -> str:
    """Return a commit message that git can be given.

    Raises:
        ToolError: If it is blank, starts with `-`, or holds control characters.
    """
    return plain(text.replace("\r\n", "\n"), "message", lines=True)


async def commit(repository: Repository, message: str) -> None:
    """Commit the index, hooks included.

    Raises:
        ToolError: If a hook or git itself refuses, with what it said.
    """
    git = await require_identity(repository.git)
    output = await git.ask("commit", "--quiet", "--cleanup=whitespace", f"--message={message}")
    if not output.ok:
        raise ToolError(
            f"git refused the commit: {output.said or 'a hook failed without a word'}\n"
            "nothing was committed; repair what is named above and call again"
        )


async def _require_changes(repository: Repository) -> None:
    staged = await repository.git.ask("diff", "--cached", "--quiet", "--no-ext-diff")
    if staged.ok and repository.under_way is None:
        raise ToolError(
            "nothing to commit; change files first, then name them in paths or set all,"
            " and see git_status"
        )


@asynccontextmanager
async def _index_kept(repository: Repository) -> AsyncGenerator[None]:
    """Put the index back if the block fails, as git does: through its lock file.

    Not if HEAD has moved: then only a hook that comes after the commit was called off.
    """
    head = await find_commit(repository.git, "HEAD")
    index = repository.git_dir / "index"
    lock = index.with_name("index.lock")
    saved = index.with_name(f"index.remit-{secrets.token_hex(8)}")
    existed = await anyio.to_thread.run_sync(_copy, index, saved)
    done = False
    try:
        yield
        done = True
    finally:
        with anyio.CancelScope(shield=True):
            if not done and await find_commit(repository.git, "HEAD") == head:
                await anyio.to_thread.run_sync(_put_back, index, lock, saved if existed else None)
            saved.unlink(missing_ok=True)


def _copy(index: Path, saved: Path) -> bool:
    with suppress(FileNotFoundError):
        shutil.copyfile(index, saved)
        return True
    return False


def _put_back(index: Path, lock: Path, saved: Path | None) -> None:
    # Another git at work holds the lock: then the index is that one's, not ours to replace.
    with suppress(FileExistsError):
        lock.touch(exist_ok=False)
        if saved is None:
            index.unlink(missing_ok=True)
            lock.unlink()
        else:
            saved.replace(lock)
            lock.replace(index)

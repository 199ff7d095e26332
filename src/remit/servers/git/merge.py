"""git_merge, and the merging part of git_pull: all of it or nothing."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.commit import commit, message_from
from remit.servers.git.kept import Kept, keep_tree, listed, restore
from remit.servers.git.names import several
from remit.servers.git.obstacles import require_clear
from remit.servers.git.refs import branch_from, current_branch, find_commit, require_identity
from remit.servers.git.repository import Repository
from remit.servers.git.run import Git, Output

UNDO_LIMIT = 10.0
"""Seconds to put the working tree back after a merge that failed or was called off."""

# `branch.<name>.mergeOptions` and `merge.*` may say otherwise; options on the line win.
_PLAIN = (
    "--no-edit",
    "--no-stat",
    "--no-autostash",
    "--no-overwrite-ignore",
    "--no-progress",
    "--no-log",
    "--cleanup=whitespace",
)


async def git_merge(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """Merge a branch into the current one.

    Raises:
        ToolError: On conflicts, which are named, and on everything else that stands in the
            way; the working tree is then as it was.
    """
    strategy = arguments.text("strategy", "merge")
    branch = await branch_from(repository.git, arguments.text("branch_name"))
    given = arguments.find_text("message")
    message = None if given is None else message_from(given)
    target = await _branch_commit(repository, branch)
    before = await find_commit(repository.git, "HEAD")
    await require_quiet(repository)
    if strategy == "squash":
        result = await _squash(repository, target, message or f"Squash branch '{branch}'")
    elif strategy == "ff-only":
        result = await fast_forward(repository, target)
    else:
        # A message is for a merge commit, so it asks for one also where none is needed.
        style = "--ff" if message is None else "--no-ff"
        result = await merge(repository, target, message or f"Merge branch '{branch}'", style)
    return {
        "branch": branch,
        "into": await current_branch(repository.git),
        "strategy": strategy,
        "result": result,
        "before": before,
        "commit": await find_commit(repository.git, "HEAD"),
    }


async def require_quiet(repository: Repository) -> None:
    """Refuse to merge on top of something unfinished.

    Raises:
        ToolError: If an operation is under way, or changes are staged.
    """
    under_way = repository.under_way
    if under_way is not None:
        raise ToolError(
            f"a {under_way} is under way in this repository; it has to be finished or aborted first"
        )
    staged = await repository.git.ask("diff", "--cached", "--quiet", "--no-ext-diff")
    if not staged.ok:
        raise ToolError("there are staged changes, which would be mixed up; git_commit them first")


async def fast_forward(repository: Repository, target: str) -> str:
    """Move the current branch forward to *target*.

    Raises:
        ToolError: If the two have diverged, or local changes are in the way.
    """
    if await _has(repository, target):
        return "up-to-date"
    head = await find_commit(repository.git, "HEAD")
    if head is not None and not await is_ancestor(repository, head, target):
        raise ToolError(
            "the branches have diverged, so a fast-forward is not possible; nothing changed:"
            " choose another strategy"
        )
    await _merge(repository, repository.git, target, "--ff-only", "--no-squash")
    return "fast-forward"


async def merge(repository: Repository, target: str, message: str, style: str = "--ff") -> str:
    """Merge *target*, with a merge commit where one is needed.

    Args:
        repository: Where.
        target: A commit id.
        message: Of the merge commit.
        style: `--ff` or `--no-ff`.

    Raises:
        ToolError: On a conflict or a refusal; everything is then as it was.
    """
    if await _has(repository, target):
        return "up-to-date"
    if style == "--ff" and await is_ancestor(repository, "HEAD", target):
        return await fast_forward(repository, target)
    await require_clear(repository, target)
    git = await require_identity(repository.git)
    await _merge(repository, git, target, style, "--no-squash", "--commit", f"--message={message}")
    return "merged"


@asynccontextmanager
async def undone_on_failure(
    repository: Repository, target: str, *undo: str
) -> AsyncGenerator[None]:
    """Run the git command *undo* if the block fails or is cancelled, and put the files back.

    To be used where the index equals HEAD and nothing is under way, for a move to *target*.

    Raises:
        ToolError: If the block did: the same, with how the undoing went.
    """
    kept = await keep_tree(repository, target)
    called_off = True
    try:
        yield
        called_off = False
    except ToolError as error:
        called_off = False
        if await _undo(repository, kept, undo):
            raise ToolError(f"{error}\nnothing changed: everything is as before") from error
        raise ToolError(
            f"{error}\nit could not be undone: see git_status, and have the repository repaired"
        ) from error
    finally:
        if called_off:
            await _undo(repository, kept, undo)


async def require_done(repository: Repository, output: Output) -> None:
    """Pass if git did it.

    Raises:
        ToolError: If not, naming the files in conflict if that is why.
    """
    if output.ok:
        return
    files = await listed(repository, "diff", "--name-only", "--diff-filter=U")
    if files:
        raise ToolError(
            f"conflict in {several(files)}; change these files so that they agree, commit, and"
            " call again"
        )
    raise ToolError(
        f"git refused: {output.said or 'a hook failed without a word'}\n"
        "repair what is named above and call again"
    )


async def _undo(repository: Repository, kept: Kept, undo: Sequence[str]) -> bool:
    """Undo, also when the call is being cancelled, and say whether nothing is left of it."""
    with anyio.move_on_after(UNDO_LIMIT, shield=True), suppress(ToolError):
        if not (await repository.git.ask(*undo)).ok:
            await _undo_edited(repository, undo)
        if repository.under_way is None:
            await kept.put_back(repository)
        staged = await repository.git.ask("diff", "--cached", "--quiet", "--no-ext-diff")
        return staged.ok and repository.under_way is None
    return False


async def _undo_edited(repository: Repository, undo: Sequence[str]) -> None:
    git = repository.git
    # A hook has edited files that the merge had written. The index equalled HEAD before, and
    # git does not merge into changed files: what is staged now was all clean, so it may go back.
    paths = await listed(repository, "diff", "--cached", "--name-only", "--no-renames")
    if paths:
        await restore(repository, paths)
        await git.ask(*undo)


async def _merge(repository: Repository, git: Git, target: str, *arguments: str) -> None:
    async with undone_on_failure(repository, target, "merge", "--abort"):
        await require_done(repository, await git.ask("merge", *_PLAIN, *arguments, target))


async def _squash(repository: Repository, target: str, message: str) -> str:
    if await _has(repository, target):
        return "up-to-date"
    await require_clear(repository, target)
    git = await require_identity(repository.git)
    # A squash leaves no MERGE_HEAD, so `merge --abort` would not undo it.
    undo = ("reset", "--quiet", "--merge")
    async with undone_on_failure(repository, target, *undo):
        await require_done(repository, await git.ask("merge", *_PLAIN, "--squash", "--ff", target))
        if (await git.ask("diff", "--cached", "--quiet", "--no-ext-diff")).ok:
            await git.run(*undo)  # nothing new in it; forget the message that git prepared
            return "up-to-date"
        await commit(repository, message)
    return "squashed"


async def _branch_commit(repository: Repository, branch: str) -> str:
    for place in ("refs/heads", "refs/remotes"):
        commit_id = await find_commit(repository.git, f"{place}/{branch}")
        if commit_id is not None:
            return commit_id
    raise ToolError(f"there is no branch {branch!r}; see git_branch with scope all for the names")


async def _has(repository: Repository, target: str) -> bool:
    """Say whether HEAD holds *target* already."""
    return await is_ancestor(repository, target, "HEAD")


async def is_ancestor(repository: Repository, older: str, newer: str) -> bool:
    """Say whether *newer* holds *older*."""
    return (await repository.git.ask("merge-base", "--is-ancestor", older, newer)).ok

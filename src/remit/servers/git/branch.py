"""git_branch and git_checkout: list branches, create them, switch to them."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.kept import keep_tree
from remit.servers.git.merge import UNDO_LIMIT
from remit.servers.git.names import shown_branch
from remit.servers.git.refs import branch_from, current_branch, find_commit, get_commit
from remit.servers.git.repository import Repository
from remit.servers.git.run import LISTING_CAP

PAGE = 100
"""Branches a page."""

_SCOPES = {
    "local": ("refs/heads",),
    "remote": ("refs/remotes",),
    "all": ("refs/heads", "refs/remotes"),
}
# Neither names nor subjects can hold a line break, so a line is one branch.
_FORMAT = "--format=%(refname)%00%(objectname)%00%(upstream)%00%(symref)%00%(subject)"


async def git_branch(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """List branches, or create one without switching to it.

    Raises:
        ToolError: If the new name is not valid or taken, or its base is no commit.
    """
    name, base = arguments.find_text("branch_name"), arguments.find_text("base")
    page = arguments.number("page", 1)
    if name is not None:
        commit = await _create(repository, name, base)
        branches, total = await _branches(repository, (f"refs/heads/{name}",), 1)
        created: dict[str, str] | None = {"name": name, "commit": commit}
    elif base is not None:
        raise ToolError("base is where a new branch starts; give its branch_name too")
    else:
        scope = arguments.text("scope", "local")
        branches, total = await _branches(repository, _SCOPES[scope], page)
        created = None
    has_next = created is None and total > page * PAGE
    return {
        "current": await current_branch(repository.reader),
        "branches": branches,
        "created": created,
        "total": total,
        "next_page": page + 1 if has_next else None,
        "truncated": has_next,
    }


async def git_checkout(repository: Repository, arguments: Arguments) -> dict[str, object]:
    """Switch to a branch, which may be new.

    Raises:
        ToolError: If there is no such branch, or local changes are in the way.
    """
    git, create = repository.git, arguments.flag("create")
    name = await branch_from(git, arguments.text("branch_name"))
    previous = await current_branch(git)
    options = ["--create", name] if create else ["--guess", name]
    target = None if create else await _target(repository, name)
    async with _tree_kept(repository, target):
        output = await git.ask("switch", "--no-overwrite-ignore", "--no-progress", *options)
        current = await current_branch(git)
        if not output.ok and current == name != previous:
            raise ToolError(f"now on {name!r}, but the post-checkout hook failed: {output.said}")
        if not output.ok:
            raise ToolError(
                f"could not switch to {name!r}: {output.said}\nnothing changed; commit local"
                " changes that are in the way, see git_branch for the branches, or set create for"
                " a new one"
            )
    return {
        "branch": name,
        "previous": previous,
        "commit": await find_commit(git, "HEAD"),
        "created": create,
    }


async def _target(repository: Repository, name: str) -> str | None:
    """Return the commit that a switch to *name* goes to, if there is one."""
    commit = await find_commit(repository.git, f"refs/heads/{name}")
    if commit is not None:
        return commit
    tracked = await repository.git.ask(
        "for-each-ref", "--format=%(objectname)", f"refs/remotes/*/{name}"
    )
    return tracked.out.partition("\n")[0] or None


@asynccontextmanager
async def _tree_kept(repository: Repository, target: str | None) -> AsyncGenerator[None]:
    """Put the files back if the block fails or is called off before HEAD is at *target*."""
    if target is None:
        yield
        return
    kept = await keep_tree(repository, target)
    is_done = False
    try:
        yield
        is_done = True
    finally:
        if not is_done:
            with anyio.move_on_after(UNDO_LIMIT, shield=True):
                await kept.put_back(repository)


async def _create(repository: Repository, name: str, base: str | None) -> str:
    git = repository.git
    await branch_from(git, name)
    if base is not None:
        commit = await get_commit(git, base, "base")
    else:
        head = await find_commit(git, "HEAD")
        if head is None:
            raise ToolError(
                "there is no commit to start from; commit first, or use git_checkout with create"
            )
        commit = head
    await git.run("branch", name, commit, advice="choose another branch_name")
    return commit


async def _branches(
    repository: Repository, patterns: tuple[str, ...], page: int
) -> tuple[list[dict[str, object]], int]:
    """Return a page of the branches under *patterns*, and how many there are in all."""
    git = repository.reader
    listing = await git.ask("for-each-ref", "--sort=refname", _FORMAT, *patterns, cap=LISTING_CAP)
    current = await current_branch(git)
    # What follows the last line break is empty; `origin/HEAD` is another name of a branch.
    lines = [line.split("\0") for line in listing.names.split("\n")[:-1]]
    every = [fields for fields in lines if not fields[3]]
    shown_now = every[(page - 1) * PAGE : page * PAGE]
    return [_branch(fields, current) for fields in shown_now], len(every)


def _branch(fields: Sequence[str], current: str | None) -> dict[str, object]:
    reference, commit, upstream = fields[:3]
    is_remote = reference.startswith("refs/remotes/")
    name = shown_branch(reference.split("/", 2)[2])
    return {
        "name": name,
        "commit": commit,
        "remote": is_remote,
        "current": not is_remote and name == current,
        "upstream": shown_branch(upstream.split("/", 2)[-1]) or None,
        "subject": os.fsencode(fields[4]).decode(errors="replace"),
    }

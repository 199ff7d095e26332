"""Branches, commits and remotes: from what a caller wrote to what git is told."""

import re
from dataclasses import replace

from remit.servers.errors import ToolError
from remit.servers.git.fence import plain
from remit.servers.git.run import Git

_COMMIT_ID = re.compile(r"[0-9a-f]{40,64}")
_RANGE = re.compile(r"\.{2,3}")


async def branch_from(git: Git, name: str, what: str = "branch_name") -> str:
    """Return *name* if it is a valid name of a branch, existing or not.

    Raises:
        ToolError: Otherwise; refspecs (`a:b`, `+a`) and `@{-1}` are no names.
    """
    plain(name, what)
    checked = await git.ask("check-ref-format", "--branch", name)
    if name.startswith("+") or not checked.ok or checked.out.removesuffix("\n") != name:
        raise ToolError(f"{what} {name!r} is not a valid branch name; see git_branch for the list")
    return name


async def find_commit(git: Git, ref: str) -> str | None:
    """Return the id of the commit that *ref* names, if any."""
    output = await git.ask(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"
    )
    commit = output.out.strip()
    return commit if output.ok and _COMMIT_ID.fullmatch(commit) else None


async def get_commit(git: Git, ref: str, what: str) -> str:
    """Return the id of the commit that *ref* names.

    Raises:
        ToolError: If it names none.
    """
    commit = await find_commit(git, plain(ref, what))
    if commit is None:
        raise ToolError(f"{what} {ref!r} is no commit here; see git_log and git_branch for names")
    return commit


async def get_range(git: Git, ref: str, what: str) -> str:
    """Return *ref*, a commit or a range `a..b` or `a...b`, with ids in place of names.

    Raises:
        ToolError: If a part names no commit.
    """
    dots = _RANGE.search(plain(ref, what))
    if dots is None:
        return await get_commit(git, ref, what)
    first = await get_commit(git, ref[: dots.start()] or "HEAD", what)
    last = await get_commit(git, ref[dots.end() :] or "HEAD", what)
    return f"{first}{dots.group()}{last}"


async def get_remote(git: Git, name: str) -> str:
    """Return *name* if a remote is configured under it.

    Raises:
        ToolError: Otherwise, with the configured ones; URLs and paths are never remotes.
    """
    plain(name, "remote")
    known = (await git.run("remote")).splitlines()
    if name not in known:
        listed = ", ".join(known) or "none"
        raise ToolError(
            f"remote {name!r} is not configured here (configured: {listed});"
            " give the name of a configured remote"
        )
    return name


async def current_branch(git: Git) -> str | None:
    """Return the branch that HEAD is on, born or not; None when HEAD is detached."""
    output = await git.ask("symbolic-ref", "--quiet", "--short", "HEAD")
    return output.out.removesuffix("\n") if output.ok else None


async def with_identity(git: Git) -> Git:
    """Return *git* with a stand-in for whatever of the committer's identity is not configured."""
    output = await git.ask("config", "--null", "--get-regexp", r"^user\.(name|email)$")
    configured = {entry.partition("\n")[0] for entry in output.out.split("\0")}
    stand_in = {"user.name": "remit", "user.email": "remit@localhost"}
    missing = [f"{key}={value}" for key, value in stand_in.items() if key not in configured]
    return replace(git, options=tuple(part for setting in missing for part in ("-c", setting)))

"""Branches, commits and remotes: from what a caller wrote to what git is told."""

import re
from dataclasses import replace

from remit.servers.errors import ToolError
from remit.servers.git.credentials import without_credentials
from remit.servers.git.fence import plain
from remit.servers.git.names import shown_branch
from remit.servers.git.run import Git

_COMMIT_ID = re.compile(r"[0-9a-f]{40,64}")
_RANGE = re.compile(r"\.{2,3}")


async def branch_from(git: Git, name: str, what: str = "branch_name") -> str:
    """Return *name* if it is a valid name of a branch, existing or not.

    Raises:
        ToolError: Otherwise; refspecs (`a:b`, `+a`) and `@{-1}` are no names.
    """
    require_text(plain(name, what))
    if name.startswith("refs/"):
        raise ToolError(
            f"{what} {name!r} is the full name of a ref; give the branch's own, such as"
            f" {name.removeprefix('refs/heads/')!r}"
        )
    checked = await git.ask("check-ref-format", "--branch", name)
    is_itself = checked.ok and checked.out.removesuffix("\n") == name
    # Both are possible names of a branch; `@` is HEAD's too, and `+` means force in a refspec.
    if name == "@" or name.startswith("+") or not is_itself:
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
            f"remote {without_credentials(name)!r} is not configured here (configured: {listed});"
            " give the name of a configured remote"
        )
    return name


async def current_branch(git: Git) -> str | None:
    """Return the branch that HEAD is on, born or not; None when HEAD is detached.

    A name that is not UTF-8 comes in its quoted form, which holds a backslash as no name does.
    """
    # Not --short: a tag of the same name would make it `heads/main`.
    output = await git.ask("symbolic-ref", "--quiet", "HEAD")
    name = output.names.removesuffix("\n").removeprefix("refs/heads/")
    return shown_branch(name) if output.ok else None


def require_text(branch: str) -> str:
    """Return *branch*, the name of one that is there, if it is plain text.

    Raises:
        ToolError: If it is the quoted form of another one, for which there is no argument.
    """
    if "\\" in branch:
        raise ToolError(
            f"the name of branch {branch} is not UTF-8; rename it first, with `git branch -m`"
        )
    return branch


async def require_identity(git: Git) -> Git:
    """Return *git* such that it never makes up who commits.

    Raises:
        ToolError: If neither settings nor environment say who that is.
    """
    sure = replace(git, options=(*git.options, "-c", "user.useConfigOnly=true"))
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if not (await sure.ask("var", who)).ok:
            raise ToolError(
                "git does not know who commits; nothing changed: have user.name and user.email"
                " set (`git config --global user.name NAME`), or GIT_AUTHOR_NAME,"
                " GIT_AUTHOR_EMAIL, GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL in the server's"
                " environment"
            )
    return sure

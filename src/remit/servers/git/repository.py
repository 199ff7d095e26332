"""The repository a call works on, found from the configured one and kept inside it."""

import os
from dataclasses import dataclass
from pathlib import Path

from remit.servers.errors import ToolError
from remit.servers.git.credentials import secrets_in
from remit.servers.git.fence import plain
from remit.servers.git.run import Git

_ANSWERS = 3

# What git leaves in its directory while an operation is under way.
_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One git working tree.

    Attributes:
        top: The top level of the working tree; every path in and out is relative to it.
        git_dir: Where this working tree's HEAD and index are.
    """

    top: Path
    git_dir: Path
    git: Git

    @property
    def under_way(self) -> str | None:
        """The unfinished operation, such as `merge`, if there is one."""
        found = (name for file, name in _UNDER_WAY.items() if (self.git_dir / file).exists())
        return next(found, None)


async def open_repository(root: Path, repo_path: str | None) -> Repository:
    """Open the repository at *repo_path*, which may not leave *root*.

    Args:
        root: The configured repository, resolved.
        repo_path: Relative to *root* or absolute; *root* itself when None.

    Raises:
        ToolError: If it is no repository, or one outside the fence.
    """
    directory = _directory_in(root, repo_path)
    top, git_dir, common = await _locate(directory)
    if not top.is_relative_to(root):
        raise ToolError(
            "the directory belongs to a git repository whose top level is outside the configured"
            " one; configure that top level as --repository, or name a repository inside"
        )
    if top != root and not await _shares_storage(root, common):
        raise ToolError(
            "the .git of this repository points outside the configured repository;"
            " name another repo_path"
        )
    git = Git(directory=top, lock=git_dir / "index.lock")
    # `url`, `pushurl` and `url.<base>.insteadOf` all hold addresses, and so may `remote`.
    urls = await git.ask("config", "--null", "--get-regexp", "(url|remote)")
    secrets = secrets_in(urls.out)
    return Repository(
        top=top, git_dir=git_dir, git=Git(directory=top, lock=git.lock, secrets=secrets)
    )


def _directory_in(root: Path, repo_path: str | None) -> Path:
    if repo_path is None:
        return root
    directory = _real(root / plain(repo_path, "repo_path"))
    if not directory.is_relative_to(root):
        raise ToolError(
            "repo_path is outside the configured repository; leave it out, or name a directory"
            " inside"
        )
    if not directory.is_dir():
        raise ToolError("repo_path is not a directory; leave it out for the configured repository")
    return directory


async def _locate(directory: Path) -> tuple[Path, Path, Path]:
    """Return the top level, the git directory and the common git directory, all resolved."""
    output = await Git(directory=directory).ask(
        "rev-parse",
        "--path-format=absolute",
        "--show-toplevel",
        "--absolute-git-dir",
        "--git-common-dir",
    )
    lines = output.out.splitlines()
    if not output.ok or len(lines) != _ANSWERS:
        raise ToolError(
            f"not a git working tree: {output.said}\nname a repository as repo_path, or run"
            " `git init` in the configured one"
        )
    top, git_dir, common = map(_real, lines)
    return top, git_dir, common


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


async def _shares_storage(root: Path, common: Path) -> bool:
    """Say whether *common* is inside *root*, or in the git directory that *root* itself uses."""
    if common.is_relative_to(root):
        return True
    try:
        _, _, own = await _locate(root)
    except ToolError:
        return False
    return common.is_relative_to(own)

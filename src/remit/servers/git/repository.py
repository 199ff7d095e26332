"""The repository a call works on, found from the configured one and kept inside the roots."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from remit.servers.errors import ToolError
from remit.servers.git.connect import Credentials
from remit.servers.git.credentials import secrets_in
from remit.servers.git.fence import plain
from remit.servers.git.run import LISTING_CAP, Git
from remit.servers.git.storage import require_storage_in
from remit.servers.git.trust import reading_environment

# What git leaves in its directory while an operation is under way.
_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
_OWN = frozenset({"local", "worktree"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """What the server may work on.

    Attributes:
        repository: The configured repository, resolved, if there is one.
        others: Folders, resolved, all of whose repositories may be named.
    """

    repository: Path | None
    others: tuple[Path, ...] = ()

    @property
    def all(self) -> tuple[Path, ...]:
        """The configured repository and the folders."""
        return (*(() if self.repository is None else (self.repository,)), *self.others)

    def hold(self, path: Path) -> bool:
        """Say whether *path*, resolved, is inside."""
        return any(path.is_relative_to(root) for root in self.all)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """One git working tree.

    Attributes:
        top: The top level of the working tree; every path in and out is relative to it.
        git_dir: Where this working tree's HEAD and index are.
        common: The git directory that it shares with other working trees of the repository.
        git: Runs git as the repository is set up: with its hooks, filters and merge drivers.
        reader: Runs git so that no program of the repository's choosing runs, and nothing is
            fetched.
        credentials: For remotes.
    """

    top: Path
    git_dir: Path
    common: Path
    git: Git
    reader: Git
    credentials: Credentials

    @property
    def under_way(self) -> str | None:
        """The unfinished operation, such as `merge`, if there is one."""
        found = (name for file, name in _UNDER_WAY.items() if (self.git_dir / file).exists())
        return next(found, None)


async def open_repository(
    roots: Roots,
    repo_path: str | None,
    environ: Mapping[str, str],
    credentials: Credentials,
) -> Repository:
    """Open the repository at *repo_path*, which may not leave *roots*.

    Args:
        roots: What is allowed.
        repo_path: Absolute, or relative to the first of *roots*; the configured repository when
            None.
        environ: All that git may know of the environment.
        credentials: For remotes.

    Raises:
        ToolError: If it is no repository, or one outside the fence.
    """
    directory = _directory_in(roots, repo_path)
    top, git_dir, common, objects = await _locate(directory, environ)
    if not roots.hold(top):
        raise ToolError(
            "the directory belongs to a git repository whose top level is outside the configured"
            " one; configure that top level as --repository, or name a repository inside"
        )
    if top != roots.repository:
        allowed = [*roots.all, *await _own_storage(roots, environ)]
        require_storage_in(allowed, git_dir, common, objects)
    homes = (git_dir,) if git_dir == common else (git_dir, common)
    git = Git(directory=top, environ=environ, homes=homes)
    secrets, own = await _settings(git)
    git = replace(git, secrets=secrets | credentials.secrets)
    return Repository(
        top=top,
        git_dir=git_dir,
        common=common,
        git=git,
        reader=replace(git, environ=reading_environment(environ, own)),
        credentials=credentials,
    )


async def _settings(git: Git) -> tuple[frozenset[str], list[str]]:
    """Return the secrets in git's settings, and the keys of those that are the repository's own."""
    listing = await git.ask("config", "--null", "--show-scope", "--list", cap=LISTING_CAP)
    if not listing.ok or listing.truncated:
        raise ToolError(
            f"git cannot read the configuration of the repository: {listing.said}\nhave it repaired"
        )
    # A scope, and then a key and its value with a line break between them.
    scopes = listing.fields[::2]
    settings = [setting.partition("\n")[::2] for setting in listing.fields[1::2]]
    # `url`, `pushurl` and `url.<base>.insteadOf` all hold addresses, and so may `remote`.
    urls = [f"{key} {value}" for key, value in settings if "url" in key or "remote" in key]
    own = [key for scope, (key, _) in zip(scopes, settings, strict=True) if scope in _OWN]
    return secrets_in("\0".join(urls)), own


def _directory_in(roots: Roots, repo_path: str | None) -> Path:
    if repo_path is None:
        if roots.repository is None:
            folders = ", ".join(map(str, roots.others))
            raise ToolError(f"no repository is configured: name one as repo_path, in {folders}")
        return roots.repository
    directory = _real(roots.all[0] / plain(repo_path, "repo_path"))
    if not roots.hold(directory):
        raise ToolError(
            "repo_path is outside the configured repository; leave it out, or name a directory"
            " inside"
        )
    if not directory.is_dir():
        raise ToolError("repo_path is not a directory; leave it out for the configured repository")
    return directory


async def _locate(directory: Path, environ: Mapping[str, str]) -> tuple[Path, Path, Path, Path]:
    """Return the top level, the git directory, the common one and the objects, all resolved."""
    asked = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--git-path", "objects")
    output = await Git(directory=directory, environ=environ).ask(
        "rev-parse", "--path-format=absolute", *asked
    )
    lines = output.names.split("\n")[:-1]
    if "must be run in a work tree" in output.err or "bare repository" in output.err:
        raise ToolError(
            "not a git working tree but a bare repository, or git's own directory: name a"
            " repository with a working tree as repo_path, or configure one (`git worktree add`"
            " makes one for a bare repository)"
        )
    if not output.ok or len(lines) != len(asked) - 1:
        raise ToolError(
            f"not a git working tree: {output.said}\nname a repository as repo_path, or run"
            " `git init` in the configured one"
        )
    top, git_dir, common, objects = map(_real, lines)
    return top, git_dir, common, objects


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


async def _own_storage(roots: Roots, environ: Mapping[str, str]) -> list[Path]:
    """Return where the configured repository keeps what it shares with its working trees."""
    if roots.repository is None:
        return []
    try:
        _, _, own, _ = await _locate(roots.repository, environ)
    except ToolError:
        return []
    return [own]

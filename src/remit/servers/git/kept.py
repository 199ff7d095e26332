"""What git moves the working tree away from, to go back there if it stops half way.

git writes the files one by one, then the index, then HEAD. Called off between, or failing at one
file, it leaves what it has written. What may be put back without harm is known beforehand: files
that equal HEAD, and those that are not there at all; git refuses to touch any others.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from remit.servers.errors import ToolError
from remit.servers.git.refs import find_commit
from remit.servers.git.repository import Repository
from remit.servers.git.run import LISTING_CAP

_AT_ONCE = 500
_NAMES = ("--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The files that may change on the way from HEAD to another commit.

    Attributes:
        head: The commit that HEAD is at; None before the first one.
        as_in_head: Files that are as in HEAD.
        absent: Files that are not there.
    """

    head: str | None
    as_in_head: frozenset[str]
    absent: frozenset[str]

    async def put_back(self, repository: Repository) -> None:
        """Put files and index back, unless HEAD has moved: then git had got through.

        Raises:
            ToolError: If git cannot say what differs.
        """
        git = repository.git
        if await find_commit(git, "HEAD") != self.head:
            return
        for name in self.absent:
            _remove(repository.top, name)
        if self.head is None:
            await git.ask("read-tree", "--empty")
            return
        staged = await listed(repository, "diff", "--cached", *_NAMES, "--diff-filter=A", self.head)
        for names in _portions(sorted(self.absent.intersection(staged))):
            await git.ask("rm", "--cached", "--quiet", "--force", "--", *names)
        changed = await listed(repository, "diff", *_NAMES, self.head)
        await restore(repository, sorted(self.as_in_head.intersection(changed)))


async def restore(repository: Repository, names: Sequence[str]) -> None:
    """Make files, which HEAD has, in index and working tree what they are in HEAD."""
    for some in _portions(names):
        await repository.git.ask("restore", "--source=HEAD", "--staged", "--worktree", "--", *some)


async def keep_tree(repository: Repository, target: str) -> Kept:
    """Note what there is of what a move from HEAD to *target* may change.

    Raises:
        ToolError: If that is too much to note.
    """
    head = await find_commit(repository.git, "HEAD")
    if head is None:
        theirs = set(await listed(repository, "ls-tree", "-r", "--name-only", target))
        return Kept(head=None, as_in_head=frozenset(), absent=_absent(repository.top, theirs))
    touched = await listed(
        repository, "diff", "--name-status", "--no-renames", "--no-ext-diff", head, target
    )
    by_name = dict(zip(touched[1::2], touched[::2], strict=True))
    new = {name for name, state in by_name.items() if state == "A"}
    changed = await listed(repository, "diff", *_NAMES, head)
    return Kept(
        head=head,
        as_in_head=frozenset(by_name.keys() - new - set(changed)),
        absent=_absent(repository.top, new),
    )


async def listed(repository: Repository, command: str, *arguments: str) -> list[str]:
    """Return what git lists between NULs, all of it.

    Raises:
        ToolError: If git fails, or lists more than can be worked through.
    """
    output = await repository.git.ask(command, "-z", *arguments, cap=LISTING_CAP)
    if not output.ok or output.truncated:
        raise ToolError(
            f"git could not list what differs: {output.said or output.status}\n"
            "nothing changed; see git_status"
        )
    return output.fields


def _absent(top: Path, names: set[str]) -> frozenset[str]:
    return frozenset(name for name in names if not os.path.lexists(top / name))


def _portions(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), _AT_ONCE):
        yield names[start : start + _AT_ONCE]


def _remove(top: Path, name: str) -> None:
    """Remove a file that git has written, and the folders that are empty without it."""
    file = top / name
    if os.path.realpath(file.parent) != str(file.parent):
        return  # behind a link, where git writes nothing
    with suppress(OSError):
        file.unlink()
        for folder in file.parents:
            if folder == top:
                return
            folder.rmdir()

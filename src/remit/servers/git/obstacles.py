"""Files that git would overwrite in a merge without asking: the ignored ones."""

import os
from collections.abc import Iterable
from pathlib import Path

from remit.servers.errors import ToolError
from remit.servers.git.kept import listed
from remit.servers.git.names import several
from remit.servers.git.repository import Repository


async def require_clear(repository: Repository, target: str) -> None:
    """Refuse to bring in *target* over files that git does not know here.

    Git protects untracked files itself, but takes ignored ones for expendable in every merge
    that is no fast-forward: an aborted one, too, would leave them lost.

    Raises:
        ToolError: If there are such files, naming the first ones.
    """
    if not (await repository.git.ask("merge-base", "HEAD", target)).ok:
        raise ToolError(
            "the two have unrelated histories, so they are not merged (in a shallow clone the"
            " common part may be missing: `git fetch --unshallow` brings it); nothing changed"
        )
    # What the other side touched, and HEAD lacks: deleted here alone, it is left alone.
    touched = await _paths(repository, "--diff-filter=d", f"HEAD...{target}")
    unknown = await _paths(repository, "--diff-filter=A", "HEAD", target)
    present = _present(repository.top, touched & unknown)
    if present:
        raise ToolError(
            f"untracked files are in the way: {several(present)}; nothing changed: move or delete"
            " them"
        )


async def _paths(repository: Repository, *arguments: str) -> set[str]:
    return set(await listed(repository, "diff", "--name-only", "--no-renames", *arguments))


def _present(top: Path, paths: Iterable[str]) -> list[str]:
    return sorted(path for path in paths if os.path.lexists(top / path))

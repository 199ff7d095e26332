"""Files that git would overwrite in a merge without asking: the ignored ones."""

import os
from collections.abc import Iterable
from pathlib import Path

from remit.servers.errors import ToolError
from remit.servers.git.repository import Repository

_NAMED = 10


async def require_clear(repository: Repository, target: str) -> None:
    """Refuse to bring in *target* over files that git does not know here.

    Git protects untracked files itself, but takes ignored ones for expendable in every merge
    that is no fast-forward: an aborted one, too, would leave them lost.

    Raises:
        ToolError: If there are such files, naming the first ones.
    """
    # What the other side touched, and HEAD lacks: deleted here alone, it is left alone.
    touched = await _paths(repository, "--diff-filter=d", f"HEAD...{target}")
    unknown = await _paths(repository, "--diff-filter=A", "HEAD", target)
    present = _present(repository.top, touched & unknown)
    if present:
        listed = ", ".join(repr(path) for path in present[:_NAMED])
        raise ToolError(
            f"untracked files are in the way: {listed}; nothing changed: move or delete them"
        )


async def _paths(repository: Repository, *arguments: str) -> set[str]:
    listing = await repository.git.ask("diff", "--name-only", "--no-renames", "-z", *arguments)
    return set(listing.out.split("\0")[:-1])


def _present(top: Path, paths: Iterable[str]) -> list[str]:
    return sorted(path for path in paths if os.path.lexists(top / path))

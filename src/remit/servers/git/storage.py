"""Where a repository keeps its commits: what a nested one may not have outside of the roots."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from remit.servers.errors import ToolError
from remit.servers.git.names import read_name

# Git itself follows alternates of alternates five deep.
_DEEPEST = 6
_LONGEST_LIST = 65536


def require_storage_in(allowed: Sequence[Path], git_dir: Path, common: Path, objects: Path) -> None:
    """Refuse a repository that reads from outside of *allowed*, which are resolved.

    Its `.git` may be a file or a link, and so may what is in it; its objects may be borrowed
    (`info/alternates`).

    Raises:
        ToolError: If one of these leads outside.
    """
    folders = (git_dir, common, objects, objects / "pack")
    for place in (*folders, *(link for folder in folders for link in _links_in(folder))):
        if not _is_in(place, allowed):
            raise ToolError(
                "the .git of this repository points outside the configured repository;"
                " name another repo_path"
            )
    seen = {objects}
    level = [objects]
    for _ in range(_DEEPEST):
        level = [found for place in level for found in _borrowed_from(place) if found not in seen]
        seen.update(level)
        if not all(_is_in(place, allowed) for place in level):
            raise ToolError(
                "this repository borrows objects from outside the configured repository"
                " (info/alternates); name another repo_path"
            )


def _is_in(place: Path, allowed: Sequence[Path]) -> bool:
    return any(place.is_relative_to(root) for root in allowed)


def _borrowed_from(objects: Path) -> Iterator[Path]:
    try:
        with (objects / "info" / "alternates").open("rb") as file:
            listed = file.read(_LONGEST_LIST + 1)
    except OSError:
        return
    if len(listed) > _LONGEST_LIST:
        raise ToolError("this repository borrows objects from too many others")
    for line in os.fsdecode(listed).split("\n"):
        if line and not line.startswith("#"):
            yield _real(objects / read_name(line))


def _links_in(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from (_real(entry.path) for entry in entries if entry.is_symlink())


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))

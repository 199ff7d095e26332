"""Files of remit's own that everybody on this machine can read or write."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from remit.errors import Problem

_HARMLESS = frozenset({".gitignore"})


def exposed_files(state: Path, others: Iterable[Path] = ()) -> Iterator[Problem]:
    """Give every file that others than its owner and group can read or write.

    A file whose folder lets nobody else in is none of them, whatever its own mode.

    Args:
        state: The folder of database, journal and keys; it need not be there.
        others: More files, such as a database elsewhere; they need not be there.
    """
    found = {path for path in state.rglob("*") if path.name not in _HARMLESS}
    for path in sorted({*found, *others}):
        # what is behind a folder that does not let us in cannot be looked at
        if os.access(path, os.F_OK) and path.is_file() and _is_exposed(path):
            yield Problem(
                code="exposed-file",
                message="everybody on this machine can read or write it, and it holds keys or the"
                " record",
                file=str(path),
                remedy=f"chmod 600 {path}, and look who may have read it",
            )


def _is_exposed(path: Path) -> bool:
    mode, folder = path.stat().st_mode, path.parent.stat().st_mode
    return bool(mode & (stat.S_IROTH | stat.S_IWOTH) and folder & stat.S_IXOTH)

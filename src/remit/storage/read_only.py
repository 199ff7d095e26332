"""Read an SQLite database on storage that can only be read, such as a copy that an auditor has."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event


def is_on_read_only_storage(path: Path) -> bool:
    """Whether there is a file or folder at *path* which nobody can write, whoever owns it."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def only_read(engine: Engine, path: Path) -> None:
    """Let the connections that *engine* opens write nothing, not even files beside the database."""
    event.listen(engine, "do_connect", _opening(path))


def _opening(path: Path) -> Callable[..., None]:
    def open_it(_: object, __: object, arguments: list[Any], options: dict[str, Any]) -> None:
        arguments[0] = f"{path.absolute().as_uri()}?{_how(path)}"
        options["uri"] = True

    return open_it


def _how(path: Path) -> str:
    """Return `immutable`, without which SQLite wants to make an index of the write-ahead log.

    Not where something stands in that log: it would be passed over.
    """
    log = path.with_name(f"{path.name}-wal")
    is_whole = not log.exists() or log.stat().st_size == 0
    return "mode=ro&immutable=1" if is_whole else "mode=ro"

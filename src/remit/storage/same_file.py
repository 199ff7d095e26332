"""SQLite keeps writing into a file that was deleted or replaced under it; here it does not."""

import sqlite3
from pathlib import Path

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

_KEY = "remit_file"


class SameFile:
    """Keeps SQLite from writing on into a file that was deleted or replaced under it.

    Nobody would ever find those rows; while there is no such file, events stay in the journal.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def watch(self, engine: Engine) -> None:
        """Look whenever a connection is opened or lent."""
        event.listen(engine, "do_connect", self._need_file)
        event.listen(engine, "connect", self._remember)
        event.listen(engine, "checkout", self._compare)

    def _need_file(self, *_: object) -> None:
        if not self._path.exists():
            raise sqlite3.OperationalError("the file is gone")

    def _remember(self, _: object, entry: ConnectionPoolEntry) -> None:
        entry.info[_KEY] = self._identity()

    def _compare(self, _: object, entry: ConnectionPoolEntry, __: object) -> None:
        if entry.info[_KEY] != self._identity():
            raise DisconnectionError("the file is another one")  # the pool opens it anew

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

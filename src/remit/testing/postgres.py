"""A PostgreSQL server of one's own, on a socket in a temporary folder, for tests and benchmarks."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

import psycopg

_INSTALLED: Final = Path("/usr/lib/postgresql")
_OPTIONS: Final = "-c listen_addresses= -c fsync=off -c max_connections=80"
_LONGEST: Final = 50


class PostgresServer:
    """A server that can be stopped and started.

    Attributes:
        folder: Where its socket is.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        if self._user is not None:
            shutil.chown(folder, self._user, self._user)
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        """Return when it answers."""
        options = f"-k {self.folder} {_OPTIONS}"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """End it at once; every connection breaks, what was committed is kept."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    @contextmanager
    def database(self) -> Generator[str]:
        """Make an empty database, give its URL, and remove it afterwards."""
        name = f"t{uuid4().hex}"
        self._execute(f'CREATE DATABASE "{name}"')
        yield f"postgresql://postgres@/{name}?host={self.folder}"
        self._execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def _execute(self, statement: str) -> None:
        with psycopg.connect(host=str(self.folder), user="postgres", autocommit=True) as server:
            server.execute(statement.encode())

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, "-D", self.folder / "data", *arguments],
            check=True,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=_LONGEST,
            user=self._user,
            group=self._user,
            extra_groups=[] if self._user else None,
        )


def postgres_programs() -> Path | None:
    """Return the folder of the newest installed server's programs, or None."""
    found = sorted(_INSTALLED.glob("*/bin/initdb"), key=lambda path: path.parts[-3])
    return found[-1].parent if found else None


@contextmanager
def open_postgres(programs: Path) -> Generator[PostgresServer]:
    """Run a server while entered."""
    folder = Path(tempfile.mkdtemp(prefix="remit-postgres-"))
    try:
        server = PostgresServer(programs, folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)

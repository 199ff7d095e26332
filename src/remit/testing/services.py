"""PostgreSQL and Redis servers of a test's own, which can be stopped and started in between."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import psycopg

from remit.testing.loopback import LoopbackServer


def postgres_programs() -> Path | None:
    """Return the folder of the newest installed PostgreSQL's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: p.parts[-3])
    return found[-1].parent if found else None


class Postgres:
    """A server that listens on a socket in its folder; `testing/` may start and stop it.

    Attributes:
        folder: Where its socket and its data are.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        if self._user is not None:
            shutil.chown(folder, self._user, self._user)
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database of that name."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    @contextmanager
    def database(self) -> Generator[str]:
        """Make an empty database, give its address, and remove it afterwards."""
        name = f"t{uuid4().hex}"
        self._execute(f'CREATE DATABASE "{name}"')
        yield self.url(name)
        self._execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def start(self, *, connections: int = 50) -> None:
        """Start it and return when it answers.

        Args:
            connections: How many there may be at once.
        """
        options = (
            f"-k {self.folder} -c listen_addresses= -c fsync=off -c max_connections={connections}"
        )
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Stop it at once, whoever is connected."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, "-D", self.folder / "data", *arguments],
            check=True,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=50,
            user=self._user,
            group=self._user,
            extra_groups=[] if self._user else None,
        )


@contextmanager
def open_postgres(programs: Path, *, connections: int = 50) -> Generator[Postgres]:
    """Run a PostgreSQL server; it is gone at the end, with all its data."""
    folder = Path(tempfile.mkdtemp(prefix="remit-postgres-"))
    server = Postgres(programs, folder)
    server.start(connections=connections)
    try:
        yield server
    finally:
        with suppress(subprocess.CalledProcessError):  # a test may have stopped it
            server.stop()
        shutil.rmtree(folder)


class Redis(LoopbackServer):
    """A server that keeps nothing on disk."""

    @property
    def url(self) -> str:
        """Its address, as `REMIT_SHARED_URL` takes it."""
        return f"redis://127.0.0.1:{self._port}/0"

    def _options(self) -> Sequence[str]:
        return ("--port", str(self._port), "--bind", "127.0.0.1", "--save", "")

    def _greets(self, link: socket.socket) -> bool:
        link.sendall(b"PING\r\n")
        return link.recv(16).startswith(b"+PONG")


@contextmanager
def open_redis(folder: Path) -> Generator[Redis | None]:
    """Run a Redis (or Valkey) server in *folder*; None where neither is installed."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        yield None
        return
    server = Redis(program, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()

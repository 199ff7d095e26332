"""A NATS server of a test's own, with JetStream, which can be stopped and started in between."""

import shutil
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

START: Final = 30.0
"""Seconds it has to answer; generous, since CI is slow."""


class Nats:
    """A server on a port of loopback that keeps its streams in a folder."""

    def __init__(self, program: str, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port: int = probe.getsockname()[1]
        self._program = program
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address, as `REMIT_EVENTS_URL` takes it."""
        return f"nats://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it with what it stored before, and return when it answers."""
        process = subprocess.Popen(
            [self._program, "-a", "127.0.0.1", "-p", str(self._port), "-js", "-sd", self._folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._process = process
        deadline = time.monotonic() + START
        while not self._answers():
            if time.monotonic() > deadline or process.poll() is not None:
                raise AssertionError("the NATS server does not answer")
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)

    def stop(self) -> None:
        """Stop it at once, whoever is connected."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1) as link:
            link.settimeout(1)
            return link.recv(16).startswith(b"INFO")
        return False


@contextmanager
def open_nats(folder: Path) -> Generator[Nats | None]:
    """Run a NATS server in *folder*; None where it is not installed."""
    program = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")
    if program is None:
        yield None
        return
    server = Nats(program, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()

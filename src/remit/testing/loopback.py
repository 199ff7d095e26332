"""A server program of a test's own on a port of loopback."""

import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

START: Final = 30.0
"""Seconds it has to answer; generous, since CI is slow."""


class LoopbackServer(ABC):
    """A program that can be stopped and started in between.

    Args:
        program: Its path.
        folder: Where it runs, and keeps what it keeps; made if it is not there.
    """

    def __init__(self, program: str, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port: int = probe.getsockname()[1]
        self._program = program
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it with what it has kept, and return when it answers."""
        process = self._process = subprocess.Popen(
            [self._program, *self._options()],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START
        while not self._answers():
            if time.monotonic() > deadline or process.poll() is not None:
                raise AssertionError(f"{self._program} does not answer")
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)

    def stop(self) -> None:
        """Stop it at once, whoever is connected."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None

    @abstractmethod
    def _options(self) -> Sequence[str]:
        """Return what the program is started with."""

    @abstractmethod
    def _greets(self, link: socket.socket) -> bool:
        """Whether what listens at the other end of a new connection is ready."""

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1) as link:
            link.settimeout(1)
            return self._greets(link)
        return False

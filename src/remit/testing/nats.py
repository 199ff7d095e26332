"""A NATS server of a test's own, with JetStream, which can be stopped and started in between."""

import shutil
import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from remit.testing.loopback import LoopbackServer


class Nats(LoopbackServer):
    """A server that keeps its streams in its folder."""

    @property
    def url(self) -> str:
        """Its address, as `REMIT_EVENTS_URL` takes it."""
        return f"nats://127.0.0.1:{self._port}"

    def _options(self) -> Sequence[str]:
        return ("-a", "127.0.0.1", "-p", str(self._port), "-js", "-sd", str(self._folder))

    def _greets(self, link: socket.socket) -> bool:
        return link.recv(16).startswith(b"INFO")


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

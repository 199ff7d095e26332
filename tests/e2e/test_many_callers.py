"""More callers than the usual limit of open files lets in."""

import resource
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from remit.testing.gateway import start_gateway

FEW = 200
"""Files that may be open at the start; a gateway needs some 30."""

ASKING = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@contextmanager
def _few_files() -> Generator[None]:
    """Let processes that are started meanwhile open but `FEW` files, unless they ask for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_callers_than_the_soft_limit_of_open_files(tmp_path: Path) -> None:
    config = tmp_path / "remit.yaml"
    config.write_text('version: "1.0"\n')
    with _few_files():
        running = start_gateway(tmp_path, config)
    try:
        with ExitStack() as callers:
            for _ in range(2 * FEW):
                caller = callers.enter_context(
                    socket.create_connection(("127.0.0.1", running.port), 20)
                )
                caller.sendall(ASKING)
                assert caller.recv(100).startswith(b"HTTP/1.1 200")
    finally:
        running.stop()

"""A port that notes who visits it."""

import socket
import threading
from collections.abc import Generator
from contextlib import suppress

import pytest
from tests.calls.worlds import Listener


@pytest.fixture
def listener() -> Generator[Listener]:
    """Give a loopback port that takes visits and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Listener(port=server.getsockname()[1])

        def take() -> None:
            with suppress(OSError):
                while True:
                    connection, address = server.accept()
                    found.visits.append(address)
                    connection.close()

        thread = threading.Thread(target=take)
        thread.start()
        yield found
        server.shutdown(socket.SHUT_RDWR)
        thread.join()

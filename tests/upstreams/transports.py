"""A connection of the relay without a socket."""

import asyncio
from collections.abc import Callable

from remit.upstreams.company import Company
from remit.upstreams.relay_connection import RelayConnection


class TakesAll(asyncio.Transport):
    """A transport that takes everything, and takes note of being closed."""

    closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        del data

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


class Alone(Company):
    """Requests that leave at once."""

    def has_others(self) -> bool:
        return False


class Together(Company):
    """Requests that leave at the end of their turn."""

    def has_others(self) -> bool:
        return True


def connected(
    transport: asyncio.Transport,
    *,
    company: Company | None = None,
    loop: asyncio.AbstractEventLoop | None = None,
    on_rest: Callable[[RelayConnection], None] = lambda _: None,
) -> RelayConnection:
    """Return a connection over *transport*; without a *loop* nobody may wait for its answers."""
    connection = RelayConnection(
        "there:80",
        company=company or Alone(),
        loop=loop or asyncio.AbstractEventLoop(),
        on_rest=on_rest,
        on_lost=lambda _: None,
    )
    connection.connection_made(transport)
    return connection

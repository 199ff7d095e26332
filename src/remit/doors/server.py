"""The HTTP server, which ends open streams before it waits for their clients."""

import socket
from collections.abc import Callable
from functools import partial

import uvicorn

from remit.doors.head import Heads
from remit.doors.http import Application
from remit.doors.mcp.approach import PREFIX
from remit.doors.protocol import DoorProtocol


class HttpServer(uvicorn.Server):
    """Stops at once although clients listen: *on_stop* ends their streams first.

    uvicorn itself waits for every connection to close before it tells the application.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, end streams, finish what is being answered."""
        self._on_stop()
        await super().shutdown(sockets)

    async def serve_beside(self, listener: socket.socket) -> None:
        """Serve on *listener* until `should_exit`, leaving signals to whoever runs the program."""
        await self._serve([listener])


def build_http_server(app: Application, *, on_stop: Callable[[], None], grace: int) -> HttpServer:
    """Return the server of *app*; whoever runs it owns its socket.

    Args:
        app: What is served.
        on_stop: Ends open streams.
        grace: Seconds that requests under way have to end at a stop.
    """
    protocol = partial(DoorProtocol, answer=app.answer, prefix=PREFIX.encode(), heads=Heads())
    config = uvicorn.Config(
        app,
        http=protocol,  # pyright: ignore[reportArgumentType] - a class, but for its first arguments
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        date_header=False,
        timeout_graceful_shutdown=grace,
        lifespan="on",
    )
    return HttpServer(config, on_stop)

"""The HTTP server, which ends open streams before it waits for their clients."""

import socket
from collections.abc import Callable

import uvicorn


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

"""The HTTP server, which ends open streams before it waits for their clients."""

import asyncio
import socket
from collections.abc import Callable
from functools import partial

import uvicorn

from remit.doors.head import Heads
from remit.doors.http import Application
from remit.doors.protocol import DoorProtocol
from remit.model.endpoints import ROOT
from remit.upstreams.company import Company


class HttpServer(uvicorn.Server):
    """Stops at once although clients listen: *on_stop* ends their streams first.

    uvicorn itself waits for every connection to close before it tells the application. *on_cut* is
    told that the grace is over, before what is still being answered is cut off.
    """

    def __init__(
        self, config: uvicorn.Config, on_stop: Callable[[], None], on_cut: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._on_cut = on_cut

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, end streams, finish what is being answered."""
        self._on_stop()
        # uvicorn begins to count the same seconds later, so that this is told first
        grace = self.config.timeout_graceful_shutdown or 0
        end = asyncio.get_running_loop().call_later(grace, self._on_cut)
        try:
            await super().shutdown(sockets)
        finally:
            end.cancel()

    async def serve_beside(self, listener: socket.socket) -> None:
        """Serve on *listener* until `should_exit`, leaving signals to whoever runs the program."""
        await self._serve([listener])


def _unheard() -> None:
    """Tell nobody."""


def build_http_server(
    app: Application,
    *,
    on_stop: Callable[[], None],
    on_cut: Callable[[], None] = _unheard,
    grace: int,
) -> HttpServer:
    """Return the server of *app*; whoever runs it owns its socket.

    Args:
        app: What is served.
        on_stop: Ends open streams.
        on_cut: Is told before requests that outlast the grace are cut off.
        grace: Seconds that requests under way have to end at a stop.
    """
    protocol = partial(
        DoorProtocol,
        answer=app.answer,
        prefix=ROOT.encode(),
        heads=Heads(),
        company=Company(),
    )
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
    return HttpServer(config, on_stop, on_cut)

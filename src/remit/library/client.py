"""`MCPClient`: several servers of a program, connected in parallel, listed and called (S1)."""

from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any, Self

import anyio

from remit.library.beside import Beside
from remit.library.config import MCPConfig
from remit.library.lines import ConnectionResult, Lines, ServerHealth
from remit.library.log import log_through_logging

RETRY_PAUSE = 1.0
"""Seconds before the first retry in the background; each one after waits twice as long (S1.35)."""


class MCPClient:
    """The connections of a program to the servers of *config*.

    As an asynchronous context it closes all of them at its end. It can be used from any task, loop
    or thread; what is never disconnected ends with the program.

    Args:
        config: The servers, how long they may take, and how often they are tried.
        retry_pause: Seconds before the first retry in the background.
    """

    def __init__(self, config: MCPConfig, *, retry_pause: float = RETRY_PAUSE) -> None:
        self.config = config
        self._lines = Lines(config, retry_pause=retry_pause)
        # by these names in the design document (S1.15): what there is now, by server
        self._connections = self._lines.connections
        self._tools_cache = self._lines.tools
        self._beside = Beside(self._lines.running, name="remit client")
        log_through_logging()

    async def __aenter__(self) -> Self:
        """Return the client; nothing is connected yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Disconnect from every server."""
        await self.disconnect_all()

    async def connect(self, server_name: str) -> bool:
        """Connect to a server and read its list of tools; return whether it is connected.

        False for one that is not configured, is disabled, cannot be started or gives no list; why
        is logged, and said by `health`.
        """
        result = await self._beside.use(lambda tasks: self._lines.attempt(tasks, server_name))
        return result.success

    async def connect_all(
        self, server_names: Collection[str] | None = None
    ) -> Sequence[ConnectionResult]:
        """Connect to all at once, and return what came of it in the order of the configuration.

        What failed in a way that may pass is tried again in the background, `max_retries` times.

        Args:
            server_names: Which; every one that is enabled when None.
        """
        return await self._beside.use(lambda tasks: self._lines.connect_all(tasks, server_names))

    async def disconnect(self, server_name: str) -> None:
        """End the connection to a server, and forget its tools; safe when there is none."""
        await self._beside.use_if_open(lambda _: self._lines.disconnect(server_name))

    async def disconnect_all(self) -> None:
        """End every connection and every retry, all at once, also when it is cancelled."""
        with anyio.CancelScope(shield=True):
            try:
                await self._beside.use_if_open(lambda _: self._lines.disconnect_all())
            finally:  # asyncio's own way of cancelling a task passes every shield
                await self._beside.close()

    def is_connected(self, server_name: str) -> bool:
        """Whether the server is connected now."""
        return server_name in self._connections

    def get_available_tools(self, server_name: str | None = None) -> list[dict[str, Any]]:
        """Return the tools of one connected server, or of all; each names its own in `_server`.

        They are as the server lists them, in the order of the configuration. Of one that is not
        connected there are none.
        """
        known = dict(self._tools_cache)
        if server_name is not None:
            return list(known.get(server_name, ()))
        names = dict.fromkeys([*self.config.servers, *known])
        return [tool for name in names for tool in known.get(name, ())]

    async def call_tool(
        self, server_name: str, tool_name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Run a tool and return the server's `result`.

        Args:
            server_name: As the configuration calls it.
            tool_name: As the server calls it.
            arguments: What the tool's schema asks for.

        Raises:
            BadCall: The arguments are no JSON (NaN, a set, bytes, a date); nothing was sent.
            MCPConnectionError: The server is not connected (a `RuntimeError`).
            MCPProtocolError: There is no result.
        """
        return await self._beside.use(
            lambda _: self._lines.call_tool(server_name, tool_name, arguments)
        )

    def health(self) -> dict[str, ServerHealth]:
        """Return where every configured server stands, by name."""
        return {name: self._lines.health_of(name) for name in self.config.servers}

"""`MCPConnection`: one connection of a program to one server (S1.6 to S1.14)."""

from typing import Any

import anyio

from remit.library.beside import Beside
from remit.library.config import MCPServerConfig
from remit.library.line import Line
from remit.library.log import log_through_logging
from remit.model.servers import DEFAULT_TIMEOUT
from remit.upstreams.background import open_background


class MCPConnection:
    """A connection to the server of *config*; opened by `start`, closed by `stop`.

    It can be used from any task, loop or thread; what is never stopped ends with the program.

    Args:
        config: How it is reached.
        timeout: Seconds that starting it, and each request, may take.
    """

    def __init__(self, config: MCPServerConfig, *, timeout: float = DEFAULT_TIMEOUT) -> None:
        self.config = config
        self._line = Line(config, timeout=timeout)
        self._beside = Beside(open_background, name=f"remit {config.name}")
        self._starting = 0
        log_through_logging()

    @property
    def is_running(self) -> bool:
        """Whether the server is connected."""
        return self._line.is_running

    @property
    def pid(self) -> int | None:
        """The id of the server's process, which leads a group of its own; None without one."""
        return self._line.pid

    @property
    def protocol(self) -> str:
        """The MCP revision spoken with the server, or empty."""
        return self._line.protocol

    @property
    def ended(self) -> str:
        """Why the server went away by itself; empty while it is there, or was never started."""
        return self._line.ended

    @property
    def problem(self) -> str:
        """What is amiss although the server is connected, one line, or empty."""
        return self._line.problem

    async def start(self) -> None:
        """Start the server and agree with it on a revision of the protocol.

        A stdio server runs without a shell, with our environment and its `env`. Of one that is
        connected already nothing is asked.

        Raises:
            MCPConnectionError: It cannot be started, or does not speak the protocol; nothing of it
                is left running.
        """
        self._starting += 1
        try:
            await self._beside.use(self._line.start)
        finally:
            self._starting -= 1
            if not self._starting and not self.is_running:
                await self.stop()  # waits until nothing is left

    async def stop(self) -> None:
        """End the server: asked to, and after five seconds made to; safe when there is none."""
        with anyio.CancelScope(shield=True):
            try:
                # A start that is under way fails first; it must not look like its caller's end.
                await self._beside.use_if_open(lambda _: self._line.stop())
            finally:  # asyncio's own way of cancelling a task passes every shield
                await self._beside.close()

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return every tool of the server, of all pages, as the server lists it.

        Raises:
            MCPConnectionError: The server is not connected.
            MCPProtocolError: It gave no such list.
        """
        return await self._beside.use(lambda _: self._line.list_tools())

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run a tool and return the `result`; a failure of the tool's own has `isError` in it.

        Args:
            name: The server's own name of the tool.
            arguments: What its schema asks for.

        Raises:
            BadCall: The arguments are no JSON (NaN, a set, bytes, a date); nothing was sent.
            MCPConnectionError: The server is not connected.
            MCPProtocolError: There is no result; `is_outcome_unknown` when it may yet have run.
        """
        return await self._beside.use(lambda _: self._line.call_tool(name, arguments))

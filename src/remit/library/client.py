"""Several servers of a program: connected in parallel, listed, called, and told apart by health.

connect_all ──▶ one attempt each, at most ten at once ──▶ connected
                     └──▶ failed ──▶ tried again in the background, after 1, 2, 4 … seconds
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

import anyio
import structlog

from remit.errors import MCPConnectionError, RemitError
from remit.library.config import MCPConfig
from remit.library.connection import MCPConnection
from remit.library.log import log_through_logging
from remit.library.owned import Owned
from remit.upstreams.fleet import MOST_CONNECTING
from remit.upstreams.warden import Warden

log = structlog.get_logger(__name__)

RETRY_PAUSE = 1.0
"""Seconds before the first retry in the background; each one after waits twice as long (S1.35)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionResult:
    """What came of connecting to one server (S1.35).

    Attributes:
        error: Why it is not connected, one line; empty when it is.
        retry_scheduled: Whether it is tried again in the background.
        connect_time_ms: Milliseconds until it was connected and listed, or had failed.
    """

    server_name: str
    success: bool
    tools_count: int = 0
    error: str = ""
    retry_scheduled: bool = False
    connect_time_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHealth:
    """Where one server stands.

    Attributes:
        status: `healthy` when connected, `degraded` when something is amiss meanwhile, `unhealthy`
            when connecting failed or the connection was lost, `unknown` when nobody has tried.
        error: What is amiss, one line, or empty.
        protocol: The MCP revision spoken with it, or empty.
        retry_scheduled: Whether it is tried again in the background.
    """

    server_name: str
    status: Literal["healthy", "degraded", "unhealthy", "unknown"]
    error: str = ""
    tools_count: int = 0
    protocol: str = ""
    retry_scheduled: bool = False


class MCPClient:
    """The connections of a program to the servers of *config*.

    As an asynchronous context it closes all of them at its end.

    Args:
        config: The servers, how long they may take, and how often they are tried.
        retry_pause: Seconds before the first retry in the background.
    """

    def __init__(self, config: MCPConfig, *, retry_pause: float = RETRY_PAUSE) -> None:
        self.config = config
        self._retry_pause = retry_pause
        self._connections: dict[str, MCPConnection] = {}
        self._tools_cache: dict[str, list[dict[str, Any]]] = {}
        self._opening: dict[str, MCPConnection] = {}
        self._errors: dict[str, str] = {}
        self._retries: dict[str, Owned] = {}
        self._turns = defaultdict[str, anyio.Lock](anyio.Lock)
        self._warden = Warden()
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
        return (await self._attempt(server_name)).success

    async def connect_all(
        self, server_names: Collection[str] | None = None
    ) -> Sequence[ConnectionResult]:
        """Connect to all at once, and return what came of it in the order of the configuration.

        What failed in a way that may pass is tried again in the background, `max_retries` times.

        Args:
            server_names: Which; every one that is enabled when None.
        """
        enabled = [name for name, entry in self.config.servers.items() if entry.enabled]
        wanted = enabled if server_names is None else list(dict.fromkeys(server_names))
        results: dict[str, ConnectionResult] = {}
        slots = anyio.Semaphore(MOST_CONNECTING)

        async def attempt(name: str) -> None:
            async with slots:
                results[name] = await self._attempt(name)

        async with anyio.create_task_group() as tasks:
            for name in wanted:
                tasks.start_soon(attempt, name)
        for result in results.values():
            if result.retry_scheduled:
                self._retries[result.server_name] = Owned(partial(self._retry, result.server_name))
        return [results[name] for name in wanted]

    async def disconnect(self, server_name: str) -> None:
        """End the connection to a server, and forget its tools; safe when there is none."""
        retry = self._retries.pop(server_name, None)
        if retry is not None:
            await retry.end()
        opening = self._opening.get(server_name)
        connection = self._connections.pop(server_name, None)
        self._tools_cache.pop(server_name, None)
        self._errors.pop(server_name, None)
        for open_one in (opening, connection):
            if open_one is not None:
                await open_one.stop()
        if not self._connections and not self._opening:
            await self._warden.close()

    async def disconnect_all(self) -> None:
        """End every connection and every retry, all at once; cannot be cancelled."""
        names = {*self._connections, *self._opening, *self._retries, *self._tools_cache}
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for name in names:
                    tasks.start_soon(self.disconnect, name)
            await self._warden.close()

    def is_connected(self, server_name: str) -> bool:
        """Whether the server is connected now."""
        return server_name in self._connections

    def get_available_tools(self, server_name: str | None = None) -> list[dict[str, Any]]:
        """Return the tools of one connected server, or of all; each names its own in `_server`.

        They are as the server lists them, in the order of the configuration. Of one that is not
        connected there are none.
        """
        if server_name is not None:
            return list(self._tools_cache.get(server_name, ()))
        names = dict.fromkeys([*self.config.servers, *self._tools_cache])
        return [tool for name in names for tool in self._tools_cache.get(name, ())]

    async def call_tool(
        self, server_name: str, tool_name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Run a tool and return the server's `result`.

        Args:
            server_name: As the configuration calls it.
            tool_name: As the server calls it.
            arguments: What the tool's schema asks for.

        Raises:
            MCPConnectionError: The server is not connected (a `RuntimeError`).
            MCPProtocolError: There is no result.
        """
        connection = self._connections.get(server_name)
        if connection is None:
            reason = self._errors.get(server_name)
            said = f"not connected to server {server_name!r}"
            raise MCPConnectionError(f"{said}: {reason}" if reason else said)
        return await connection.call_tool(tool_name, arguments)

    def health(self) -> dict[str, ServerHealth]:
        """Return where every configured server stands, by name."""
        return {name: self._health_of(name) for name in self.config.servers}

    def _health_of(self, name: str) -> ServerHealth:
        connection, error = self._connections.get(name), self._errors.get(name, "")
        if connection is None:
            return ServerHealth(
                server_name=name,
                status="unhealthy" if error else "unknown",
                error=error,
                retry_scheduled=name in self._retries,
            )
        return ServerHealth(
            server_name=name,
            status="degraded" if connection.problem else "healthy",
            error=connection.problem,
            tools_count=len(self._tools_cache.get(name, ())),
            protocol=connection.protocol,
        )

    async def _attempt(self, name: str) -> ConnectionResult:
        """Connect to a server unless it is connected."""
        began = anyio.current_time()
        transient, error = False, ""
        async with self._turns[name]:
            if name not in self._connections:
                try:
                    await self._open(name)
                except (RemitError, RuntimeError) as problem:
                    error = self._errors[name] = str(problem)
                    transient = getattr(problem, "transient", True)
                    log.warning("server not connected", server=name, error=error)
        return ConnectionResult(
            server_name=name,
            success=not error,
            tools_count=len(self._tools_cache.get(name, ())),
            error=error,
            retry_scheduled=transient and self.config.max_retries > 0,
            connect_time_ms=(anyio.current_time() - began) * 1000,
        )

    async def _open(self, name: str) -> None:
        """Connect to a server and cache its tools.

        Raises:
            MCPConnectionError: It is not to be connected, or cannot be.
            MCPProtocolError: It gives no list of tools.
        """
        entry = self.config.servers.get(name)
        if entry is None or not entry.enabled:
            reason = "is disabled" if entry is not None else "is not configured"
            raise MCPConnectionError(f"server {name!r} {reason}")
        connection = self._opening[name] = MCPConnection(
            entry,
            timeout=self.config.default_timeout,
            warden=self._warden,
            on_tools=partial(self._listed, name),
            on_end=partial(self._lost, name),
        )
        try:
            await connection.start()
            tools = await connection.list_tools()
            if connection.ended:
                raise MCPConnectionError(f"server {name!r} {connection.ended}", transient=True)
            self._connections[name] = connection
            self._listed(name, connection, tools)
            self._errors.pop(name, None)
        finally:
            del self._opening[name]
            if self._connections.get(name) is not connection:
                await connection.stop()

    def _listed(
        self, name: str, connection: MCPConnection, tools: Sequence[dict[str, Any]]
    ) -> None:
        """Take a server's list of tools, unless it was disconnected meanwhile."""
        if self._connections.get(name) is connection:
            self._tools_cache[name] = [{**tool, "_server": name} for tool in tools]

    def _lost(self, name: str, connection: MCPConnection, reason: str) -> None:
        """Take note that a connection ended without being asked to."""
        if self._connections.get(name) is connection:
            del self._connections[name]
            self._tools_cache.pop(name, None)
            self._errors[name] = reason
            log.warning("server lost", server=name, error=reason)

    async def _retry(self, name: str) -> None:
        """Try a server again until it is connected, or that has failed too often."""
        try:
            for done in range(self.config.max_retries):
                await anyio.sleep(self._retry_pause * 2**done)
                result = await self._attempt(name)
                if result.success or not result.retry_scheduled:
                    return
        finally:
            self._retries.pop(name, None)

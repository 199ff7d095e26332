"""Connections to several servers on one loop: listed, called, and told apart by health.

connect_all ──▶ one attempt each, at most ten at once ──▶ connected
                     └──▶ failed ──▶ tried again in the background, after 1, 2, 4 … seconds
"""

from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import anyio
import structlog
from anyio.abc import TaskGroup

from remit.errors import MCPConnectionError, RemitError
from remit.library.config import MCPConfig
from remit.library.line import Line
from remit.library.owned import Owned
from remit.upstreams.background import open_background
from remit.upstreams.fleet import MOST_CONNECTING
from remit.upstreams.warden import Warden

log = structlog.get_logger(__name__)


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


class Lines:
    """The connections to the servers of *config*, on the loop where they live.

    Args:
        config: The servers, how long they may take, and how often they are tried.
        retry_pause: Seconds before the first retry in the background.

    Attributes:
        connections: Those that are connected, by server.
        tools: What each of them lists, with its name in `_server`.
    """

    def __init__(self, config: MCPConfig, *, retry_pause: float) -> None:
        self.config = config
        self._retry_pause = retry_pause
        self.connections: dict[str, Line] = {}
        self.tools: dict[str, list[dict[str, Any]]] = {}
        self._opening: dict[str, Line] = {}
        self._errors: dict[str, str] = {}
        self._retries: dict[str, Owned] = {}
        self._turns = defaultdict[str, anyio.Lock](anyio.Lock)
        self._warden = Warden()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[TaskGroup]:
        """Give what owns connections and retries; all of them end when it is left."""
        try:
            async with open_background() as tasks:
                yield tasks
        finally:
            for name, line in tuple(self.connections.items()):
                if not line.is_running:  # nobody disconnected it; another life may have begun
                    del self.connections[name]
                    self.tools.pop(name, None)
            with anyio.CancelScope(shield=True):
                await self._warden.close()

    async def connect_all(
        self, tasks: TaskGroup, server_names: Collection[str] | None
    ) -> Sequence[ConnectionResult]:
        """Do what `MCPClient.connect_all` does."""
        enabled = [name for name, entry in self.config.servers.items() if entry.enabled]
        wanted = enabled if server_names is None else list(dict.fromkeys(server_names))
        results: dict[str, ConnectionResult] = {}
        slots = anyio.Semaphore(MOST_CONNECTING)

        async def attempt(name: str) -> None:
            async with slots:
                results[name] = await self.attempt(tasks, name)

        async with anyio.create_task_group() as attempts:
            for name in wanted:
                attempts.start_soon(attempt, name)
        for name, result in results.items():
            if result.retry_scheduled and name not in self._retries:
                self._retries[name] = Owned(tasks, partial(self._retry, tasks, name))
        return [results[name] for name in wanted]

    async def disconnect(self, server_name: str) -> None:
        """End the connection to a server, and forget its tools; safe when there is none."""
        retry = self._retries.pop(server_name, None)
        if retry is not None:
            await retry.end()
        opening = self._opening.get(server_name)
        connection = self.connections.pop(server_name, None)
        self.tools.pop(server_name, None)
        self._errors.pop(server_name, None)
        for open_one in (opening, connection):
            if open_one is not None:
                await open_one.stop()
        if not self.connections and not self._opening:
            await self._warden.close()

    async def disconnect_all(self) -> None:
        """End every connection and every retry, all at once."""
        names = {*self.connections, *self._opening, *self._retries, *self.tools}
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(self.disconnect, name)

    async def call_tool(
        self, server_name: str, tool_name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Do what `MCPClient.call_tool` does."""
        connection = self.connections.get(server_name)
        if connection is None:
            reason = self._errors.get(server_name)
            said = f"not connected to server {server_name!r}"
            raise MCPConnectionError(f"{said}: {reason}" if reason else said)
        return await connection.call_tool(tool_name, arguments)

    def health_of(self, name: str) -> ServerHealth:
        """Return where a server stands."""
        connection, error = self.connections.get(name), self._errors.get(name, "")
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
            tools_count=len(self.tools.get(name, ())),
            protocol=connection.protocol,
        )

    async def attempt(self, tasks: TaskGroup, name: str) -> ConnectionResult:
        """Connect to a server unless it is connected."""
        began = anyio.current_time()
        transient, error = False, ""
        async with self._turns[name]:
            if name not in self.connections:
                try:
                    await self._open(tasks, name)
                except (RemitError, RuntimeError) as problem:
                    error = self._errors[name] = str(problem)
                    transient = getattr(problem, "transient", True)
                    log.warning("server not connected", server=name, error=error)
        return ConnectionResult(
            server_name=name,
            success=not error,
            tools_count=len(self.tools.get(name, ())),
            error=error,
            retry_scheduled=transient and self.config.max_retries > 0,
            connect_time_ms=(anyio.current_time() - began) * 1000,
        )

    async def _open(self, tasks: TaskGroup, name: str) -> None:
        """Connect to a server and cache its tools.

        Raises:
            MCPConnectionError: It is not to be connected, or cannot be.
            MCPProtocolError: It gives no list of tools.
        """
        entry = self.config.servers.get(name)
        if entry is None or not entry.enabled:
            reason = "is disabled" if entry is not None else "is not configured"
            raise MCPConnectionError(f"server {name!r} {reason}")
        connection = self._opening[name] = Line(
            entry,
            timeout=self.config.default_timeout,
            warden=self._warden,
            on_tools=partial(self._listed, name),
            on_end=partial(self._lost, name),
        )
        try:
            await connection.start(tasks)
            tools = await connection.list_tools()
            if connection.ended:
                raise MCPConnectionError(f"server {name!r} {connection.ended}", transient=True)
            self.connections[name] = connection
            self._listed(name, connection, tools)
            self._errors.pop(name, None)
        finally:
            del self._opening[name]
            if self.connections.get(name) is not connection:
                await connection.stop()

    def _listed(self, name: str, connection: Line, tools: Sequence[dict[str, Any]]) -> None:
        """Take a server's list of tools, unless it was disconnected meanwhile."""
        if self.connections.get(name) is connection:
            self.tools[name] = [{**tool, "_server": name} for tool in tools]

    def _lost(self, name: str, connection: Line, reason: str) -> None:
        """Take note that a connection ended without being asked to."""
        if self.connections.get(name) is connection:
            del self.connections[name]
            self.tools.pop(name, None)
            self._errors[name] = reason
            log.warning("server lost", server=name, error=reason)

    async def _retry(self, tasks: TaskGroup, name: str) -> None:
        """Try a server again until it is connected, or that has failed too often."""
        try:
            for done in range(self.config.max_retries):
                await anyio.sleep(self._retry_pause * 2**done)
                result = await self.attempt(tasks, name)
                if result.success or not result.retry_scheduled:
                    return
        finally:
            self._retries.pop(name, None)

"""One connection to one server on the loop where it lives, over the gateway's own sessions.

start ──▶ connected ──▶ stop                   everything is left as it was before
             └──▶ the server ends by itself    every request fails with the reason
"""

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import anyio
import structlog
from anyio.abc import TaskGroup

from remit.admin.known_servers import unclaimed_package
from remit.app.bundled import builtins_in
from remit.errors import (
    MCPConnectionError,
    MCPProtocolError,
    UpstreamError,
    UpstreamProtocolError,
    UpstreamUnavailable,
)
from remit.library.arguments import as_json
from remit.library.config import MCPServerConfig
from remit.library.owned import Owned
from remit.model.servers import DEFAULT_TIMEOUT, Transport
from remit.upstreams.connection import Connection, open_connection
from remit.upstreams.environment import MissingVariable, ResolvedServer, resolve
from remit.upstreams.listing import read_tools
from remit.upstreams.liveness import patience
from remit.upstreams.offer import Route, build_offer
from remit.upstreams.session import Session, Setup, Signals, ToolCall
from remit.upstreams.surroundings import Pace
from remit.upstreams.transcript import Transcript, secrets_of
from remit.upstreams.trust import Trust
from remit.upstreams.warden import Warden, open_warden
from remit.upstreams.wire import Malformed, value_of

log = structlog.get_logger(__name__)

_STOPPED: Final = "was stopped"


class Line:
    """A connection to the server of *config*; opened by `start`, closed by `stop` (S1.6-S1.14).

    Args:
        config: How it is reached.
        timeout: Seconds that starting it, and each request, may take.
        warden: Watches over the child processes of several connections; without it of this alone.
        on_tools: Told its tools whenever the server says that they changed.
        on_end: Told the reason when the connection is over without having been stopped.
    """

    def __init__(
        self,
        config: MCPServerConfig,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        warden: Warden | None = None,
        on_tools: Callable[["Line", list[dict[str, Any]]], None] | None = None,
        on_end: Callable[["Line", str], None] | None = None,
    ) -> None:
        self.config = config
        self._server = config.to_server(timeout)
        self._timeout = timeout
        self._warden = warden
        self._on_tools = on_tools
        self._on_end = on_end
        self._starting = anyio.Lock()
        self._owned: Owned | None = None
        self._connection: Connection | None = None
        self._transcript = Transcript()
        self._routes: Mapping[str, Route] | None = None
        self._pid: int | None = None
        self._ended = ""
        self._problem = ""

    @property
    def is_running(self) -> bool:
        """Whether the server is connected."""
        return self._connection is not None

    @property
    def pid(self) -> int | None:
        """The id of the server's process, which leads a group of its own; None without one."""
        return self._pid

    @property
    def protocol(self) -> str:
        """The MCP revision spoken with the server, or empty."""
        return self._connection.session.era.version if self._connection is not None else ""

    @property
    def ended(self) -> str:
        """Why the server went away by itself; empty while it is there, or was never started."""
        return "" if self.is_running else self._ended

    @property
    def problem(self) -> str:
        """What is amiss although the server is connected, one line, or empty."""
        return self._problem

    async def start(self, tasks: TaskGroup) -> None:
        """Start the server and agree with it on a revision of the protocol.

        Args:
            tasks: Owns the connection from now on.

        Raises:
            MCPConnectionError: It cannot be started, or does not speak the protocol; nothing of it
                is left running.
        """
        async with self._starting:
            if self.is_running:
                return
            await self.stop()  # of an earlier one that ended by itself
            resolved = self._resolved()
            self._transcript = Transcript(secrets_of(self._server, resolved))
            self._ended = self._problem = ""
            ready = asyncio.get_running_loop().create_future()
            self._owned = Owned(tasks, partial(self._live, resolved, ready))
            try:
                await ready
            except UpstreamError as error:
                raise MCPConnectionError(self._said(error), transient=True) from error
            finally:
                if not self.is_running:
                    await self.stop()

    async def stop(self) -> None:
        """End the server: asked to, and after five seconds made to; safe when there is none."""
        owned, self._owned = self._owned, None
        if owned is not None:
            await owned.end()
        self._ended = ""

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return every tool of the server, of all pages, as the server lists it.

        Raises:
            MCPConnectionError: The server is not connected.
            MCPProtocolError: It gave no such list.
        """
        async with self._asking("tools/list") as session:
            listed, _ = await read_tools(session)
            if self._server.transport is Transport.HTTP and session.era.is_modern:
                self._routes = build_offer(self._server, listed, has_headers=True).routes
            found = [value_of(raw) for raw in listed]
        return [cast("dict[str, Any]", tool) for tool in found if isinstance(tool, dict)]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run a tool and return the `result`; a failure of the tool's own has `isError` in it.

        Args:
            name: The server's own name of the tool.
            arguments: What its schema asks for.

        Raises:
            BadCall: The arguments are no JSON.
            MCPConnectionError: The server is not connected.
            MCPProtocolError: There is no result; `is_outcome_unknown` when it may yet have run.
        """
        raw = as_json(arguments)
        if self._routes is None and self._speaks_in_headers():
            await self.list_tools()
        async with self._asking(f"a call of {name!r}") as session:
            route = (self._routes or {}).get(name)
            call = ToolCall(name=name, arguments=raw) if route is None else route.call(raw, b"")
            return cast("dict[str, Any]", value_of(await session.call(call)))

    def _speaks_in_headers(self) -> bool:
        """Whether calls repeat arguments in headers, which the tools' schemas say."""
        connection = self._connection
        is_http = self._server.transport is Transport.HTTP
        return is_http and connection is not None and connection.session.era.is_modern

    @asynccontextmanager
    async def _asking(self, what: str) -> AsyncGenerator[Session]:
        """Give the session for one request, and tell of its failure in the library's words."""
        connection = self._connection
        if connection is None and self._ended:
            raise MCPProtocolError(self._said(self._ended), transient=True)
        if connection is None:
            raise MCPConnectionError(self._said("is not connected"))
        try:
            with anyio.fail_after(self._timeout), await connection.turn() as session:
                yield session
        except TimeoutError as error:
            problem = self._said(f"did not answer {what} within {self._timeout:g} seconds")
            raise MCPProtocolError(problem, sent=True, transient=True) from error
        except Malformed as error:
            problem = self._said(f"answered {what} with what cannot be read")
            raise MCPProtocolError(problem) from error
        except UpstreamError as error:
            raise self._translated(error) from error

    def _translated(self, error: UpstreamError) -> MCPProtocolError:
        raw = error.rpc_error if isinstance(error, UpstreamProtocolError) else b""
        return MCPProtocolError(
            self._said(error),
            sent=error.is_outcome_unknown,
            transient=error.transient,
            rpc_error=value_of(raw) if raw else None,
        )

    def _resolved(self) -> ResolvedServer:
        """Return the entry with its values filled in; command and arguments are literal (S1.27).

        Raises:
            MCPConnectionError: It may not be started (R30), or lacks a variable.
        """
        refusal = unclaimed_package(self._server)
        if refusal is not None:
            raise MCPConnectionError(self._said(f"may not be started: {refusal}"))
        literal = replace(self._server, command="", args=(), env={}, cwd="")
        try:
            resolved = resolve(literal, os.environ)
        except MissingVariable as error:
            raise MCPConnectionError(str(error)) from error
        return replace(
            resolved,
            command=self._server.command,
            args=self._server.args,
            cwd=self._server.cwd,
            env={**resolved.env, **self.config.resolve_env()},
        )

    async def _live(self, resolved: ResolvedServer, ready: asyncio.Future[None]) -> None:
        """Open the connection and keep it until it ends, by itself or with the scope of this."""
        reason = _STOPPED
        try:
            async with AsyncExitStack() as stack:
                warden = self._warden or await stack.enter_async_context(open_warden())
                reason = await self._stay(resolved, warden, ready)
        except UpstreamError as error:
            reason = str(error)
        except Exception as error:
            # The supervisor of an upstream connection: whoever waits for it must be told.
            log.exception("connection failed", server=self.config.name)
            reason = f"failed in an unforeseen way: {type(error).__name__}"
        finally:
            self._connection = self._routes = self._pid = None
            self._ended = "" if reason == _STOPPED else reason
            if not ready.done():
                ready.set_exception(UpstreamUnavailable(reason))
            elif self._ended and self._on_end is not None:
                self._on_end(self, self._said(reason))

    async def _stay(
        self, resolved: ResolvedServer, warden: Warden, ready: asyncio.Future[None]
    ) -> str:
        """Stay connected; return why it is over.

        Raises:
            UpstreamError: It never was.
        """
        began = anyio.current_time()
        signals = Signals()
        try:
            return await self._serve(self._setup(resolved, warden, signals), ready)
        except UpstreamError:
            left = self._timeout - (anyio.current_time() - began)
            if signals.ended is None or ready.done() or left <= 0:
                raise
        # Some servers end when the first thing they hear is not `initialize`.
        setup = self._setup(resolved, warden, Signals())
        config = replace(setup.config, start_timeout=left)
        return await self._serve(replace(setup, config=config, is_legacy=True), ready)

    def _setup(self, resolved: ResolvedServer, warden: Warden, signals: Signals) -> Setup:
        make = builtins_in(Path.cwd()).get(self._server.builtin)
        return Setup(
            config=self._server,
            resolved=resolved,
            transcript=self._transcript,
            signals=signals,
            trust=Trust(),
            warden=warden,
            silence=partial(patience, self._server, Pace().silence),
            make_builtin=None if make is None else partial(make, resolved.args, resolved.env),
        )

    async def _serve(self, setup: Setup, ready: asyncio.Future[None]) -> str:
        signals = setup.signals
        async with open_connection(setup, _nothing_first) as connection:
            self._connection, self._pid = connection, signals.process
            if not ready.done():
                ready.set_result(None)
            while signals.ended is None:
                await signals.wait(math.inf)
                if signals.ended is None and signals.take_changed():
                    await self._relist()
                    await signals.wait_end(Pace().relist_pause)
            self._connection = None  # closing takes a while
            self._ended = signals.ended
        return self._ended

    async def _relist(self) -> None:
        try:
            tools = await self.list_tools()
        except MCPProtocolError as error:
            self._problem = f"its tools could not be read again: {error}"
            return
        self._problem = ""
        if self._on_tools is not None:
            self._on_tools(self, tools)

    def _said(self, problem: UpstreamError | str) -> str:
        """Return *problem* with the server's name before it, and without its secrets."""
        return f"server {self.config.name!r} {self._transcript.redacted(str(problem))}"


async def _nothing_first(session: Session) -> None:
    del session

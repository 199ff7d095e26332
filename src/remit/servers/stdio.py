"""Run a bundled server alone, over stdio: `python -m remit.servers.NAME`."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Protocol

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

_USAGE = 2


class Served(Protocol):
    """What is served; the objects are those of the protocol."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def version(self) -> str:
        """Its version."""
        ...

    def tools(self) -> Sequence[Mapping[str, object]]:
        """Return its tools as `tools/list` has them."""
        ...

    async def aclose(self) -> None:
        """Let go of what it holds."""
        ...


class StdioServer(Served, Protocol):
    """A server whose tools need to know nothing of who calls."""

    async def call_tool(
        self, name: str, arguments: Mapping[str, object], /
    ) -> Mapping[str, object]:
        """Run a tool and return the `result` of `tools/call`."""
        ...


class OpenServer(Protocol):
    """What opens a bundled server."""

    def __call__(
        self, args: Sequence[str], environ: Mapping[str, str], folder: Path, /
    ) -> StdioServer:
        """Open it with its arguments and environment, relative paths taken from *folder*.

        Raises:
            ValueError: If they do not fit; the message is one line.
        """
        ...


CallTool = Callable[
    [ServerRequestContext[Any], types.CallToolRequestParams], Awaitable[Mapping[str, object]]
]
"""Runs a tool and returns the `result` of `tools/call`; KeyError: there is none such."""


class _Calls:
    """The calls under way, so that none is left behind when the process is told to go."""

    def __init__(self, call_tool: CallTool) -> None:
        self._call_tool = call_tool
        self._scopes: set[anyio.CancelScope] = set()
        self._idle = anyio.Event()

    async def call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Answer one `tools/call`."""
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        try:
            with scope:
                result = await self._call_tool(context, params)
                return types.CallToolResult.model_validate(result)
        except KeyError as error:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name!r}") from error
        finally:
            self._scopes.discard(scope)
            self._idle.set()
        raise MCPError(types.INTERNAL_ERROR, "the server is stopping")

    async def stop(self) -> None:
        """Cancel every call and wait until what it started is gone."""
        for scope in self._scopes:
            scope.cancel()
        while self._scopes:
            self._idle = anyio.Event()
            await self._idle.wait()


async def serve(server: Served, call_tool: CallTool) -> None:
    """Serve one client over stdio, in whichever protocol era it speaks."""
    tools = [types.Tool.model_validate(tool) for tool in server.tools()]
    calls = _Calls(call_tool)

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    protocol: Server[Any] = Server(
        server.name, version=server.version, on_list_tools=list_tools, on_call_tool=calls.call
    )
    async with aclosing(server), anyio.create_task_group() as tasks:
        tasks.start_soon(_go_when_told, calls)
        async with stdio_server() as (incoming, outgoing):
            await protocol.run(incoming, outgoing, protocol.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _go_when_told(calls: _Calls) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            await calls.stop()
            # The thread that reads stdin cannot be interrupted, so there is no other way out.
            os._exit(128 + number)


def run_server(open_server: OpenServer) -> int:
    """Serve what *open_server* makes of the command line until the client hangs up.

    Returns:
        The exit status; 2 for a command line or an environment that does not fit.
    """
    try:
        server = open_server(sys.argv[1:], os.environ, Path())
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return _USAGE

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> Mapping[str, object]:
        return await server.call_tool(params.name, params.arguments or {})

    anyio.run(serve, server, call_tool)
    return 0

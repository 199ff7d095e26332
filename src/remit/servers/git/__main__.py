"""Run the git server over stdio: `python -m remit.servers.git --repository PATH`."""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from remit.servers.git.server import GitServer, open_server

_USAGE = 2


class _Calls:
    """The calls under way, so that none is left behind when the process is told to go."""

    def __init__(self, server: GitServer) -> None:
        self._server = server
        self._scopes: set[anyio.CancelScope] = set()
        self._idle = anyio.Event()

    async def call(
        self, _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Answer one `tools/call`."""
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        try:
            with scope:
                result = await self._server.call_tool(params.name, params.arguments or {})
                return types.CallToolResult.model_validate(result)
        except KeyError as error:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name!r}") from error
        finally:
            self._scopes.discard(scope)
            self._idle.set()
        raise MCPError(types.INTERNAL_ERROR, "the server is stopping")

    async def stop(self) -> None:
        """Cancel every call and wait until its git is gone."""
        for scope in self._scopes:
            scope.cancel()
        while self._scopes:
            self._idle = anyio.Event()
            await self._idle.wait()


async def serve(server: GitServer) -> None:
    """Serve one client over stdio, in whichever protocol era it speaks."""
    tools = [types.Tool.model_validate(tool) for tool in server.tools()]
    calls = _Calls(server)

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    protocol: Server[Any] = Server(
        server.name, version=server.version, on_list_tools=list_tools, on_call_tool=calls.call
    )
    async with anyio.create_task_group() as tasks:
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


def main(arguments: Sequence[str]) -> int:
    """Run until the client hangs up and return the exit status."""
    try:
        server = open_server(arguments)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return _USAGE
    anyio.run(serve, server)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

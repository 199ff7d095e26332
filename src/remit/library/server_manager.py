"""`MCPServerManager`: the servers that one request's workspace may use (S4.10 to S4.12, R31)."""

from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self

import structlog

from remit.errors import UpstreamUnavailable
from remit.library.connections import EngineConnections
from remit.library.engine import PROGRAM
from remit.library.server_entries import request_headers, usable_entry
from remit.library.server_policy import allowed_servers
from remit.library.server_tools import ServerTool, langchain_tools
from remit.settings import Settings

log = structlog.get_logger(__name__)


class HasServers(Protocol):
    """Any settings that know servers."""

    @property
    def mcp_servers(self) -> Mapping[str, Any]:
        """Name to configuration: an object with the fields of S4.6, or a mapping."""
        ...


class HasContext(Protocol):
    """Any state of a workspace that has a context."""

    @property
    def context(self) -> Mapping[str, Any]:
        """What a verified token said, `mcp_policy` and `mcp_auth` among it."""
        ...


class MCPServerManager:
    """Connects the servers that the workspace's policy opens, and gives their tools.

    `initialize` and `cleanup` may be called in different tasks; or use `async with`.

    Attributes:
        settings: Where servers are configured.
        workspace_state: Whose `context["mcp_policy"]` says which of them are open, and whose
            `context["mcp_auth"]`, if there is one, has `{server: {"headers": {...}}}` for this
            request alone.
        rejected_servers: Why a server that the policy opens gives no tools, by name.
    """

    def __init__(
        self,
        settings: HasServers,
        workspace_state: HasContext,
        *,
        record: Settings | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            settings: See above.
            workspace_state: See above.
            record: Where calls are recorded; else where the commands of this folder have it.
        """
        self.settings = settings
        self.workspace_state = workspace_state
        self.rejected_servers: dict[str, str] = {}
        self._record = record
        self._connections: EngineConnections | None = None
        self._allowed_servers: dict[str, Any] = {}
        self._tools_by_server: dict[str, list[ServerTool]] = {}

    async def __aenter__(self) -> Self:
        """Initialize."""
        await self.initialize()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clean up."""
        await self.cleanup()

    async def initialize(self) -> None:
        """Connect the servers that the policy opens now, all at once, and no other.

        One that cannot be used is logged and left out, with its reason in `rejected_servers`
        (S4.11). Nothing is opened where the policy opens nothing.

        Raises:
            StartupError: The record cannot be opened.
        """
        await self.cleanup()
        self._allowed_servers = self._filter_by_policy()
        entries = self._usable_entries()
        if not entries:
            return
        rules = {
            "mcp_servers": entries,
            "roles": {PROGRAM: {"allow": [f"{name}/*" for name in entries]}},
        }
        record = Settings.read(None) if self._record is None else self._record
        self._connections = EngineConnections(lambda: rules, record)
        connected = await self._connections.connect_for(PROGRAM, entries)
        for name, why in connected.failures.items():
            self._leave_out(name, why)
        await self._look_at_tools(self._connections)

    async def get_tools(self) -> list[Any]:
        """Return the tools of all connected servers as LangChain tools; `[]` if there are none.

        Raises:
            ModuleNotFoundError: There are some, and LangChain is not installed.
        """
        if self._connections is None:
            return []
        await self._look_at_tools(self._connections)
        tools = [tool for tools in self._tools_by_server.values() for tool in tools]
        return langchain_tools(tools) if tools else []

    def get_tools_by_server(self) -> dict[str, list[ServerTool]]:
        """Return the tools of each connected server, as last looked at."""
        return {name: list(tools) for name, tools in self._tools_by_server.items()}

    def get_allowed_server_names(self) -> list[str]:
        """Return the servers that the policy opened when `initialize` looked."""
        return list(self._allowed_servers)

    async def cleanup(self) -> None:
        """End every server; tools that were given out are no more. Harmless when none runs."""
        connections, self._connections = self._connections, None
        self._allowed_servers, self._tools_by_server = {}, {}
        self.rejected_servers = {}
        if connections is not None:
            await connections.close()

    def _filter_by_policy(self) -> dict[str, Any]:
        """Return name and configuration of the servers that the policy opens."""
        return allowed_servers(
            self.settings.mcp_servers, self.workspace_state.context.get("mcp_policy")
        )

    def _usable_entries(self) -> dict[str, dict[str, Any]]:
        auth = self.workspace_state.context.get("mcp_auth")
        entries: dict[str, dict[str, Any]] = {}
        for name, config in self._allowed_servers.items():
            try:
                entries[name] = usable_entry(name, config, request_headers(auth, name))
            except ValueError as error:
                self._leave_out(name, str(error))
        return entries

    async def _call(
        self,
        connections: EngineConnections,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
    ) -> dict[str, Any]:
        if connections is not self._connections:  # which would begin anew, with what has ended
            raise UpstreamUnavailable(
                f"server {server!r} is not connected any more: the manager of this tool was cleaned"
                " up or initialized again; take tools from it anew"
            )
        return await connections.call_as(PROGRAM, server, tool, arguments)

    def _leave_out(self, name: str, why: str) -> None:
        self.rejected_servers[name] = why
        log.warning("a server cannot be used and is left out", server=name, error=why)

    async def _look_at_tools(self, connections: EngineConnections) -> None:
        found: dict[str, list[ServerTool]] = {}
        for offered in await connections.offered(PROGRAM):
            tool = ServerTool(
                server=offered.server,
                name=offered.name,
                published=offered.published,
                description=offered.description,
                input_schema=offered.input_schema,
                call=partial(self._call, connections, offered.server, offered.name),
            )
            found.setdefault(offered.server, []).append(tool)
        self._tools_by_server = {
            name: found[name] for name in self._allowed_servers if name in found
        }

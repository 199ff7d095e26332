"""`AgentMCPService`: the tools of a role, inside a program (S0.18 to S0.20)."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import UUID

import structlog

from remit.library.connections import EngineConnections, refusal
from remit.library.mapper import MCPToolMapper
from remit.settings import Settings

log = structlog.get_logger(__name__)


class Connections(Protocol):
    """What a program may bring to connect and call servers through.

    `EngineConnections` is called by the same names; a call through anything else has no record.
    """

    async def connect_server(
        self, name: str, command: str, args: list[str], env: dict[str, str]
    ) -> object:
        """Start a server under a name and return its session."""
        ...

    async def call_tool(
        self, server_name: str, tool_name: str, arguments: Mapping[str, Any]
    ) -> object:
        """Call a tool of a connected server and return its result."""
        ...


class AgentMCPService:
    """Connects the servers of roles and runs their tools: checked, limited and recorded.

    It can be used from any event loop. `async with` or `close` ends its servers; what is never
    closed ends with the program.

    Attributes:
        mapper: Which role may use which tool.
        mcp_manager: What servers are connected and called through.
        failures: Why a server that a role names could not be connected, by server.
    """

    def __init__(
        self,
        *,
        mapper: MCPToolMapper | None = None,
        mcp_manager: Connections | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            mapper: The roles; else those of `MCPToolMapper()`.
            mcp_manager: Else remit's engine, under the limits of the mapping.
            settings: Where the record is; else beside the mapping's file, or where the commands
                of this folder have it.
        """
        self.mapper = MCPToolMapper() if mapper is None else mapper
        if mcp_manager is None:
            where = Settings.read(self.mapper.config_path) if settings is None else settings
            mcp_manager = EngineConnections(lambda: self.mapper.config, where)
        self.mcp_manager = mcp_manager
        self.failures: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        """Give itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        await self.close()

    async def initialize_agent_tools(self, role: str) -> dict[str, Any]:
        """Connect the servers of *role*, and return a session for each that could be.

        One that could not is logged, and its reason is in `failures` (S0.26).

        Raises:
            DeclarationError: The mapping's entry of a server is wrong.
        """
        names = self.mapper.get_servers_for_role(role)
        entries = {name: self.mapper.get_server_config(name) for name in names}
        declared = {name: entry for name, entry in entries.items() if entry}
        for name in entries.keys() - declared.keys():
            self._note(name, "the mapping does not say how it is reached")
        if isinstance(self.mcp_manager, EngineConnections):
            connected = await self.mcp_manager.connect_for(role, declared)
            for name in connected.sessions:
                self.failures.pop(name, None)
            for name, why in connected.failures.items():
                self._note(name, why)
            return dict(connected.sessions)
        sessions: dict[str, Any] = {}
        for name, entry in declared.items():
            if "command" not in entry:
                self._note(name, "has no command, and these connections start nothing else")
                continue
            sessions[name] = await self.mcp_manager.connect_server(
                name=name,
                command=entry["command"],
                args=entry.get("args", []),
                env=entry.get("env", {}),
            )
        return sessions

    async def execute_tool(
        self,
        role: str,
        server: str,
        tool: str,
        arguments: dict[str, Any],
        squad_member_id: UUID | str | None = None,
    ) -> Any:
        """Call a tool as *role*; a server of the role that is not connected is connected first.

        Args:
            role: Who calls.
            server: The server's name in the mapping.
            tool: The server's own name of the tool.
            arguments: As the tool's schema says.
            squad_member_id: The acting member, for the record (S0.23).

        Returns:
            The MCP result, a mapping with `content`; `isError` says that the tool itself failed.

        Raises:
            PermissionError: The role may not, or there is no such tool.
            BadCall: The arguments do not fit.
            LimitReached: The role has called too often.
            AuditUnavailable: The call cannot be recorded, so it was not made.
            UpstreamError: The server cannot be reached, failed, or did not answer in time.
            ValueError: *squad_member_id* is no UUID.
        """
        member = None if squad_member_id is None else str(UUID(str(squad_member_id)))
        if isinstance(self.mcp_manager, EngineConnections):
            # The pipeline decides, by the same document: so a refusal is recorded too (S0.23).
            return await self.mcp_manager.call_as(role, server, tool, arguments, member)
        if not self.mapper.can_use_tool(role, server, tool):
            raise PermissionError(refusal(role, tool, server))
        return await self.mcp_manager.call_tool(
            server_name=server, tool_name=tool, arguments=arguments
        )

    def get_available_tools(self, role: str) -> dict[str, list[str]]:
        """Return the tools of *role* by server, as the mapping grants them."""
        return self.mapper.get_all_tools_for_role(role)

    async def close(self) -> None:
        """End every server that was started here. Harmless when none was."""
        if isinstance(self.mcp_manager, EngineConnections):
            await self.mcp_manager.close()

    def _note(self, server: str, why: str) -> None:
        self.failures[server] = why
        log.warning("a server cannot be connected and is left out", server=server, error=why)

"""`AgentMCPService`: the tools of a role, inside a program (S0.18 to S0.20)."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, Self, cast
from uuid import UUID

import structlog

from remit.errors import InvalidMember
from remit.library.brought import Brought, Connections
from remit.library.connections import Connected, EngineConnections, MCPSession
from remit.library.engine import Entry
from remit.library.mapper import MCPToolMapper
from remit.settings import Settings

log = structlog.get_logger(__name__)


class RoleConnections(Protocol):
    """Connects servers for a role and calls their tools as it: `EngineConnections`, `Brought`."""

    async def connect_for(self, role: str, entries: Mapping[str, Entry]) -> Connected:
        """Start servers for *role*.

        Raises:
            DeclarationError: An entry is wrong.
        """
        ...

    async def call_as(
        self,
        role: str,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        member: str | None = None,
    ) -> object:
        """Call a tool as *role*.

        Raises:
            PermissionError: The role may not, or there is no such tool.
            RemitError: As `AgentMCPService.execute_tool` says.
        """
        ...

    async def close(self) -> None:
        """End what was started here."""
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
        self.failures: dict[str, str] = {}
        if mcp_manager is None:
            where = Settings.read(self.mapper.config_path) if settings is None else settings
            engine = EngineConnections(self._rules, where)
            self.mcp_manager: Connections = engine
            self._connections: RoleConnections = engine
        else:
            self.mcp_manager = mcp_manager
            self._connections = Brought(mcp_manager, self.mapper.can_use_tool)

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

    async def initialize_agent_tools(self, role: str) -> dict[str, MCPSession]:
        """Connect the servers of *role*, and return a session for each that could be.

        One that could not is logged, and its reason is in `failures` (S0.26). Of an *mcp_manager*
        of the program's own a session is what its `connect_server` returned.

        Raises:
            DeclarationError: The mapping's entry of a server is wrong.
        """
        self.mapper.refresh()
        names = self.mapper.get_servers_for_role(role)
        entries = {name: self.mapper.get_server_config(name) for name in names}
        declared = {name: entry for name, entry in entries.items() if entry}
        for name in entries.keys() - declared.keys():
            self._note(name, "the mapping does not say how it is reached")
        connected = await self._connections.connect_for(self.mapper.name_of(role), declared)
        for name in connected.sessions:
            self.failures.pop(name, None)
        for name, why in connected.failures.items():
            self._note(name, why)
        return dict(connected.sessions)

    async def execute_tool(
        self,
        role: str,
        server: str,
        tool: str,
        arguments: dict[str, Any],
        squad_member_id: UUID | str | None = None,
    ) -> dict[str, Any]:
        """Call a tool as *role*; a server of the role that is not connected is connected first.

        Args:
            role: Who calls.
            server: The server's name in the mapping.
            tool: The server's own name of the tool.
            arguments: As the tool's schema says.
            squad_member_id: The acting member, for the record (S0.23).

        Returns:
            The MCP result, a mapping with `content`; `isError` says that the tool itself failed.
            Of an *mcp_manager* of the program's own, what its `call_tool` returned.

        Raises:
            PermissionError: The role may not, or there is no such tool.
            BadCall: The arguments do not fit; `InvalidMember`, a `ValueError`, where
                *squad_member_id* is no UUID.
            LimitReached: The role has called too often.
            AuditUnavailable: The call cannot be recorded, so it was not made.
            UpstreamError: The server cannot be reached, failed, or did not answer in time.
        """
        member = None if squad_member_id is None else _uuid(squad_member_id)
        self.mapper.refresh()
        # The engine decides by the same document, so that a refusal is recorded, too (S0.23).
        acting = self.mapper.name_of(role)
        result = await self._connections.call_as(acting, server, tool, arguments, member)
        return cast("dict[str, Any]", result)

    def get_available_tools(self, role: str) -> dict[str, list[str]]:
        """Return the tools of *role* by server, as the mapping grants them."""
        self.mapper.refresh()
        return self.mapper.get_all_tools_for_role(role)

    async def close(self) -> None:
        """End every server that was started here. Harmless when none was."""
        await self._connections.close()

    def _rules(self) -> Mapping[str, Any]:
        self.mapper.refresh()
        return self.mapper.document

    def _note(self, server: str, why: str) -> None:
        self.failures[server] = why
        log.warning("a server cannot be connected and is left out", server=server, error=why)


def _uuid(member: UUID | str) -> str:
    try:
        return str(UUID(str(member)))
    except ValueError as error:
        raise InvalidMember(
            "squad_member_id is no UUID; give that of the acting member, or None"
        ) from error

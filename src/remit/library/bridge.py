"""The tools of a client's servers under an agent's names for them, and back (S1.20-S1.24)."""

from collections.abc import Mapping
from typing import Any

from remit.errors import InvalidToolName
from remit.library.client import MCPClient
from remit.library.config import MCPConfig, get_default_mcp_config
from remit.library.parameters import parameters_of
from remit.model.tools import ToolId
from remit.upstreams.names import Names, bridged_names

_PREFIX = "mcp"
_PARTS = 3


class MCPToolBridge:
    """Shows the tools of *mcp_client* to an agent, and runs them by those names.

    It holds nothing of its own: what the client has now is what it shows.
    """

    def __init__(self, mcp_client: MCPClient) -> None:
        self.mcp_client = mcp_client

    def get_tools_for_agent(self) -> list[dict[str, Any]]:
        """Return every tool as `name`, `description`, `parameters` and `metadata`.

        The name is `mcp_{server}_{tool}`, or R3's form of it where that is too long, strange or
        taken. `metadata` keeps the server's and the tool's own names, and the whole input schema.
        """
        tools = self._tools()
        names = bridged_names(tools)
        return [_shown(names[tool], tool, listed) for tool, listed in tools.items()]

    async def invoke_tool(self, tool_name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run the tool that *tool_name* names and return its server's `result`.

        Args:
            tool_name: As `get_tools_for_agent` has it, or another spelling of R2; a name that is
                not known is split at its first two underscores (R4).
            arguments: What the tool's schema asks for.

        Raises:
            BadCall: The arguments are no JSON; nothing was sent.
            InvalidToolName: It names no tool, or several (a `ValueError`).
            MCPConnectionError: The tool's server is not connected (a `RuntimeError`).
            MCPProtocolError: There is no result.
        """
        tool = self._meant(tool_name)
        return await self.mcp_client.call_tool(tool.server, tool.name, arguments)

    def _tools(self) -> dict[ToolId, Mapping[str, Any]]:
        """Return what the client offers and can be named, by identity."""
        listed = self.mcp_client.get_available_tools()
        return {
            ToolId(str(tool["_server"]), tool["name"]): tool
            for tool in listed
            if isinstance(tool.get("name"), str) and tool["name"] and tool.get("_server")
        }

    def _meant(self, name: str) -> ToolId:
        tools = self._tools()
        for tool, bridged in bridged_names(tools).items():
            if bridged == name:
                return tool
        found = Names.build(tools).find(name, None)
        if len(found) == 1:
            return found[0]
        if found:
            candidates = ", ".join(str(tool) for tool in found)
            raise InvalidToolName(f"Invalid MCP tool name {name!r}: it fits {candidates}")
        parts = name.split("_", _PARTS - 1)
        if len(parts) < _PARTS or parts[0] != _PREFIX or not all(parts):
            raise InvalidToolName(
                f"Invalid MCP tool name {name!r}: expected mcp_{{server}}_{{tool}}"
            )
        return ToolId(parts[1], parts[2])


def _shown(name: str, tool: ToolId, listed: Mapping[str, Any]) -> dict[str, Any]:
    schema = listed.get("inputSchema")
    description = listed.get("description") or listed.get("title")
    return {
        "name": name,
        "description": description or f"The tool {tool.name} of the MCP server {tool.server}",
        "parameters": parameters_of(schema),
        "metadata": {
            "server": tool.server,
            "tool": tool.name,
            "input_schema": schema if isinstance(schema, dict) else {},
        },
    }


async def create_mcp_bridge(
    config: MCPConfig | None = None, *, connect_enabled: bool = True
) -> MCPToolBridge:
    """Return a bridge over the servers of *config*; one that cannot be connected is a warning.

    Whoever is done with it calls `bridge.mcp_client.disconnect_all()`.

    Args:
        config: The default servers when None.
        connect_enabled: Whether every enabled server is connected before this returns.
    """
    client = MCPClient(get_default_mcp_config() if config is None else config)
    if connect_enabled:
        try:
            await client.connect_all()
        except BaseException:
            await client.disconnect_all()
            raise
    return MCPToolBridge(client)

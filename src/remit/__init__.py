"""Every caller sees exactly the tools within its remit, and every call is recorded.

The library's names are found when they are first used: `import remit` alone loads nothing of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.client.asynchronous import AsyncClient
    from remit.client.synchronous import Client
    from remit.errors import InvalidToolName, MCPConnectionError, MCPProtocolError
    from remit.library.bridge import MCPToolBridge, create_mcp_bridge
    from remit.library.client import MCPClient
    from remit.library.config import (
        DEFAULT_MCP_SERVERS,
        MCPConfig,
        MCPServerConfig,
        get_default_mcp_config,
    )
    from remit.library.connection import MCPConnection
    from remit.library.connections import MCPSession
    from remit.library.lines import ConnectionResult, ServerHealth
    from remit.library.mapper import MCPToolMapper
    from remit.library.server_entries import RuntimeSettings
    from remit.library.server_manager import MCPServerManager
    from remit.library.server_tools import format_tool_summary
    from remit.library.service import AgentMCPService
else:
    _PLACES = {
        "AgentMCPService": "remit.library.service",
        "AsyncClient": "remit.client.asynchronous",
        "Client": "remit.client.synchronous",
        "ConnectionResult": "remit.library.lines",
        "DEFAULT_MCP_SERVERS": "remit.library.config",
        "InvalidToolName": "remit.errors",
        "MCPClient": "remit.library.client",
        "MCPConfig": "remit.library.config",
        "MCPConnection": "remit.library.connection",
        "MCPConnectionError": "remit.errors",
        "MCPProtocolError": "remit.errors",
        "MCPServerConfig": "remit.library.config",
        "MCPServerManager": "remit.library.server_manager",
        "MCPSession": "remit.library.connections",
        "MCPToolBridge": "remit.library.bridge",
        "MCPToolMapper": "remit.library.mapper",
        "RuntimeSettings": "remit.library.server_entries",
        "ServerHealth": "remit.library.lines",
        "create_mcp_bridge": "remit.library.bridge",
        "format_tool_summary": "remit.library.server_tools",
        "get_default_mcp_config": "remit.library.config",
    }

    def __getattr__(name: str) -> object:
        """Return a public name, from the module that defines it."""
        place = _PLACES.get(name)
        if place is None:
            raise AttributeError(f"module 'remit' has no attribute {name!r}")
        found = getattr(import_module(place), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """Return what is there and what can be had."""
        return sorted({*globals(), *_PLACES})


__all__ = [
    "DEFAULT_MCP_SERVERS",
    "AgentMCPService",
    "AsyncClient",
    "Client",
    "ConnectionResult",
    "InvalidToolName",
    "MCPClient",
    "MCPConfig",
    "MCPConnection",
    "MCPConnectionError",
    "MCPProtocolError",
    "MCPServerConfig",
    "MCPServerManager",
    "MCPSession",
    "MCPToolBridge",
    "MCPToolMapper",
    "RuntimeSettings",
    "ServerHealth",
    "create_mcp_bridge",
    "format_tool_summary",
    "get_default_mcp_config",
]

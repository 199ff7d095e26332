"""Every caller sees exactly the tools within its remit, and every call is recorded.

The library's names are found when they are first used: `import remit` alone loads nothing of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.library.mapper import MCPToolMapper
    from remit.library.server_entries import RuntimeSettings
    from remit.library.server_manager import MCPServerManager
    from remit.library.server_tools import format_tool_summary
    from remit.library.service import AgentMCPService
else:
    _PLACES = {
        "AgentMCPService": "remit.library.service",
        "MCPServerManager": "remit.library.server_manager",
        "MCPToolMapper": "remit.library.mapper",
        "RuntimeSettings": "remit.library.server_entries",
        "format_tool_summary": "remit.library.server_tools",
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
    "AgentMCPService",
    "MCPServerManager",
    "MCPToolMapper",
    "RuntimeSettings",
    "format_tool_summary",
]

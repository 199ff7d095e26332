"""A typed client of a running gateway: its MCP door and its HTTP API, sync and async.

Its names are found when they are first used; what it raises is in `remit.errors`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.client.asynchronous import AsyncClient
    from remit.client.operations import Operation, Page, Tagged
    from remit.client.synchronous import Client
    from remit.client.tools import CallResult, Progress, ToolDefinition
else:
    _PLACES = {
        "AsyncClient": "remit.client.asynchronous",
        "CallResult": "remit.client.tools",
        "Client": "remit.client.synchronous",
        "Operation": "remit.client.operations",
        "Page": "remit.client.operations",
        "Progress": "remit.client.tools",
        "Tagged": "remit.client.operations",
        "ToolDefinition": "remit.client.tools",
    }

    def __getattr__(name: str) -> object:
        """Return a public name, from the module that defines it."""
        place = _PLACES.get(name)
        if place is None:
            raise AttributeError(f"module 'remit.client' has no attribute {name!r}")
        found = getattr(import_module(place), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """Return what is there and what can be had."""
        return sorted({*globals(), *_PLACES})


__all__ = [
    "AsyncClient",
    "CallResult",
    "Client",
    "Operation",
    "Page",
    "Progress",
    "Tagged",
    "ToolDefinition",
]

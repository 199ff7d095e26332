"""How the paths of MCP endpoints are written: `/mcp`, a tenant's UUID, the name of a server."""

import re
from typing import Final

ROOT: Final = "/mcp"
"""The endpoint of all servers; the others are below it."""

UUID: Final = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
"""What stands for a tenant, as a pattern."""

NAME: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
"""What a server may be called, as a pattern; agents and tenants are named alike."""

ENDPOINT: Final = rf"{ROOT}(?:/{NAME}){{0,2}}"
"""The path of any endpoint, as a pattern."""

_TENANT: Final = re.compile(rf"{ROOT}/({UUID})(?:/|\Z)")


def tenant_of(path: str) -> str | None:
    """Return the UUID of the tenant whose endpoint is at *path*, lower case, or None."""
    found = _TENANT.match(path)
    return found[1].lower() if found else None

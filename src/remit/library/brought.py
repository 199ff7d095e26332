"""Connections that a program brings, as a role uses them: asked for leave here, since not there."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from remit.library.connections import Connected, refusal
from remit.library.engine import Entry

MayUse = Callable[[str, str, str], bool]
"""Whether a role may use a tool of a server: role, server, tool."""


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


class Brought:
    """A program's own connections, for roles. They start commands alone, and stay the program's.

    Args:
        connections: The program's.
        may_use: Asked before each call.
    """

    def __init__(self, connections: Connections, may_use: MayUse) -> None:
        self._connections = connections
        self._may_use = may_use

    async def connect_for(self, role: str, entries: Mapping[str, Entry]) -> Connected:
        """Start the servers of *role*, one after the other."""
        del role  # to them all roles are one
        sessions: dict[str, Any] = {}
        failures: dict[str, str] = {}
        for name, entry in entries.items():
            if "command" not in entry:
                failures[name] = "has no command, and these connections start nothing else"
                continue
            sessions[name] = await self._connections.connect_server(
                name=name,
                command=entry["command"],
                args=entry.get("args", []),
                env=entry.get("env", {}),
            )
        return Connected(sessions=sessions, failures=failures)

    async def call_as(
        self,
        role: str,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        member: str | None = None,
    ) -> object:
        """Call a tool if *role* may use it.

        Raises:
            PermissionError: It may not.
        """
        del member  # there is no record that would name it
        if not self._may_use(role, server, tool):
            raise PermissionError(refusal(role, tool, server))
        return await self._connections.call_tool(
            server_name=server, tool_name=tool, arguments=arguments
        )

    async def close(self) -> None:
        """Leave them to the program."""

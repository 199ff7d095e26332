"""Servers connected and called through the engine, for whoever acts: a role, or the program."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from remit.errors import CallDenied, UpstreamUnavailable
from remit.library.beside import Beside
from remit.library.engine import Document, Engine, Entry, Offered, open_engine
from remit.settings import Settings

R = TypeVar("R")


class MCPSession(Protocol):
    """A connected server, as one caller reaches it."""

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return what the caller may call here now, under the server's own names."""
        ...

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Call a tool and return the MCP result.

        Raises:
            PermissionError: The caller may not, or there is no such tool.
            RemitError: As `AgentMCPService.execute_tool` says.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSession:
    """A connected server, as one role reaches it."""

    server: str
    role: str
    connections: "EngineConnections" = field(repr=False)

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return what the role may call here now, under the server's own names."""
        return await self.connections.list_tools(self.role, self.server)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Call a tool and return the MCP result.

        Raises:
            PermissionError: The role may not, or there is no such tool.
            RemitError: As `AgentMCPService.execute_tool` says.
        """
        return await self.connections.call_as(self.role, self.server, name, arguments or {})


class EngineConnections:
    """Connects servers when they are asked for; every call is checked, limited and recorded.

    Args:
        rules: Gives the document with roles and limits: the same object as long as they stay
            what they are, since it is asked before each use.
        settings: Where record and counters are.
    """

    def __init__(self, rules: Callable[[], Document], settings: Settings) -> None:
        self._rules = rules
        self._engine = Beside(lambda: open_engine(settings, rules()), name="remit")

    async def connect_server(
        self,
        name: str,
        command: str,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> ToolSession:
        """Start a server for the program itself, whom no role bounds; its calls are recorded.

        Args:
            name: What it is called from now on.
            command: The program, started without a shell.
            args: Its arguments.
            env: Variables beside the few that every child gets; `${NAME}` is expanded (S0.24).

        Raises:
            UpstreamUnavailable: It cannot be started or does not speak MCP; the text says why.
            DeclarationError: The name cannot be one.
        """
        entry = {"command": command, "args": list(args), "env": dict(env or {})}

        async def connect(engine: Engine) -> tuple[str, Mapping[str, str]]:
            failures = await engine.connect({name: entry})
            engine.open_to_program(name)
            return engine.program, failures

        program, failures = await self._use(connect)
        if name in failures:
            raise UpstreamUnavailable(f"server {name!r} cannot be used: {failures[name]}")
        return ToolSession(server=name, role=program, connections=self)

    async def call_tool(
        self, server_name: str, tool_name: str, arguments: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Call a tool of a server that `connect_server` connected; return the MCP result.

        Raises:
            PermissionError: It was not connected there, or there is no such tool.
            RemitError: As `AgentMCPService.execute_tool` says.
        """

        async def program(engine: Engine) -> str:
            return engine.program

        role = await self._use(program)
        return await self.call_as(role, server_name, tool_name, arguments or {})

    async def connect_for(self, role: str, entries: Mapping[str, Entry]) -> "Connected":
        """Start servers for *role*, all at once.

        Raises:
            DeclarationError: An entry is wrong.
        """
        failures = await self._use(lambda engine: engine.connect(entries))
        sessions = {
            name: ToolSession(server=name, role=role, connections=self)
            for name in entries
            if name not in failures
        }
        return Connected(sessions=sessions, failures=failures)

    async def call_as(
        self,
        role: str,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        member: str | None = None,
    ) -> dict[str, Any]:
        """Call a tool as *role*, in the name of a squad member if one is given.

        Raises:
            PermissionError: The role may not, or there is no such tool.
            RemitError: As `AgentMCPService.execute_tool` says.
        """
        try:
            return await self._use(
                lambda engine: engine.call(role, server, tool, arguments, member)
            )
        except CallDenied as denied:
            raise PermissionError(refusal(role, tool, server)) from denied

    async def list_tools(self, role: str, server: str) -> list[dict[str, Any]]:
        """Return what *role* may call on *server* now, as `tools/list` has it there."""

        async def listed(engine: Engine) -> list[dict[str, Any]]:
            return engine.tools(role, server)

        return await self._use(listed)

    async def offered(self, role: str) -> list[Offered]:
        """Return what *role* may call now, on all servers that are connected."""

        async def looked(engine: Engine) -> list[Offered]:
            return engine.offered(role)

        return await self._use(looked)

    async def close(self) -> None:
        """End every server; the next call begins anew. Harmless when nothing is open."""
        await self._engine.close()

    async def _use(self, function: Callable[[Engine], Awaitable[R]]) -> R:
        """Return what *function* makes of the engine, under the rules as of now."""

        async def followed(engine: Engine) -> R:
            engine.follow(self._rules())
            return await function(engine)

        return await self._engine.use(followed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """What came of connecting servers: a session each, or why there is none."""

    sessions: Mapping[str, MCPSession]
    failures: Mapping[str, str]


def refusal(role: str, tool: str, server: str) -> str:
    """Return the text of the `PermissionError` that says no (roles.md, exact texts)."""
    return f"Role '{role}' is not allowed to use tool '{tool}' on server '{server}'"

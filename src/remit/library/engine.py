"""The gateway's engine inside a program: servers are connected when they are asked for.

entries ──connect──▶ declaration with them ──▶ policy and fleet, swapped together
call ──▶ the one pipeline: authorized, validated, limited, recorded, run (S0.19, S0.21)
"""

import json
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, cast

from remit.admin.declaration import parse_document
from remit.app.gateway import Gateway, open_gateway
from remit.calls.ids import new_id
from remit.errors import DeclarationError
from remit.library.arguments import as_json
from remit.library.log import log_through_logging
from remit.model.calls import Call
from remit.model.principals import Principal, PrincipalKind
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.settings import Settings

PROGRAM: Final = "program"
"""The role that the program itself acts in, where nobody declares one of that name."""

Document = Mapping[str, Any]
"""What `remit.yaml` states, as plain data."""

Entry = Mapping[str, Any]
"""One of its `mcp_servers`, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A tool that a role may call.

    Attributes:
        name: The server's own name for it.
        published: Its name on the endpoint of all servers (R2).
        input_schema: As the server gave it.
    """

    server: str
    name: str
    published: str
    description: str
    input_schema: Mapping[str, Any]


class Engine:
    """What a program calls tools through; lives on one event loop.

    The rules of all servers are in force from the beginning, so that every decision is right;
    processes run only for those that were asked for.
    """

    def __init__(self, gateway: Gateway, rules: Document) -> None:
        """Put *rules* in force.

        Raises:
            DeclarationError: They are wrong.
        """
        self._home = gateway.home
        self._wanted: set[str] = set()
        self._principals: dict[str, Principal] = {}
        self._added: dict[str, dict[str, Any]] = {}
        self._opened: tuple[str, ...] = ()
        self._rules = rules
        self._put(rules)

    @property
    def program(self) -> str:
        """The role that the program itself acts in: one that nobody declares."""
        name = PROGRAM
        while name in self._rules.get("roles", {}):  # that one is somebody else's
            name += "+"
        return name

    def follow(self, rules: Document) -> None:
        """Put other rules in force, unless they are the same object; what was added stays.

        Servers that are gone end, and those that are reached in another way begin anew.

        Raises:
            DeclarationError: They are wrong; then nothing changes.
        """
        if rules is not self._rules:
            before, self._rules = self._rules, rules
            try:
                self._put(rules)
            except DeclarationError:
                self._rules = before
                raise

    async def connect(self, entries: Mapping[str, Entry]) -> Mapping[str, str]:
        """Declare servers, unless they are already, and wait for the first attempt at each.

        Returns:
            Why each of those that cannot be used cannot; one that comes back later can be used
            without being connected again.

        Raises:
            DeclarationError: An entry is wrong; then nothing changes.
        """
        declared = {**self._rules.get("mcp_servers", {}), **self._added}
        new = {name: entry for name, entry in entries.items() if declared.get(name) != entry}
        if new:
            before = self._added
            self._added = before | {name: deepcopy(dict(entry)) for name, entry in new.items()}
            try:
                self._put(self._rules)
            except DeclarationError:
                self._added = before
                raise
        self._start(entries)
        return {name: why for name in entries if (why := await self._why_not(name))}

    def open_to_program(self, server: str) -> None:
        """Let the program itself use every tool of *server*."""
        if server not in self._opened:
            self._opened = (*self._opened, server)
            self._put(self._rules)

    async def call(
        self,
        role: str,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        member: str | None = None,
    ) -> dict[str, Any]:
        """Call a tool as *role* and return the MCP result.

        Raises:
            CallDenied: The role may not, or there is no such tool.
            BadCall: The arguments do not fit.
            LimitReached: It has called too often.
            AuditUnavailable: The call cannot be recorded, so it was not made.
            UpstreamError: The server failed, or did not answer in time.
        """
        await self._connect_where_allowed(role, ToolId(server, tool))
        call = Call(
            id=new_id(),
            principal=self._principal(role),
            requested=tool,
            scope=server,
            arguments=as_json(arguments),
            started=time.monotonic(),
            member=member,
        )
        outcome = await self._home.pipeline.run(call)
        return cast("dict[str, Any]", json.loads(outcome.result))

    def tools(self, role: str, server: str) -> list[dict[str, Any]]:
        """Return what *role* may call on *server* now, as `tools/list` has it there."""
        listed = self._home.listing.tools_json(self._principal(role), server, legacy=False)
        return cast("list[dict[str, Any]]", json.loads(listed))

    def offered(self, role: str) -> list[Offered]:
        """Return what *role* may call now, on all servers."""
        listing = self._home.listing
        return [
            Offered(
                server=tool.id.server,
                name=tool.id.name,
                published=listing.published_name(tool.id, None),
                description=tool.description,
                input_schema=cast("dict[str, Any]", json.loads(tool.input_schema)),
            )
            for tool in listing.visible(self._principal(role), None)
        ]

    async def _connect_where_allowed(self, role: str, tool: ToolId) -> None:
        """Start a server that nobody asked for yet; never for a call that is to be refused."""
        policy = self._home.policy
        is_new = tool.server in policy.declaration.servers and tool.server not in self._wanted
        if is_new and decide(policy.snapshot, self._principal(role), tool).allowed:
            self._start([tool.server])
        upstream = self._home.fleet.upstreams.get(tool.server)
        if upstream is not None:
            await upstream.settled.wait()

    def _put(self, rules: Document) -> None:
        document = deepcopy(dict(rules))
        if self._added:
            document["mcp_servers"] = {**document.get("mcp_servers", {}), **self._added}
        if self._opened:
            allowed = {"allow": [f"{server}/*" for server in self._opened]}
            document["roles"] = {**document.get("roles", {}), self.program: allowed}
        declaration = parse_document(document).declaration
        self._home.policy.swap(declaration, revision=self._home.policy.revision)
        self._start(())

    def _start(self, names: Iterable[str]) -> None:
        self._wanted.update(names)
        declared = self._home.policy.declaration.servers
        wanted = {name: config for name, config in declared.items() if name in self._wanted}
        self._home.fleet.reconfigure(wanted)

    async def _why_not(self, name: str) -> str:
        upstream = self._home.fleet.upstreams[name]
        await upstream.settled.wait()
        status = upstream.status()
        return "" if status.state.is_up else status.reason or status.state.in_words

    def _principal(self, role: str) -> Principal:
        """Return who acts in *role*: the same object each time, as permits are remembered by it."""
        if role not in self._principals:
            tenant = self._home.tenant.name
            self._principals[role] = Principal(
                kind=PrincipalKind.ROLE, name=role, tenant=tenant, roles=(role,)
            )
        return self._principals[role]


@asynccontextmanager
async def open_engine(settings: Settings, document: Document) -> AsyncGenerator[Engine]:
    """Open an engine under the rules of *document*, with none of its servers started.

    Args:
        settings: Where record and counters are.
        document: As `remit.yaml`; it becomes no revision.

    Raises:
        DeclarationError: The document is wrong.
        StartupError: Database or journal cannot be opened.
    """
    log_through_logging()
    empty = parse_document({key: document[key] for key in ("audit",) if key in document})
    async with open_gateway(settings, author="library", declared=empty) as gateway:
        yield Engine(gateway, document)

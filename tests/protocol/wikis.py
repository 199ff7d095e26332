"""Two wikis behind a real door: servers of their own, over any transport and in either era."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import anyio
from tests.doors.test_stdio import Terminal, stdio
from tests.doors.worlds import JsonObject, Wire, World, envelope, message, serving, world_over

from remit.model.declaration import Declaration
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig, Session, Transport
from remit.testing.behaviour import FixtureOptions
from remit.testing.upstream import fixture_server_config, open_web_fixture
from remit.upstreams.fleet import Pace, open_fleet

PAGE = "wiki://page/1"
SHARED = "wiki://page/shared"
TEMPLATE = "wiki://page/{id}"


def contents(wiki: str, *pages: str, template: str = TEMPLATE) -> dict[str, Any]:
    """Return what a wiki has: prompts, pages and a template of them."""
    return {
        "prompts": [
            {
                "name": "greet",
                "title": "Greet",
                "description": "Greets somebody",
                "arguments": [{"name": "who", "required": True}, {"name": "how"}],
                "_meta": {"dev.example/kept": [1.0, 9007199254740993]},
            },
            {"name": "sum up"},
        ],
        "resources": [
            {"uri": page, "name": f"page of {wiki}", "x-fixture": {"text": f"{page} of {wiki}"}}
            for page in pages
        ],
        "resourceTemplates": [
            {
                "uriTemplate": template,
                "name": "any page",
                "x-fixture": {"text": f"made by {wiki}"},
            }
        ],
    }


WIKI = contents("wiki", PAGE, SHARED)
MIRROR = contents("mirror", SHARED, "mirror://only", template="mirror://page/{id}")

ROLES = [
    Role(name="nothing", tools={"wiki": ()}),
    Role(name="wiki", allow=("wiki/*",)),
    Role(name="both", allow=("wiki/*", "mirror/*")),
    Role(name="prompts", allow=("wiki/prompt:*",)),
    Role(name="pages", allow=("wiki/resource:wiki://page/1*",)),
    Role(name="docs", allow=("wiki/resource:file:///docs/*",)),
    Role(name="no secrets", allow=("wiki/*",), deny=("wiki/resource:file:///secret*",)),
    Role(name="tools", tools={"wiki": ("search",)}),
    Role(name="greeter", tools={"wiki": ("prompt:greet",)}),
    Role(name="told", tools={"wiki": ()}, denials="explain"),
]
"""Each has a key of its name."""


@dataclass(kw_only=True)
class Wikis:
    """The gateway and the servers behind it."""

    world: World
    url: str
    counts: Mapping[str, Path]
    fixtures: Mapping[str, Any]


class Asker(Protocol):
    """One caller, over one way in and in one era."""

    async def ask(self, method: str, params: Mapping[str, object] | None = None) -> JsonObject:
        """Return the JSON-RPC answer."""
        ...


@dataclass(kw_only=True)
class OverHttp:
    """A caller over HTTP."""

    wire: Wire
    era: str
    path: str = "/mcp"
    statuses: list[int] = field(default_factory=list[int])
    session: str = ""

    async def ask(self, method: str, params: Mapping[str, object] | None = None) -> JsonObject:
        if self.era == "modern":
            uri = (params or {}).get("uri")
            named = {"Mcp-Name": str(uri)} if method == "resources/read" else None
            reply = await self.wire.modern(method, params, path=self.path, headers=named)
        else:
            self.session = self.session or await self.wire.begin(path=self.path)
            headers = {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-11-25"}
            reply = await self.wire.send(
                message(method, params or {}), path=self.path, headers=headers
            )
        self.statuses.append(reply.status)
        return json.loads(reply.body)


@dataclass(kw_only=True)
class OverStdio:
    """A caller over stdin and stdout."""

    terminal: Terminal
    era: str

    async def ask(self, method: str, params: Mapping[str, object] | None = None) -> JsonObject:
        full = {"_meta": envelope(), **(params or {})} if self.era == "modern" else params or {}
        await self.terminal.say(message(method, full))
        return await self.terminal.hear()


@asynccontextmanager
async def open_wikis(
    folder: Path,
    *,
    transport: str = "stdio",
    era: str = "both",
    offers: Mapping[str, Mapping[str, Any]] | None = None,
    tools: Sequence[str | Mapping[str, Any]] = ("search",),
    session: Session = Session.SHARED,
) -> AsyncGenerator[Wikis]:
    """Start the servers and a door before them, with a key for each of `ROLES`."""
    behind = offers if offers is not None else {"wiki": WIKI, "mirror": MIRROR}
    servers: dict[str, ServerConfig] = {}
    counts: dict[str, Path] = {}
    fixtures: dict[str, Any] = {}
    with ExitStack() as stack:
        for name, offer in behind.items():
            counts[name] = folder / f"{name}.jsonl"
            if transport == "stdio":
                servers[name] = fixture_server_config(
                    name, tools, counts[name], contents=offer, options=("--era", era)
                )
            else:
                options = FixtureOptions(
                    tools=tools, count_file=str(counts[name]), era=era, contents=offer
                )
                fixture = stack.enter_context(open_web_fixture(options, transport=transport))
                fixtures[name] = fixture
                servers[name] = ServerConfig(
                    name=name, transport=Transport(transport), url=fixture.url
                )
            servers[name] = replace(servers[name], session=session)
        async with open_fleet(
            servers,
            builtins={},
            environ={},
            unclaimed=lambda _: None,
            pace=Pace(relist_pause=0.05),
        ) as fleet:
            with anyio.fail_after(20):
                await fleet.settled()
            declaration = Declaration(servers=servers, roles={role.name: role for role in ROLES})
            world = world_over(fleet, declaration, {role.name: key(role.name) for role in ROLES})
            async with serving(world) as url:
                yield Wikis(world=world, url=url, counts=counts, fixtures=fixtures)


def key(role: str) -> Principal:
    """Return the caller that the key of that name stands for."""
    return Principal(kind=PrincipalKind.KEY, name=role, roles=(role,))


@asynccontextmanager
async def asking(
    wikis: Wikis, http: Any, role: str, *, era: str, way: str = "http", path: str = "/mcp"
) -> AsyncGenerator[Asker]:
    """Come in as *role*, over one way."""
    if way == "http":
        yield OverHttp(wire=Wire(http, wikis.url, role), era=era, path=path)
        return
    async with stdio(wikis.world, key(role)) as terminal:
        caller = OverStdio(terminal=terminal, era=era)
        if era == "legacy":
            info = {"name": "t", "version": "1"}
            opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
            await caller.ask("initialize", opening)
        yield caller

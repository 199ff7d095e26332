"""A door over a fleet that lives in this process, served by a real server on a real socket."""

import io
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
import anyio
import anyio.lowlevel
import httpx2
from mcp.client.client import Client
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import encode_header_value

from remit.calls.acting import Acting
from remit.calls.allowances import OwnAllowances
from remit.calls.authorize import Authorizer
from remit.calls.directory import Directory
from remit.calls.inforce import PolicyInForce
from remit.calls.invoke import Invoker
from remit.calls.limit import Limiter
from remit.calls.listing import Listing
from remit.calls.pipeline import Pipeline
from remit.calls.record import Recorder
from remit.calls.states import States
from remit.calls.validate import Validator
from remit.cli.serving import bind
from remit.client.transport import TRUSTS_NOBODY
from remit.doors.addresses import Addresses
from remit.doors.execute.endpoint import ExecuteDoor, ExecuteEndpoint
from remit.doors.guard import Guard
from remit.doors.http import create_app
from remit.doors.mcp.changes import CatalogueChanges, ListChanges
from remit.doors.mcp.http import McpEndpoint
from remit.doors.mcp.methods import ServerInfo
from remit.doors.mcp.mirrored import MirroredArguments
from remit.doors.mcp.protocol import McpDoor
from remit.doors.mcp.sessions import Sessions
from remit.doors.mcp.tenants import TenantDoor
from remit.doors.oauth import ProtectedResources
from remit.doors.refusals import Refusals
from remit.doors.server import build_http_server
from remit.errors import AuditUnavailable, StorageUnavailable, Unauthenticated
from remit.model.conversation import Extras
from remit.model.declaration import Declaration, HttpSettings
from remit.model.events import AuditEvent
from remit.model.grants import JwtIssuer
from remit.model.limits import Limit
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig, ServerState, ServerStatus, Transport
from remit.model.tools import Tool, ToolId
from remit.testing.fakes import InMemoryAgents
from remit.upstreams.catalogue import Catalogue

UUID = "0c8f4cda-9b0c-4b5e-8a36-9ac9e9d6a1b2"
"""The tenant's."""

JsonObject = dict[str, Any]

Behaviour = Callable[[bytes, bytes], Awaitable[bytes]]
"""What a tool of the fake fleet does with raw arguments and raw `_meta`."""


def tool(server: str, name: str, schema: Mapping[str, object] | None = None) -> Tool:
    """Return a tool as a server would list it."""
    input_schema = schema or {"type": "object"}
    wire = {"name": name, "description": f"{name} of {server}", "inputSchema": input_schema}
    return Tool(
        id=ToolId(server, name),
        wire=json.dumps(wire).encode(),
        input_schema=json.dumps(input_schema).encode(),
    )


class FakeFleet:
    """Servers in this process: what they offer, what they do, and how often it really ran."""

    def __init__(self, offers: Mapping[str, list[Tool]]) -> None:
        self._offers = dict(offers)
        self._changed = anyio.Event()
        self.catalogue = Catalogue.build(1, offers)
        self.behaviours: dict[str, Behaviour] = {}
        self.ran: dict[str, int] = {}
        self.received: list[tuple[bytes, bytes]] = []
        self.acting: list[Principal] = []
        self.states: dict[str, ServerState] = {}

    async def invoke(
        self,
        tool: ToolId,
        *,
        arguments: bytes,
        meta: bytes,
        principal: Principal,
        timeout: float,  # noqa: ASYNC109 - the port's signature
        method: str = "tools/call",
        extras: Extras | None = None,
        confirm: object = None,
    ) -> bytes:
        del timeout, method, extras, confirm
        self.acting.append(principal)
        self.ran[str(tool)] = self.ran.get(str(tool), 0) + 1
        self.received.append((arguments, meta))
        behave = self.behaviours.get(str(tool))
        if behave is not None:
            return await behave(arguments, meta)
        return b'{"content":[{"type":"text","text":"done"}]}'

    def offer(self, server: str, tools: list[Tool]) -> None:
        """Let *server* offer other tools from now on."""
        self._offers[server] = tools
        self.catalogue = Catalogue.build(self.catalogue.version + 1, self._offers)
        self._changed.set()
        self._changed = anyio.Event()

    async def changed(self, version: int) -> Catalogue:
        while self.catalogue.version == version:
            await self._changed.wait()
        return self.catalogue

    def statuses(self) -> tuple[ServerStatus, ...]:
        return tuple(
            ServerStatus(
                name=server,
                transport=Transport.STDIO,
                state=self.states.get(server, ServerState.READY),
                tools=len(tools),
            )
            for server, tools in self._offers.items()
        )


class FakeAudit:
    """Keeps events; cannot be written while `is_broken`."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []
        self.is_broken = False

    async def record(self, event: AuditEvent) -> None:
        if self.is_broken:
            raise AuditUnavailable("disk full at /var/lib/secret/place")
        self.events.append(event)


@dataclass(kw_only=True)
class World:
    """A gateway's insides, ready to be served, and open to what tests need to see and to change.

    Attributes:
        keys: Credential text to the principal that it stands for.
        own_issuers: Those of the one tenant, which its UUID in a path stands for.
    """

    fleet: FakeFleet
    policy: PolicyInForce
    audit: FakeAudit
    keys: dict[str, Principal]
    listing: Listing
    directory: Directory
    door: McpDoor
    session_key: bytes = b"0123456789abcdef"
    is_loopback: bool = True
    http: HttpSettings = field(default_factory=HttpSettings)
    issuers: tuple[JwtIssuer, ...] = ()
    own_issuers: tuple[JwtIssuer, ...] = ()
    is_store_down: bool = False
    pipeline: Pipeline
    agents: InMemoryAgents = field(default_factory=InMemoryAgents)

    async def authenticate(self, credential: str | None) -> Principal:
        if self.is_store_down:
            raise StorageUnavailable("disk I/O error at /var/lib/secret/place")
        if credential is None or credential not in self.keys:
            raise Unauthenticated("no")
        principal = self.keys[credential]
        if principal.expires is not None and principal.expires <= datetime.now(UTC):
            raise Unauthenticated("expired")
        return principal

    def swap_policy(self, *roles: Role) -> None:
        """Put other roles in force and let it be known."""
        servers = self.policy.declaration.servers
        named = {role.name: role for role in roles}
        self.policy.swap(Declaration(servers=servers, roles=named), revision=2)

    def find(self, tenant: str) -> TenantDoor | None:
        """Return the door of the one tenant that there is."""
        mirrored = MirroredArguments(self.listing, self.directory, self.fleet)
        door = TenantDoor(uuid=UUID, door=self.door, mirrored=mirrored)
        return door if tenant == "default" else None

    def find_execute(self, tenant: str) -> ExecuteDoor | None:
        """Return the JSON door of the one tenant that there is."""
        door = ExecuteDoor(
            uuid=UUID,
            pipeline=self.pipeline,
            acting=Acting(self.agents, self.policy),
            explains=self.policy.explains_denials,
            is_ours=lambda name: name.startswith("mcp__mail__"),
        )
        return door if tenant == "default" else None

    def execute(self) -> ExecuteEndpoint:
        """Return a fresh JSON door over the same insides."""
        return ExecuteEndpoint(
            doors=self.find_execute,
            authenticate=self.authenticate,
            guard=self.guard,
            resources=self.resources,
            refusals=Refusals(),
        )

    def statuses(self, tenant: str | None) -> tuple[ServerStatus, ...]:
        """Return where the servers stand."""
        return self.fleet.statuses() if tenant in (None, "default") else ()

    @property
    def guard(self) -> Guard:
        return Guard(loopback=self.is_loopback, http=lambda: self.http)

    @property
    def resources(self) -> ProtectedResources:
        def issuers_of(uuid: str | None) -> tuple[JwtIssuer, ...]:
            return (*(self.own_issuers if uuid == UUID else ()), *self.issuers)

        return ProtectedResources(issuers_of, Addresses(lambda: self.http))

    def endpoint(self) -> McpEndpoint:
        """Return a fresh endpoint over the same insides, as another worker has one."""
        return McpEndpoint(
            doors=self.find,
            authenticate=self.authenticate,
            sessions=Sessions(self.session_key),
            guard=self.guard,
            resources=self.resources,
        )


def caller(name: str, *roles: str, admin: bool = False) -> Principal:
    """Return a principal that came with a key."""
    return Principal(kind=PrincipalKind.KEY, name=name, roles=roles, admin=admin)


def build_world(
    offers: Mapping[str, list[Tool]],
    roles: list[Role],
    keys: Mapping[str, Principal],
    *,
    most_streams: int = 16,
    keep_alive: float = 15.0,
    limits: tuple[Limit, ...] = (),
    pause: float = 1.0,
) -> World:
    """Put a gateway together as the composition root does, over fakes."""
    fleet = FakeFleet(offers)
    declaration = Declaration(
        servers={name: ServerConfig(name=name, command="true") for name in offers},
        roles={role.name: role for role in roles},
        limits=limits,
    )
    return world_over(
        fleet, declaration, keys, most_streams=most_streams, keep_alive=keep_alive, pause=pause
    )


def world_over(
    fleet: Any,
    declaration: Declaration,
    keys: Mapping[str, Principal],
    *,
    most_streams: int = 16,
    keep_alive: float = 15.0,
    pause: float = 1.0,
) -> World:
    """Put a gateway together over any fleet, a real one too."""
    policy = PolicyInForce(declaration, tenant="default", revision=1)
    audit = FakeAudit()
    directory = Directory(fleet, policy)
    listing = Listing(directory=directory, catalogues=fleet, policies=policy, statuses=fleet)
    servers = _Servers(policy)
    states = States(b"key")
    record = Recorder(audit, revision=lambda: policy.revision, body_cap=policy.body_cap)
    authorize = Authorizer(directory, fleet, policy)
    pipeline = Pipeline(
        authorize=authorize,
        validate=Validator(fleet, servers, states),
        limit=Limiter(OwnAllowances()),
        record=record,
        invoke=Invoker(fleet, record, states, authorize.again, pause=pause),
        escalate=lambda _authorized, _failure: None,
    )
    changes = ListChanges(
        listing,
        [CatalogueChanges(fleet), policy],
        most=most_streams,
        keep_alive=keep_alive,
    )
    door = McpDoor(
        pipeline=pipeline,
        listing=listing,
        changes=changes,
        updates=fleet,
        info=ServerInfo(name="remit", version="1"),
        explains=policy.explains_denials,
    )
    return World(
        fleet=fleet,
        policy=policy,
        audit=audit,
        keys=dict(keys),
        listing=listing,
        directory=directory,
        door=door,
        pipeline=pipeline,
    )


class _Servers:
    def __init__(self, policy: PolicyInForce) -> None:
        self.server = policy.server

    def why_absent(self, name: str) -> str:
        return f"server {name!r} is away"


@asynccontextmanager
async def serving(world: World, *, over_asgi: bool = False, rest: int = 5) -> AsyncGenerator[str]:
    """Serve *world* on a free port of loopback; give its URL."""
    endpoint, execute = world.endpoint(), world.execute()

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        async with endpoint.running(), execute.running():
            yield

    app = create_app(
        mcp=endpoint,
        authenticate=world.authenticate,
        statuses=world.statuses,
        guard=world.guard,
        resources=world.resources,
        lifespan=lifespan,
        execute=execute,
    )

    def stop() -> None:
        endpoint.stop()
        execute.stop()

    server = build_http_server(app, on_stop=stop, grace=5)
    if over_asgi:
        server.config.http = "httptools"
    server.config.timeout_keep_alive = rest
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve_beside, listener)
        with anyio.fail_after(30):
            while not server.started:
                await anyio.lowlevel.checkpoint()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True


FILES = [tool("files", "read"), tool("files", "delete"), tool("files", "list")]


MODERN = "2026-07-28"
BOTH = "application/json, text/event-stream"


def envelope(**more: object) -> dict[str, object]:
    """Return the `_meta` that every request of 2026-07-28 carries."""
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        **more,
    }


def message(method: str, params: Mapping[str, object] | None = None, **more: object) -> JsonObject:
    """Return a JSON-RPC request."""
    body: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": method, **more}
    return body if params is None else body | {"params": dict(params)}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> JsonObject:
        return json.loads(self.body)

    @property
    def error(self) -> JsonObject:
        return self.json["error"]

    @property
    def result(self) -> JsonObject:
        return self.json["result"]


class Wire:
    """Raw requests to one gateway: nothing is added but what the test says."""

    def __init__(self, session: aiohttp.ClientSession, url: str, key: str = "reader-key") -> None:
        self.session = session
        self.url = url
        self._key = key

    async def send(
        self,
        body: bytes | JsonObject = b"",
        *,
        verb: str = "POST",
        path: str = "/mcp",
        headers: Mapping[str, str | None] | None = None,
    ) -> Reply:
        """Send a request with the usual headers, those of *headers* instead, without the None."""
        usual: dict[str, str | None] = {
            "Authorization": f"Bearer {self._key}",
            "Accept": BOTH,
            "Content-Type": "application/json",
        }
        merged = {k: v for k, v in (usual | dict(headers or {})).items() if v is not None}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self.session.request(
            verb,
            self.url + path,
            data=io.BytesIO(data),
            headers=merged,
            skip_auto_headers=["Content-Type"],
        ) as response:
            return Reply(
                status=response.status,
                headers={k.lower(): v for k, v in response.headers.items()},
                body=await response.read(),
            )

    async def modern(
        self,
        method: str,
        params: Mapping[str, object] | None = None,
        *,
        headers: Mapping[str, str | None] | None = None,
        path: str = "/mcp",
    ) -> Reply:
        """Send a request of 2026-07-28 as a client should."""
        full = {"_meta": envelope(), **(params or {})}
        return await self.send(
            message(method, full),
            headers=modern_headers(method, full) | dict(headers or {}),
            path=path,
        )

    async def call(self, name: str, arguments: object = None, *, path: str = "/mcp") -> Reply:
        """Call a tool in the modern era."""
        params: dict[str, object] = {"name": name}
        if arguments is not None:
            params["arguments"] = arguments
        return await self.modern("tools/call", params, path=path)

    async def begin(self, *, path: str = "/mcp", version: str = "2025-11-25") -> str:
        """Shake hands in an older era; give the session's id."""
        reply = await self.send(initialize(version), path=path)
        return reply.headers["mcp-session-id"]


def initialize(version: str = "2025-11-25") -> JsonObject:
    """Return the first request of the older eras."""
    info = {"name": "test", "version": "1"}
    return message(
        "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    )


def modern_headers(method: str, params: Mapping[str, object]) -> dict[str, str | None]:
    """Return the headers that mirror a request of 2026-07-28."""
    headers: dict[str, str | None] = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    name = params.get("name")
    if isinstance(name, str):
        headers["Mcp-Name"] = encode_header_value(name)
    return headers


@asynccontextmanager
async def library_client(
    url: str, key: str, mode: str, handler: MessageHandlerFnT | None = None
) -> AsyncGenerator[Client]:
    """Connect the protocol library's own client over HTTP."""
    async with (
        httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"}, verify=TRUSTS_NOBODY
        ) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=mode,
            cache=None,
            message_handler=handler,
        ) as client,
    ):
        yield client

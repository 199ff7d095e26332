"""A small world for calls: real policy, names and record, with an upstream that counts."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

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
from remit.errors import UpstreamError
from remit.model.calls import AuthorizedCall, Call
from remit.model.conversation import Extras
from remit.model.declaration import AuditSettings, Declaration
from remit.model.events import AuditEvent
from remit.model.principals import Principal, PrincipalKind
from remit.model.roles import Role
from remit.model.servers import ServerConfig, ServerState, ServerStatus, Transport
from remit.model.tools import Tool, ToolId
from remit.policy.snapshot import PolicySnapshot
from remit.testing.fakes import InMemoryAudit
from remit.upstreams.catalogue import Catalogue

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
RESULT = b'{"content":[{"type":"text","text":"done"}]}'


def tool(server: str, name: str, schema: object = None, **members: object) -> Tool:
    """Return a tool as its server would offer it."""
    wire = {"name": name, "inputSchema": {"type": "object"} if schema is None else schema} | members
    return Tool(
        id=ToolId(server, name),
        wire=json.dumps(wire).encode(),
        input_schema=json.dumps(wire["inputSchema"]).encode(),
    )


def caller(*roles: str, name: str = "ci", tenant: str = "default") -> Principal:
    return Principal(kind=PrincipalKind.KEY, name=name, tenant=tenant, roles=roles)


def declared(
    roles: Sequence[Role] = (),
    servers: Sequence[str | ServerConfig] = (),
    audit: AuditSettings | None = None,
) -> Declaration:
    configs = [ServerConfig(name=s) if isinstance(s, str) else s for s in servers]
    return Declaration(
        servers={config.name: config for config in configs},
        roles={role.name: role for role in roles},
        audit=audit or AuditSettings(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What an upstream was asked."""

    tool: ToolId
    arguments: bytes
    meta: bytes
    principal: Principal
    timeout: float
    method: str = "tools/call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A port of this machine, and who visited it."""

    port: int
    visits: list[object] = field(default_factory=list[object])


class CountingUpstreams:
    """Upstreams that note what reaches them and answer what they are told to.

    Attributes:
        answer: Makes the result of each call, or fails.
    """

    def __init__(self) -> None:
        self.invocations: list[Invocation] = []
        self.answer: Callable[[], Awaitable[bytes]] = self._done

    async def invoke(
        self,
        tool: ToolId,
        *,
        arguments: bytes,
        meta: bytes,
        principal: Principal,
        timeout: float,  # noqa: ASYNC109 - the port's
        method: str = "tools/call",
        extras: Extras | None = None,
        confirm: object = None,
    ) -> bytes:
        del extras, confirm
        self.invocations.append(
            Invocation(
                tool=tool,
                arguments=arguments,
                meta=meta,
                principal=principal,
                timeout=timeout,
                method=method,
            )
        )
        return await self.answer()

    async def _done(self) -> bytes:
        return RESULT


class World:
    """A gateway without doors, whose parts can be changed while it stands."""

    def __init__(
        self,
        declaration: Declaration,
        offers: Mapping[str, Sequence[Tool]],
        seen: Sequence[ToolId] = (),
        *,
        pause: float = 0.0,
        audit: InMemoryAudit | None = None,
    ) -> None:
        self.policy = PolicyInForce(declaration, tenant="default", revision=7)
        self.catalogue = Catalogue.build(1, offers)
        self.audit = audit or InMemoryAudit()
        self.upstreams = CountingUpstreams()
        self.escalated: list[tuple[AuthorizedCall, UpstreamError]] = []
        self.directory = Directory(self, self, seen)
        self.authorize = Authorizer(self.directory, self, self)
        self.states = States(b"key")
        self.validate = Validator(self, self, self.states)
        self.limit = Limiter(OwnAllowances())
        self.listing = Listing(
            directory=self.directory, catalogues=self, policies=self, statuses=self
        )
        record = Recorder(
            self.audit,
            revision=lambda: self.policy.revision,
            body_cap=self.body_cap,
            now=lambda: NOON,
        )
        self.pipeline = Pipeline(
            authorize=self.authorize,
            validate=self.validate,
            limit=self.limit,
            record=record,
            invoke=Invoker(self.upstreams, record, self.states, self.authorize.again, pause=pause),
            escalate=lambda authorized, failure: self.escalated.append((authorized, failure)),
        )

    @property
    def snapshot(self) -> PolicySnapshot:
        return self.policy.snapshot

    @property
    def declaration(self) -> Declaration:
        return self.policy.declaration

    def body_cap(self) -> int:
        return self.policy.body_cap()

    def server(self, name: str) -> ServerConfig | None:
        return self.policy.server(name)

    def why_absent(self, name: str) -> str:
        return f"server {name!r} is failed: it never came up"

    def statuses(self) -> tuple[ServerStatus, ...]:
        up = self.catalogue.by_server
        return tuple(
            ServerStatus(
                name=config.name,
                transport=Transport.STDIO,
                state=(
                    ServerState.STOPPED
                    if not config.enabled
                    else ServerState.READY
                    if config.name in up
                    else ServerState.BACKING_OFF
                ),
            )
            for config in self.declaration.servers.values()
        )

    def offer(self, offers: Mapping[str, Sequence[Tool]]) -> None:
        self.catalogue = Catalogue.build(self.catalogue.version + 1, offers)

    def declare(self, declaration: Declaration) -> None:
        self.policy = PolicyInForce(
            declaration, tenant="default", revision=self.policy.revision + 1
        )

    def call(
        self,
        principal: Principal,
        requested: str,
        arguments: bytes = b"{}",
        *,
        scope: str | None = None,
        meta: bytes = b"",
    ) -> Call:
        return Call(
            id="call-1",
            principal=principal,
            requested=requested,
            scope=scope,
            arguments=arguments,
            meta=meta,
            started=0.0,
        )


CLERK = Role(
    name="clerk",
    tools={"git": ("status", "gone")},
    allow=("jira/*",),
    deny=("jira/delete_*",),
)
HERE = caller("clerk")


def clerks_world(*, audit: AuditSettings | None = None) -> World:
    """Return a world in which `HERE` may do a few things and not others."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return World(
        declared([CLERK], ["git", "jira"], audit),
        {
            "git": [tool("git", "status", schema), tool("git", "push")],
            "jira": [tool("jira", "find"), tool("jira", "delete_all")],
        },
    )


def story(events: Sequence[AuditEvent]) -> list[tuple[str, ...]]:
    """Return what events say of how a call went."""
    return [(event.kind, event.decision, event.outcome, event.code) for event in events]


OPEN = Role(name="open", allow=("s/*",))


def world_with(*tools: Tool, config: ServerConfig | None = None) -> World:
    """Return a world whose one server `s` offers *tools* to everybody in the role `open`."""
    return World(declared([OPEN], [config or ServerConfig(name="s")]), {"s": tools})


def authorized(world: World, arguments: bytes, name: str = "t") -> AuthorizedCall:
    """Return an allowed call of one tool of `world_with`."""
    return world.authorize(world.call(caller("open"), f"s/{name}", arguments))

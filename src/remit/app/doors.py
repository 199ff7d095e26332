"""The doors of an open gateway."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from remit.admin.secret_files import session_key
from remit.app.collector import Collector
from remit.app.gateway import Gateway
from remit.app.tenants import ServedTenant
from remit.app.when_needed import WhenNeeded
from remit.app.workers import SharedMeasures
from remit.calls.acting import Acting
from remit.doors.addresses import Addresses
from remit.doors.asgi import Receive, Scope, Send
from remit.doors.execute.endpoint import ExecuteDoor, ExecuteEndpoint
from remit.doors.guard import Guard
from remit.doors.http import Application, create_app
from remit.doors.mcp.changes import CatalogueChanges, ListChanges
from remit.doors.mcp.http import McpEndpoint
from remit.doors.mcp.methods import ServerInfo
from remit.doors.mcp.mirrored import MirroredArguments
from remit.doors.mcp.protocol import McpDoor
from remit.doors.mcp.sessions import Sessions
from remit.doors.mcp.tenants import TenantDoor
from remit.doors.metrics import Metrics
from remit.doors.oauth import ProtectedResources
from remit.doors.refusals import Refusals
from remit.model.contents import Kind
from remit.model.servers import Transport
from remit.upstreams.background import open_background

if TYPE_CHECKING:
    from remit.app.api import ManagementApi
    from remit.doors.api.inside import Inside
    from remit.doors.console.application import Console


def build_door(gateway: Gateway, served: ServedTenant) -> McpDoor:
    """Return the protocol part of a tenant's MCP door, which HTTP and stdio serve alike."""
    return McpDoor(
        pipeline=served.pipeline,
        listing=served.listing,
        changes=ListChanges(
            served.listing,
            [CatalogueChanges(served.fleet), gateway.authenticate, served.policy],
        ),
        updates=served.fleet,
        info=ServerInfo(name="remit", version=version("remit"), title="remit"),
        explains=served.policy.explains_denials,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpDoors:
    """What serves HTTP.

    Attributes:
        stop: Ends open streams, so that a stopping server need not wait for their clients.
    """

    app: Application
    stop: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which of the workers of a port a process is.

    Attributes:
        folder: Where they leave for each other what they measured, and tell each other of answers.
    """

    number: int
    folder: Path


def build_http_doors(gateway: Gateway, *, loopback: bool, place: Place | None = None) -> HttpDoors:
    """Return everything that is served on the one port.

    Args:
        gateway: Open, and kept open while the application serves.
        loopback: Whether only this machine can reach the port.
        place: Among the workers, if there are several.

    Raises:
        StartupError: The key that seals session ids cannot be made.
    """
    policy = gateway.home.policy
    guard, refusals = Guard(loopback=loopback, http=lambda: policy.declaration.http), Refusals()
    resources = ProtectedResources(
        gateway.tenants.issuers_of, Addresses(lambda: policy.declaration.http)
    )

    endpoint = McpEndpoint(
        doors=partial(_door_of, gateway),
        authenticate=gateway.authenticate,
        sessions=Sessions(session_key(gateway.installation.settings.state)),
        guard=guard,
        resources=resources,
        refusals=refusals,
        siblings=place and place.folder,
    )
    execute = _build_execute(gateway, guard=guard, resources=resources, refusals=refusals)
    collector = Collector(gateway, refusals, worker="1" if place is None else str(place.number))
    shared = place and SharedMeasures(collector.collect, place.folder, str(place.number))

    api = WhenNeeded(lambda: _open_api(gateway, guard, resources, refusals))
    console = ConsoleWhenNeeded(
        api, lambda inside: _open_console(gateway, inside, guard, resources)
    )

    app = create_app(
        mcp=endpoint,
        authenticate=gateway.authenticate,
        statuses=gateway.tenants.statuses,
        guard=guard,
        resources=resources,
        lifespan=partial(_lifespan, endpoint, execute, shared),
        execute=execute,
        api=ApiWhenNeeded(api),
        console=console,
        metrics=Metrics(
            collector.collect if shared is None else shared.collect,
            gateway.authenticate,
            loopback=loopback,
            http=lambda: policy.declaration.http,
        ),
    )

    def stop() -> None:
        endpoint.stop()
        execute.stop()
        console.stop()

    return HttpDoors(app=app, stop=stop)


def _open_api(
    gateway: Gateway, guard: Guard, resources: ProtectedResources, refusals: Refusals
) -> "ManagementApi":
    # Deferred: the API takes 15 MB and half a second, and agents never call it.
    from remit.app.api import build_gateway_api  # noqa: PLC0415 - see above

    return build_gateway_api(gateway, guard=guard, resources=resources, refusals=refusals)


def _open_console(
    gateway: Gateway, inside: "Inside", guard: Guard, resources: ProtectedResources
) -> "Console":
    # Deferred as the API: no agent opens the console.
    from remit.app.console import build_console  # noqa: PLC0415 - see above

    return build_console(gateway, inside, guard=guard, resources=resources)


def _door_of(gateway: Gateway, tenant: str) -> TenantDoor | None:
    served = gateway.tenants.find(tenant)
    if served is None:
        return None
    return TenantDoor(
        uuid=served.tenant.uuid,
        door=build_door(gateway, served),
        mirrored=MirroredArguments(served.listing, served.directory, served.fleet),
    )


def _build_execute(
    gateway: Gateway, *, guard: Guard, resources: ProtectedResources, refusals: Refusals
) -> ExecuteEndpoint:
    return ExecuteEndpoint(
        doors=partial(_execute_door_of, gateway),
        authenticate=gateway.authenticate,
        guard=guard,
        resources=resources,
        refusals=refusals,
    )


def _execute_door_of(gateway: Gateway, tenant: str) -> ExecuteDoor | None:
    served = gateway.tenants.find(tenant)
    if served is None:
        return None
    return ExecuteDoor(
        uuid=served.tenant.uuid,
        pipeline=served.pipeline,
        acting=Acting(gateway.installation.agents, served.policy),
        explains=served.policy.explains_denials,
        is_ours=partial(_is_ours, served),
    )


def _is_ours(served: ServedTenant, name: str) -> bool:
    found = [served.policy.server(t.server) for t in served.directory.find(Kind.TOOL, name, None)]
    return bool(found) and all(
        config is not None and config.transport is Transport.BUILTIN for config in found
    )


@asynccontextmanager
async def _lifespan(
    endpoint: McpEndpoint, execute: ExecuteEndpoint, shared: SharedMeasures | None
) -> AsyncGenerator[None]:
    async with endpoint.running(), execute.running(), open_background() as tasks:
        if shared is not None:
            tasks.start_soon(shared.keep_written)
        yield


class ApiWhenNeeded:
    """The API, which is opened when the first request for it comes."""

    def __init__(self, api: WhenNeeded["ManagementApi"]) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer over ASGI."""
        await (await self._api.get()).edge(scope, receive, send)


class ConsoleWhenNeeded:
    """The console, which is opened with the API when the first request for it comes."""

    def __init__(
        self, api: WhenNeeded["ManagementApi"], open_console: Callable[["Inside"], "Console"]
    ) -> None:
        self._api = api
        self._console = WhenNeeded(lambda: open_console(self._inside()))

    def _inside(self) -> "Inside":
        if self._api.made is None:
            raise AssertionError("the API is opened first")
        return self._api.made.inside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer over ASGI."""
        await self._api.get()
        console = await self._console.get()
        await console(scope, receive, send)

    def stop(self) -> None:
        """End its open streams."""
        if self._console.made is not None:
            self._console.made.stop()

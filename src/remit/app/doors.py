"""The doors of an open gateway."""

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from remit.admin.change_record import ChangeRecord
from remit.admin.editor import Editor
from remit.admin.secret_files import session_key
from remit.app.checkup import examine_gateway
from remit.app.collector import Collector
from remit.app.gateway import Gateway
from remit.app.restarts import Restarts
from remit.app.tenants import ServedTenant, ServedTenants
from remit.app.workers import SharedMeasures
from remit.doors.addresses import Addresses
from remit.doors.api.needs import Services
from remit.doors.api.tenant import GatewayTenant
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
from remit.upstreams.background import open_background


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
        sessions=Sessions(session_key(gateway.installation.settings.state / "session.key")),
        guard=guard,
        resources=resources,
        refusals=refusals,
        siblings=place and place.folder,
    )
    collector = Collector(gateway, refusals, worker="1" if place is None else str(place.number))
    shared = place and SharedMeasures(collector.collect, place.folder, str(place.number))
    # FastAPI is imported where it is served, since no other command has any use for it.
    from remit.doors.api.application import build_api  # noqa: PLC0415 - see above

    app = create_app(
        mcp=endpoint,
        authenticate=gateway.authenticate,
        statuses=gateway.tenants.statuses,
        guard=guard,
        resources=resources,
        lifespan=partial(_lifespan, endpoint, shared),
        api=build_api(
            _api_services(gateway),
            authenticate=gateway.authenticate,
            guard=guard,
            resources=resources,
            refusals=refusals,
        ),
        metrics=Metrics(
            collector.collect if shared is None else shared.collect,
            gateway.authenticate,
            loopback=loopback,
            http=lambda: policy.declaration.http,
        ),
    )
    return HttpDoors(app=app, stop=endpoint.stop)


def _door_of(gateway: Gateway, tenant: str) -> TenantDoor | None:
    served = gateway.tenants.find(tenant)
    if served is None:
        return None
    return TenantDoor(
        uuid=served.tenant.uuid,
        door=build_door(gateway, served),
        mirrored=MirroredArguments(served.listing, served.directory, served.fleet),
    )


@asynccontextmanager
async def _lifespan(endpoint: McpEndpoint, shared: SharedMeasures | None) -> AsyncGenerator[None]:
    async with endpoint.running(), open_background() as tasks:
        if shared is not None:
            tasks.start_soon(shared.keep_written)
        yield


def _api_services(gateway: Gateway) -> Services:
    installation = gateway.installation
    tenants = ManagedTenants(gateway.tenants, gateway.restarts)
    return Services(
        tenants=tenants,
        tenant_store=installation.tenants,
        keys=installation.keys,
        agents=installation.agents,
        users=installation.users,
        revisions=installation.revisions,
        editor=Editor(
            installation.revisions, installation.seen, environ=os.environ, follow=tenants.follow
        ),
        audit=gateway.audit,
        changes=ChangeRecord(gateway.audit),
        examine=lambda tenant, whole: examine_gateway(gateway, tenant, whole=whole),
        forget=gateway.authenticate.forget,
        now=lambda: datetime.now(UTC),
    )


class ManagedTenants:
    """The tenants that are served, as the API sees them."""

    def __init__(self, tenants: ServedTenants, restarts: Restarts) -> None:
        self._tenants = tenants
        self._restarts = restarts
        self._managed: dict[str, GatewayTenant] = {}

    def find(self, name: str) -> GatewayTenant | None:
        """Return the tenant of that name or UUID, or None."""
        known = self._tenants.name_of(name)
        served = None if known is None else self._tenants.find(known)
        return None if served is None else self._manage(served)

    def all_tenants(self) -> Sequence[GatewayTenant]:
        """Return every tenant, by name."""
        managed = [self._manage(served) for served in self._tenants.all_served()]
        return sorted(managed, key=lambda tenant: tenant.key)

    async def serve_all(self) -> None:
        """Serve every tenant that there is, as `ServedTenants.follow` does."""
        await self._tenants.follow()

    async def follow(self, name: str) -> bool:
        """Put the latest revision of a tenant in force; whether another one is now."""
        tenant = self.find(name)
        return tenant is not None and await tenant.follow()

    def _manage(self, served: ServedTenant) -> GatewayTenant:
        name = served.tenant.name
        if name not in self._managed:
            self._managed[name] = GatewayTenant(
                key=name,
                id=served.tenant.uuid,
                policy=served.policy,
                servers=served.fleet,
                lists=served.listing,
                directory=served.directory,
                follower=served.follower,
                restart=partial(self._restarts.restart, name),
            )
        return self._managed[name]

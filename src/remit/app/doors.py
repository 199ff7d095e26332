"""The doors of an open gateway."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from remit.admin.secret_files import session_key
from remit.app.gateway import Gateway
from remit.app.tenants import ServedTenant
from remit.doors.asgi import App
from remit.doors.guard import Guard
from remit.doors.http import create_app
from remit.doors.mcp.changes import CatalogueChanges, ListChanges
from remit.doors.mcp.http import McpEndpoint
from remit.doors.mcp.methods import ServerInfo
from remit.doors.mcp.mirrored import MirroredArguments
from remit.doors.mcp.protocol import McpDoor
from remit.doors.mcp.sessions import Sessions
from remit.doors.mcp.tenants import TenantDoor


def build_door(gateway: Gateway, served: ServedTenant) -> McpDoor:
    """Return the protocol part of a tenant's MCP door, which HTTP and stdio serve alike."""
    return McpDoor(
        pipeline=served.pipeline,
        listing=served.listing,
        changes=ListChanges(
            served.listing,
            [CatalogueChanges(served.fleet), gateway.authenticate, served.policy],
        ),
        info=ServerInfo(name="remit", version=version("remit"), title="remit"),
        explains=served.policy.explains_denials,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpDoors:
    """What serves HTTP.

    Attributes:
        stop: Ends open streams, so that a stopping server need not wait for their clients.
    """

    app: App
    stop: Callable[[], None]


def build_http_doors(gateway: Gateway, *, loopback: bool) -> HttpDoors:
    """Return everything that is served on the one port.

    Args:
        gateway: Open, and kept open while the application serves.
        loopback: Whether only this machine can reach the port.

    Raises:
        StartupError: The key that seals session ids cannot be made.
    """
    http = gateway.home.policy.declaration.http
    guard = Guard(
        loopback=loopback, public_url=http.public_url, allowed_origins=http.allowed_origins
    )

    def door_of(tenant: str) -> TenantDoor | None:
        served = gateway.tenants.find(tenant)
        if served is None:
            return None
        return TenantDoor(
            uuid=served.tenant.uuid,
            door=build_door(gateway, served),
            mirrored=MirroredArguments(served.listing, served.directory),
        )

    endpoint = McpEndpoint(
        doors=door_of,
        authenticate=gateway.authenticate,
        sessions=Sessions(session_key(gateway.installation.settings.state / "session.key")),
        guard=guard,
    )
    app = create_app(
        mcp=endpoint,
        authenticate=gateway.authenticate,
        statuses=gateway.tenants.statuses,
        guard=guard,
        lifespan=endpoint.running,
    )
    return HttpDoors(app=app, stop=endpoint.stop)

"""The management API of an open gateway."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from remit.admin.change_record import ChangeRecord
from remit.admin.editor import Editor
from remit.admin.subjects import Subjects
from remit.app.checkup import examine_gateway
from remit.app.gateway import Gateway
from remit.app.installation import Installation
from remit.app.restarts import Restarts
from remit.app.tenants import ServedTenant, ServedTenants
from remit.calls.ids import new_id
from remit.crew.human import HumanInbox
from remit.data.alerts.desk import AlertDesk
from remit.doors.api.application import build_edge, build_routes
from remit.doors.api.inside import Inside
from remit.doors.api.needs import DataPlace, Services
from remit.doors.api.tenant import GatewayTenant
from remit.doors.asgi import App
from remit.doors.guard import Guard
from remit.doors.oauth import ProtectedResources
from remit.doors.refusals import Refusals
from remit.identity.clock import utc_now
from remit.storage.alerts import Alerts
from remit.storage.crew import Crew
from remit.storage.waiting import WaitingThings


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagementApi:
    """The management API.

    Attributes:
        edge: Serves `/api/`.
        inside: The same routes, for whoever is known in this process already.
    """

    edge: App
    inside: Inside


def build_gateway_api(
    gateway: Gateway, *, guard: Guard, resources: ProtectedResources, refusals: Refusals
) -> ManagementApi:
    """Return the API of an open gateway.

    Args:
        gateway: Open, and kept open while the application serves.
        guard: Checks host and origin.
        resources: How this gateway is called, and its challenges.
        refusals: Counts whom it turns away.
    """
    routes, services = build_routes(), _services(gateway)
    edge = build_edge(
        routes,
        services,
        authenticate=gateway.authenticate,
        guard=guard,
        resources=resources,
        refusals=refusals,
    )
    return ManagementApi(edge=edge, inside=Inside(routes=routes, services=services))


def _services(gateway: Gateway) -> Services:
    installation = gateway.installation
    tenants = ManagedTenants(gateway.tenants, gateway.restarts)
    data = gateway.tenants.data
    crew = Crew(installation.database, gateway.tenants.notices)
    return Services(
        tenants=tenants,
        tenant_store=installation.tenants,
        keys=installation.keys,
        agents=installation.agents,
        users=installation.users,
        crew=crew,
        inbox=HumanInbox(store=crew, clock=utc_now, new_id=new_id),
        data=DataPlace(
            stores=lambda: data.stores, sources=lambda: data.sources, screening=data.screening
        ),
        alerts=AlertDesk(
            store=Alerts(installation.database, gateway.tenants.notices),
            clock=utc_now,
            new_id=new_id,
        ),
        datasources=lambda: gateway.tenants.data.datasources,
        waiting=WaitingThings(installation.database),
        revisions=installation.revisions,
        editor=Editor(
            installation.revisions,
            installation.seen,
            environ=os.environ,
            subjects=partial(_subjects, installation),
            follow=tenants.follow,
        ),
        audit=gateway.audit,
        changes=ChangeRecord(gateway.audit),
        examine=lambda tenant, whole: examine_gateway(gateway, tenant, whole=whole),
        forget=gateway.authenticate.forget,
        now=utc_now,
    )


def _subjects(installation: Installation, tenant: str, now: datetime) -> Subjects:
    return Subjects(
        tenant=tenant,
        roles=(),  # of those a change itself says more
        keys=installation.keys,
        agents=installation.agents,
        users=installation.users,
        now=now,
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
                created=served.tenant.created,
                policy=served.policy,
                servers=served.fleet,
                lists=served.listing,
                directory=served.directory,
                validator=served.validate,
                used=self._tenants.allowances.used,
                follower=served.follower,
                restart=partial(self._restarts.restart, name),
            )
        return self._managed[name]

"""The management API of an open gateway."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from remit.admin.change_record import ChangeRecord
from remit.admin.editor import Editor
from remit.app.checkup import examine_gateway
from remit.app.gateway import Gateway
from remit.app.restarts import Restarts
from remit.app.tenants import ServedTenant, ServedTenants
from remit.calls.ids import new_id
from remit.crew.human import HumanInbox
from remit.doors.api.application import build_api
from remit.doors.api.needs import Services
from remit.doors.api.tenant import GatewayTenant
from remit.doors.asgi import App
from remit.doors.guard import Guard
from remit.doors.oauth import ProtectedResources
from remit.doors.refusals import Refusals
from remit.storage.crew import Crew


def build_gateway_api(
    gateway: Gateway, *, guard: Guard, resources: ProtectedResources, refusals: Refusals
) -> App:
    """Return what serves `/api/`.

    Args:
        gateway: Open, and kept open while the application serves.
        guard: Checks host and origin.
        resources: How this gateway is called, and its challenges.
        refusals: Counts whom it turns away.
    """
    return build_api(
        _services(gateway),
        authenticate=gateway.authenticate,
        guard=guard,
        resources=resources,
        refusals=refusals,
    )


def _services(gateway: Gateway) -> Services:
    installation = gateway.installation
    tenants = ManagedTenants(gateway.tenants, gateway.restarts)
    return Services(
        tenants=tenants,
        tenant_store=installation.tenants,
        keys=installation.keys,
        agents=installation.agents,
        users=installation.users,
        inbox=HumanInbox(
            store=Crew(installation.database, gateway.tenants.notices),
            clock=lambda: datetime.now(UTC),
            new_id=new_id,
        ),
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

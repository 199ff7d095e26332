"""Making tenants, and finding the one that a name or a UUID means."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from remit.admin.names import require_tenant_name, told
from remit.errors import NotFound
from remit.model.tenants import Tenant


class TenantStore(Protocol):
    """Where tenants are kept."""

    async def add(self, tenant: Tenant) -> None:
        """Store a new tenant.

        Raises:
            Conflict: A tenant of that name exists, in whatever case its letters are.
        """
        ...

    async def all_tenants(self) -> Sequence[Tenant]:
        """Return every tenant, oldest first; `default` is always there."""
        ...


async def make_tenant(store: TenantStore, name: str, *, now: datetime) -> Tenant:
    """Store a new tenant, in which nothing is declared yet, and return it.

    Raises:
        BadCall: The name does not do.
        Conflict: A tenant of that name exists, in whatever case its letters are.
    """
    require_tenant_name(name)
    tenant = Tenant(uuid=str(uuid.uuid4()), name=name, created=now)
    await store.add(tenant)
    return tenant


async def find_tenant(store: TenantStore, text: str) -> Tenant:
    """Return the tenant of that name or UUID.

    Raises:
        NotFound: There is none; the text names those that there are.
    """
    tenants = await store.all_tenants()
    for tenant in tenants:
        if text == tenant.name or text.lower() == tenant.uuid:
            return tenant
    known = told(tenant.name for tenant in tenants)
    raise NotFound(f"there is no tenant {text[:80]!r}; tenants: {known}")

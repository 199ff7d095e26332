"""Making tenants, and finding the one that a name or a UUID means."""

import re
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Protocol

from remit.errors import BadCall, NotFound
from remit.model.tenants import Tenant

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


class TenantStore(Protocol):
    """Where tenants are kept."""

    async def add(self, tenant: Tenant) -> None:
        """Store a new tenant.

        Raises:
            Conflict: A tenant of that name exists.
        """
        ...

    async def all_tenants(self) -> Sequence[Tenant]:
        """Return every tenant, oldest first; `default` is always there."""
        ...


async def make_tenant(store: TenantStore, name: str, *, now: datetime) -> Tenant:
    """Store a new tenant, in which nothing is declared yet, and return it.

    Raises:
        BadCall: The name does not do.
        Conflict: A tenant of that name exists.
    """
    if not is_tenant_name(name):
        raise BadCall(
            "a tenant's name is 1 to 64 of A-Z a-z 0-9 _ . - with a letter or digit first, and no"
            f" UUID; not {name[:80]!r}"
        )
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
    known = ", ".join(tenant.name for tenant in tenants)
    raise NotFound(f"there is no tenant {text[:80]!r}; tenants: {known}")


def is_tenant_name(text: str) -> bool:
    """Whether *text* does as a name: it fits into a path, and no UUID can be mistaken for it."""
    return _NAME.fullmatch(text) is not None and _UUID.fullmatch(text) is None

"""Tenants in memory, which pass the same contract suite as the real ones (`tests/storage`)."""

from collections.abc import Sequence
from datetime import UTC, datetime

from remit.errors import Conflict
from remit.model.principals import DEFAULT_TENANT
from remit.model.tenants import Tenant

_SOME_TIME = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


class InMemoryTenants:
    """Tenants in a list; `default` is there from the start."""

    def __init__(self) -> None:
        uuid_of_default = "9d1f5a52-6a0e-4f0e-9d3c-1f2f8f2f7a10"
        self._tenants = [Tenant(uuid=uuid_of_default, name=DEFAULT_TENANT, created=_SOME_TIME)]

    async def add(self, tenant: Tenant) -> None:
        """Store a new tenant.

        Raises:
            Conflict: A tenant of that name exists.
        """
        for known in self._tenants:
            if tenant.name.lower() == known.name.lower():
                raise Conflict(
                    f"a tenant {known.name!r} exists already;"
                    " choose a name that differs in more than letter case"
                )
        self._tenants.append(tenant)

    async def all_tenants(self) -> Sequence[Tenant]:
        """Return every tenant, oldest first."""
        return sorted(self._tenants, key=lambda tenant: (tenant.created, tenant.name))

"""A tenant of a running gateway, as the API sees it."""

from collections.abc import Collection, Sequence

from remit.admin.authority import Authority
from remit.admin.revisions import Follower
from remit.calls.directory import Directory
from remit.doors.api.needs import Lists, Policies, Servers, Tenant
from remit.model.tools import ToolId


class GatewayTenant:
    """Puts together what one tenant's parts know."""

    def __init__(
        self,
        *,
        key: str,
        id: str,  # noqa: A002 - the contract's word
        policy: Policies,
        servers: Servers,
        lists: Lists,
        directory: Directory,
        follower: Follower,
    ) -> None:
        self.key = key
        self.id = id
        self.policy = policy
        self.servers = servers
        self.lists = lists
        self._directory = directory
        self.follow = follower.follow

    def authority(self) -> Authority:
        """Return what answers who can call what, from what is in force now."""
        return Authority(self.policy.snapshot, self._directory.names, self._directory.known)

    def known_tools(self) -> Collection[ToolId]:
        """Return every tool that is offered, or was ever seen."""
        return self._directory.known


class NamedTenants:
    """Tenants, found by name or UUID."""

    def __init__(self, tenants: Sequence[Tenant]) -> None:
        self._tenants = sorted(tenants, key=lambda tenant: tenant.key)

    def find(self, name: str) -> Tenant | None:
        """Return the tenant of that name or UUID, or None."""
        return next((one for one in self._tenants if name in (one.key, one.id)), None)

    async def follow(self, name: str) -> bool:
        """Put the latest revision of a tenant in force; whether another one is now."""
        tenant = self.find(name)
        return tenant is not None and await tenant.follow()

    def all_tenants(self) -> Sequence[Tenant]:
        """Return every tenant, by name."""
        return self._tenants

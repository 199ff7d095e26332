"""A tenant of a running gateway, as the API sees it."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime

from remit.admin.authority import Authority
from remit.admin.revisions import Follower
from remit.calls.directory import Directory
from remit.calls.validate import Validator
from remit.doors.api.needs import Lists, Policies, Servers
from remit.model.limits import Allowance
from remit.model.tools import ToolId


class GatewayTenant:
    """Puts together what one tenant's parts know."""

    def __init__(
        self,
        *,
        key: str,
        id: str,  # noqa: A002 - the contract's word
        created: datetime,
        policy: Policies,
        servers: Servers,
        lists: Lists,
        directory: Directory,
        validator: Validator,
        used: Callable[[Sequence[Allowance]], Awaitable[Sequence[int]]],
        follower: Follower,
        restart: Callable[[str], Awaitable[None]],
    ) -> None:
        self.key = key
        self.id = id
        self.created = created
        self.policy = policy
        self.servers = servers
        self.lists = lists
        self._directory = directory
        self.examine = validator.examine
        self.used = used
        self.follow = follower.follow
        self._restart = restart

    async def restart(self, name: str, /) -> None:
        """Connect to a server anew, in every gateway over the store."""
        await self._restart(name)

    def authority(self) -> Authority:
        """Return what answers who can call what, from what is in force now."""
        return Authority(self.policy.snapshot, self._directory.names, self._directory.known)

    def known_tools(self) -> Collection[ToolId]:
        """Return every tool that is offered, or was ever seen."""
        return self._directory.known

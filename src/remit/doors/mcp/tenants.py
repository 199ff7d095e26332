"""What one tenant's callers reach of the MCP door over HTTP: its own lists, calls and streams."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from remit.doors.mcp.disconnects import Disconnects
from remit.doors.mcp.legacy import LegacyEra
from remit.doors.mcp.mirrored import MirroredArguments
from remit.doors.mcp.modern import ModernEra
from remit.doors.mcp.protocol import McpDoor
from remit.doors.mcp.sessions import Sessions
from remit.doors.mcp.unfinished import Unfinished


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantDoor:
    """The MCP door of one tenant.

    Attributes:
        uuid: What stands for the tenant in a path, lower case.
    """

    uuid: str
    door: McpDoor
    mirrored: MirroredArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Eras:
    """Both protocol eras of one tenant's door."""

    uuid: str
    door: McpDoor
    modern: ModernEra
    legacy: LegacyEra


class TenantDoors:
    """The doors that were asked for, made at the first request of each tenant.

    Args:
        find: Returns the door of the tenant of that name, or None where it is not served.
        sessions: Seals the sessions of all of them.
        disconnects: Notices clients that leave.
        unfinished: The calls of the older eras that are under way.
    """

    def __init__(
        self,
        find: Callable[[str], TenantDoor | None],
        sessions: Sessions,
        disconnects: Disconnects,
        unfinished: Unfinished,
    ) -> None:
        self._find = find
        self._sessions = sessions
        self._disconnects = disconnects
        self._unfinished = unfinished
        # Whether or not a tenant's door is open yet.
        unfinished.endings.append(sessions.end)
        self._tasks = anyio.create_task_group()
        self._eras: dict[str, Eras] = {}
        self._is_stopping = False

    def get(self, tenant: str) -> Eras | None:
        """Return both eras of a tenant's door, or None where it is not served."""
        return self._eras.get(tenant) or self._open(tenant)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Tell callers of changes while entered."""
        async with self._unfinished.running(), self._tasks:
            try:
                yield
            finally:
                self.close()
                self._tasks.cancel_scope.cancel()

    def close(self) -> None:
        """End all streams, and let none begin."""
        self._is_stopping = True
        for eras in self._eras.values():
            eras.door.changes.close()

    def _open(self, tenant: str) -> Eras | None:
        found = self._find(tenant)
        if found is None:
            return None
        found.door.log_levels = self._unfinished.levels
        eras = self._eras[tenant] = Eras(
            uuid=found.uuid,
            door=found.door,
            modern=ModernEra(found.door, found.mirrored, self._disconnects),
            legacy=LegacyEra(found.door, self._sessions, self._unfinished, self._disconnects),
        )
        if self._is_stopping:
            found.door.changes.close()
            return eras
        self._tasks.start_soon(_follow, found.door)
        if self._unfinished.has_others:
            subscriptions = found.door.subscriptions
            self._unfinished.followers.append(subscriptions.take)
            self._tasks.start_soon(subscriptions.relay, self._unfinished.tell_others)
        return eras


async def _follow(door: McpDoor) -> None:
    async with door.changes.running():
        await anyio.sleep_forever()

"""Restarts of servers that were asked for, carried out in every gateway over the store (R17).

API ──▶ counted in the store ──▶ here at once
                └──▶ every other gateway, when it looks at the epochs
"""

from collections.abc import Mapping

import structlog

from remit.app.tenants import ServedTenants
from remit.errors import NotFound
from remit.storage.epochs import Epochs, restarted_server

log = structlog.get_logger(__name__)


class Restarts:
    """Restarts each server once for each time that somebody asked, wherever that was."""

    def __init__(self, epochs: Epochs, tenants: ServedTenants) -> None:
        self._epochs = epochs
        self._tenants = tenants
        self._done: dict[tuple[str, str], int] = {}

    async def open(self) -> None:
        """Note what was asked for before any server is connected to, which needs no restart.

        Raises:
            StorageUnavailable: Nobody can say.
        """
        current = await self._epochs.current()
        self._done = {
            (tenant, server): value
            for (tenant, topic), value in current.items()
            if (server := restarted_server(topic))
        }

    async def restart(self, tenant: str, server: str) -> None:
        """Connect to a server anew, here at once and in every other gateway within 2 seconds.

        Raises:
            StorageUnavailable: The others cannot be told, so nothing is restarted.
        """
        self._carry_out(tenant, server, await self._epochs.count_restart(tenant, server))

    def take_over(self, current: Mapping[tuple[str, str], int]) -> None:
        """Carry out what others asked for since the last look at the epochs."""
        for (tenant, topic), value in current.items():
            server = restarted_server(topic)
            if server:
                self._carry_out(tenant, server, value)

    def _carry_out(self, tenant: str, server: str, value: int) -> None:
        # Our own look at the epochs may come between the count and the answer to it.
        if self._done.get((tenant, server), 0) >= value:
            return
        self._done[tenant, server] = value
        served = self._tenants.find(tenant)
        try:
            if served is not None:
                served.fleet.restart(server)
                log.info("server restarted on demand", tenant=tenant, server=server)
        except NotFound:  # of a revision that is not in force here, or no longer
            log.info("no such server to restart", tenant=tenant, server=server)

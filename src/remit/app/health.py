"""Looks after the crew: one worker of all over the database, as long as one is declared."""

from datetime import timedelta
from typing import Final
from uuid import uuid4

import anyio
import structlog

from remit.app.events import until_declared
from remit.app.tenants import ServedTenants
from remit.calls.ids import new_id
from remit.errors import StorageUnavailable, UpstreamUnavailable
from remit.identity.clock import utc_now
from remit.policy.agent_types import CREW_TOOLS
from remit.settings import Settings
from remit.storage.crew import Crew
from remit.storage.database import Database
from remit.storage.leases import Leases

log = structlog.get_logger(__name__)

_NAME: Final = "health of the crew"
_SELDOMEST: Final = 30.0
_LOOKS: Final = 4
"""How often one looks while an agent becomes unhealthy, and how long a lease lasts, in looks."""


async def keep_healthy(settings: Settings, database: Database, tenants: ServedTenants) -> None:
    """Look after the agents of every tenant, from when a crew is declared, until cancelled."""
    every = min(_SELDOMEST, settings.agent_silence / _LOOKS)
    await until_declared(tenants, CREW_TOOLS, look_every=every)
    # Deferred: most installations declare none.
    from remit.crew.health import Health  # noqa: PLC0415 - see above

    leases, holder = Leases(database), uuid4().hex
    crew = Crew(database, tenants.notices)
    health = Health(
        crew,
        tenants.notices,
        clock=utc_now,
        new_id=new_id,
        silence=timedelta(seconds=settings.agent_silence),
    )
    while True:
        await anyio.sleep(every)
        now = utc_now()
        try:
            for tenant, agent_id in tenants.presence.agents:
                await crew.touch(tenant, agent_id, now)
            until = now + timedelta(seconds=every * _LOOKS)
            if await leases.take(_NAME, holder, now=now, until=until):
                for served in tenants.all_served():
                    await health.look(served.tenant.name)
        except (StorageUnavailable, UpstreamUnavailable) as error:
            log.warning("agents cannot be looked after", error=str(error))

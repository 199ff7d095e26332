"""Watches what callers do with data: one process of all over the database, once a server is there.

It runs beside calls, and only reads what they leave behind: nothing that goes wrong here touches
one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio
import structlog

from remit.app.events import until_declared
from remit.app.tenants import ServedTenants
from remit.calls.ids import new_id
from remit.errors import StorageUnavailable
from remit.identity.clock import utc_now
from remit.policy.snapshot import DATA
from remit.storage.database import Database
from remit.storage.leases import Leases

if TYPE_CHECKING:
    from remit.data.alerts.watch import Watched

log = structlog.get_logger(__name__)

LOOK_EVERY: Final = 1.0
"""Seconds between looks."""

LONGEST_PAUSE: Final = 30.0
"""Seconds between looks while they fail."""


async def keep_watching(database: Database, tenants: ServedTenants) -> None:
    """Open alerts of every tenant, from when a data server is declared, until cancelled."""
    await until_declared(tenants, {DATA}, look_every=LOOK_EVERY)
    # Deferred: most installations declare none.
    from remit.data.alerts.watch import Watch  # noqa: PLC0415 - see above
    from remit.storage.alerts import Alerts  # noqa: PLC0415 - see above

    watch = Watch(
        Alerts(database, tenants.notices),
        Leases(database),
        holder=uuid4().hex,
        clock=utc_now,
        new_id=new_id,
    )
    pause, problem = LOOK_EVERY, ""
    while True:
        await anyio.sleep(pause)
        try:
            for alert in await watch.look(_watched(tenants)):
                served = tenants.find(alert.tenant)
                if served is not None:
                    served.tally.alerts[alert.severity.value] += 1
        except StorageUnavailable as error:
            if str(error) != problem:
                problem = str(error)
                log.warning("alerts cannot be looked for", error=problem)
        except Exception:
            # the edge of the fan-out: whatever it is, calls go on, and so does looking
            log.exception("alerts cannot be judged")
            pause = min(pause * 2, LONGEST_PAUSE)
        else:
            pause, problem = LOOK_EVERY, ""


def _watched(tenants: ServedTenants) -> "Mapping[str, Watched]":
    # Deferred, as above; it is there by now.
    from remit.data.alerts.watch import Watched  # noqa: PLC0415 - see above

    found: dict[str, Watched] = {}
    for served in tenants.all_served():
        declaration = served.policy.declaration
        names = [name for name, config in declaration.servers.items() if config.builtin == DATA]
        if names:
            found[served.tenant.name] = Watched(servers=tuple(names), rules=declaration.alerts)
    return found

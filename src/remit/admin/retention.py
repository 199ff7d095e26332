"""Keeps the record to what the declaration says, once an hour while a gateway runs."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Final, Protocol

import anyio
import structlog

from remit.errors import AuditUnavailable, Conflict, StartupError
from remit.model.retention import Cut, Retention

log = structlog.get_logger(__name__)

FIRST_AFTER: Final = 10.0
"""Seconds after a start, so that a gateway that is often restarted prunes, too."""

EVERY: Final = 3600.0
"""Seconds between runs."""

AUTHOR: Final = "serve"


class Prunable(Protocol):
    """The record."""

    async def prune(
        self, tenant: str, retention: Retention, *, author: str, now: datetime
    ) -> Cut | None:
        """Remove the oldest rows of *tenant*; return their marker, if any went."""
        ...


async def keep_to_retention(
    record: Prunable,
    retentions: Callable[[], Mapping[str, Retention]],
    *,
    first_after: float = FIRST_AFTER,
) -> None:
    """Prune every tenant's record, once an hour until cancelled.

    What goes wrong is logged, and tried again in an hour; the record is then longer, never shorter.

    Args:
        record: Where rows are.
        retentions: Tenant to how long its record is kept, as it is in force then.
        first_after: Seconds before the first run.
    """

    async def prune_all() -> None:
        for tenant, retention in retentions().items():
            if retention.reason:
                await _prune(record, tenant, retention)

    await hourly(prune_all, first_after=first_after)


async def hourly(work: Callable[[], Awaitable[None]], *, first_after: float = FIRST_AFTER) -> None:
    """Do what keeps something to its limits, once an hour until cancelled.

    Args:
        work: Does it; what goes wrong is its own business.
        first_after: Seconds before the first time.
    """
    await anyio.sleep(first_after)
    while True:
        await work()
        await anyio.sleep(EVERY)


async def _prune(record: Prunable, tenant: str, retention: Retention) -> None:
    try:
        cut = await record.prune(tenant, retention, author=AUTHOR, now=datetime.now(UTC))
    except (AuditUnavailable, Conflict, StartupError) as error:
        log.warning("the record is not pruned", tenant=tenant, problem=str(error))
    except Exception:
        # whatever it is, the gateway goes on, and so do the other tenants
        log.exception("the record cannot be pruned", tenant=tenant)
    else:
        if cut is not None:
            log.info("the record is pruned", tenant=tenant, removed=cut.removed, up_to=cut.link)

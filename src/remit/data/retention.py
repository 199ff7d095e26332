"""Forgets what ran on datasources once it is older than the tenant keeps its record (S2.46)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import structlog

from remit.data.desk import ExecutionStore
from remit.errors import StorageUnavailable
from remit.model.retention import Retention, oldest_kept

log = structlog.get_logger(__name__)

USUAL_DAYS: Final = 90
"""Days that it is kept where the declaration says nothing of its record."""


async def forget_old(
    store: ExecutionStore, retentions: Mapping[str, Retention], now: datetime
) -> None:
    """Forget what is too old of every tenant; what goes wrong is logged, and tried again later."""
    for tenant, retention in retentions.items():
        oldest = oldest_kept(now, USUAL_DAYS if retention.days is None else retention.days)
        if oldest is None:
            continue
        try:
            removed = await store.forget_executions(tenant, oldest)
        except StorageUnavailable as error:
            log.warning("old executions are not removed", tenant=tenant, problem=str(error))
            continue
        except Exception:
            # whatever it is, the gateway goes on, and so do the other tenants
            log.exception("old executions cannot be removed", tenant=tenant)
            continue
        if removed:
            log.info("old executions are removed", tenant=tenant, removed=removed)

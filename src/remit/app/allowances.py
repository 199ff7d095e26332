"""Where calls are counted against limits, as the settings say."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from remit.app.installation import Installation
from remit.calls.limit import Allowances
from remit.storage.limits import SlotsInDatabase


@asynccontextmanager
async def open_shared_count(installation: Installation) -> AsyncGenerator[Allowances | None]:
    """Open the store in which all workers count, or give None where each has its own memory.

    Raises:
        StartupError: The address of the store is none, or its driver is missing.
    """
    url = installation.settings.shared_url
    if not url:
        yield SlotsInDatabase(installation.database)
    elif url == "memory://":
        yield None
    else:
        # deferred: an optional extra, and slow to import
        from remit.storage.limits_redis import open_windows  # noqa: PLC0415

        async with open_windows(url) as windows:
            yield windows

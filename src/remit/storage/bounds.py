"""Connections to SQLite: how they are set up, and how long their statements may run and wait."""

import math
import time
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy.connectors.asyncio import AsyncAdapt_dbapi_connection
from sqlalchemy.pool import ConnectionPoolEntry

LONGEST_STATEMENT: Final = 30.0
"""Seconds one statement may run; a search through everything is the longest."""

_PAGE: Final = 16 * 1024  # bytes; the record's rows come by the hundred, a tenth cheaper than in 4
_CACHE: Final = 768  # KiB a connection; all of the default, two thousand, would be used for ever
_STEPS_BETWEEN_LOOKS: Final = 100_000  # of SQLite's machine: about a millisecond


class Bounds:
    """Of a connection to SQLite.

    Attributes:
        at: When the statement that runs has to be over, by the monotonic clock.
        patience: Seconds to wait for a lock, if nothing else is said.
        waits: Seconds that it waits for one now.
    """

    def __init__(self, patience: float) -> None:
        self.at = math.inf
        self.patience = self.waits = patience

    def is_over(self) -> bool:
        """Whether it should be over by now; SQLite asks, and interrupts it."""
        return time.monotonic() > self.at


def set_up_sqlite(
    patience: float,
    connection: AsyncAdapt_dbapi_connection,
    entry: ConnectionPoolEntry,
    *,
    read_only: bool,
) -> None:
    """Set up a connection that SQLAlchemy has opened (its event `connect`)."""
    cursor = connection.cursor()
    if not read_only:
        cursor.execute(f"PRAGMA page_size={_PAGE}")  # of a new file; it stays for ever
    cursor.execute(f"PRAGMA cache_size=-{_CACHE}")
    if not read_only:
        cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
    entry.info["remit_bounds"] = bounds = Bounds(patience)
    connection.run_async(
        lambda driver: driver.set_progress_handler(bounds.is_over, _STEPS_BETWEEN_LOOKS)
    )


def begin_sqlite(connection: Connection) -> None:
    """Begin a transaction as its options say (SQLAlchemy's event `begin`)."""
    options: Mapping[str, Any] = connection.get_execution_options()
    synchronous = options.get("remit_synchronous", "NORMAL")
    if connection.info.get("remit_synchronous") != synchronous:
        connection.exec_driver_sql(f"PRAGMA synchronous={synchronous}")
        connection.info["remit_synchronous"] = synchronous
    bounds: Bounds = connection.info["remit_bounds"]
    now = time.monotonic()
    left = max(0.0, options.get("remit_until", math.inf) - now)
    bounds.at = now + min(left, LONGEST_STATEMENT)
    if bounds.waits != (waits := min(left, bounds.patience)):
        connection.exec_driver_sql(f"PRAGMA busy_timeout={round(waits * 1000)}")
        bounds.waits = waits
    connection.exec_driver_sql(options.get("remit_begin", "BEGIN"))

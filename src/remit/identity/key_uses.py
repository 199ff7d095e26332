"""When each key was last used: noted in memory, written beside the calls and never in their way."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

import anyio
import structlog

from remit.errors import StorageUnavailable
from remit.identity.clock import utc_now

log = structlog.get_logger(__name__)

NOTE_EVERY: Final = timedelta(minutes=1)
"""How exact `last used` is."""

WRITE_EVERY: Final = 3.0
"""Seconds between two writes."""

LONGEST_WRITE: Final = 3.0
"""Seconds after which a write has failed, the last one included, which a stop waits for."""

MOST_NOTED: Final = 4096
"""Keys of which something is noted at once; the use of more goes unnoted."""


class UseStore(Protocol):
    """Where uses of keys are kept."""

    async def touch(self, uses: Mapping[str, datetime], *, within: float) -> None:
        """Keep when each of these keys, by id, was used, unless a later use is kept.

        Args:
            uses: The times, aware UTC.
            within: Seconds that it may take, whoever is cancelled meanwhile.

        Raises:
            StorageUnavailable: They cannot be kept, or not in that time.
        """
        ...


class KeyUses:
    """Notes uses and writes them every few seconds; a store that is away costs no call anything.

    Args:
        store: Where they are written.
        now: The time, aware UTC.
    """

    def __init__(self, store: UseStore, *, now: Callable[[], datetime] = utc_now) -> None:
        self._store = store
        self._now = now
        self._noted: dict[str, datetime] = {}
        self._due: dict[str, datetime] = {}
        self._problem = ""

    def note(self, key_id: str) -> None:
        """Note that a key is used now; does not wait."""
        now, last = self._now(), self._noted.get(key_id)
        if last is not None and now - last < NOTE_EVERY:
            return
        if key_id not in self._due and len(self._due) >= MOST_NOTED:
            return
        if key_id not in self._noted and len(self._noted) >= MOST_NOTED:
            self._noted.clear()  # some are written once more than need be
        self._noted[key_id] = self._due[key_id] = now

    async def keep_writing(self) -> None:
        """Write what was noted, now and then and once more at the end, until cancelled."""
        try:
            while True:
                await anyio.sleep(WRITE_EVERY)
                await self.write()
        finally:
            with anyio.CancelScope(shield=True):
                await self.write()

    async def write(self) -> None:
        """Write what was noted; what cannot be written stays noted."""
        due = dict(self._due)
        if not due:
            return
        try:
            await self._store.touch(due, within=LONGEST_WRITE)
        except StorageUnavailable as error:
            problem = str(error)
            if problem != self._problem:
                log.warning("uses of keys cannot be written", keys=len(due), error=problem)
            self._problem = problem
            return
        self._problem = ""
        for key_id, used in due.items():
            if self._due[key_id] == used:
                del self._due[key_id]

"""How calls are counted in this worker's memory, and what becomes of a store that is away.

shared ─the store fails→ alone for PAUSE seconds ─one call asks again→ it answers → shared
                                                                     └ it fails → alone …
"""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from remit.calls.limit import Allowances
from remit.errors import StorageUnavailable
from remit.model.limits import Allowance, Shortage

log = structlog.get_logger(__name__)

PAUSE: Final = 5.0
"""Seconds for which a store that failed is left alone."""

_FEW: Final = 1024
"""Keys that are kept without looking for those nobody needs any more."""


class OwnAllowances:
    """Moving windows in memory: for one worker alone.

    Each key has the moments of its latest calls, so that a span has exactly as many as it may, and
    none from before the span.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._uses: dict[str, tuple[Allowance, deque[float]]] = {}
        self._sweep_at = _FEW

    async def take(self, wanted: Sequence[Allowance]) -> Shortage | None:
        """Count one call against each of *wanted*, or against none of them."""
        now = self._now()
        shortage = self._shortage(wanted, now)
        if shortage is None:
            self._count(wanted, now)
        return shortage

    async def used(self, wanted: Sequence[Allowance]) -> Sequence[int]:
        """Return how many calls count against each of *wanted* now, at most what it allows."""
        now = self._now()
        none = deque[float]()
        recent = [
            sum(use + one.seconds > now for use in self._uses.get(one.key, (None, none))[1])
            for one in wanted
        ]
        return [min(count, one.calls) for count, one in zip(recent, wanted, strict=True)]

    def note(self, wanted: Sequence[Allowance]) -> None:
        """Count a call against each of *wanted* that was let through elsewhere."""
        self._count(wanted, self._now())

    def __len__(self) -> int:
        """Return how many keys it has in mind."""
        return len(self._uses)

    def forget(self, wanted: Sequence[Allowance]) -> None:
        """Count a call no more that was counted just now."""
        for allowance in wanted:
            _, uses = self._uses.get(allowance.key, (None, deque[float]()))
            if len(uses) > 1:
                uses.pop()
            else:  # the only one, or so long ago that nobody needs it any more
                self._uses.pop(allowance.key, None)

    def _count(self, wanted: Sequence[Allowance], now: float) -> None:
        for allowance in wanted:
            known, uses = self._uses.get(allowance.key) or (None, deque[float]())
            uses.append(now)
            over = now - allowance.seconds
            while len(uses) > allowance.calls or uses[0] <= over:
                uses.popleft()
            if known is not allowance:
                self._uses[allowance.key] = (allowance, uses)
        if len(self._uses) >= self._sweep_at:
            self._sweep(now)

    def _shortage(self, wanted: Sequence[Allowance], now: float) -> Shortage | None:
        worst = None
        for at, allowance in enumerate(wanted):
            _, uses = self._uses.get(allowance.key, (None, ()))
            if len(uses) >= allowance.calls:
                wait = uses[-allowance.calls] + allowance.seconds - now
                if wait > 0 and (worst is None or wait > worst.wait):
                    worst = Shortage(at, wait)
        return worst

    def _sweep(self, now: float) -> None:
        """Forget what counts no more, so that callers who come once leave nothing behind."""
        self._uses = {
            key: (allowance, uses)
            for key, (allowance, uses) in self._uses.items()
            if uses[-1] + allowance.seconds > now
        }
        self._sweep_at = max(_FEW, 2 * len(self._uses))


class SharedAllowances:
    """Counts in a store that workers share; while it is away, each worker counts for itself.

    A worker then lets through as many as a limit says, less what it has let through already:
    several workers may together exceed a limit, and none is ever without one. What it let through
    meanwhile the store does not know, so for one span more the worker's own count holds as well:
    a store that comes and goes does not multiply a limit.
    """

    def __init__(self, store: Allowances, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now = now
        self._own = OwnAllowances(now)
        self._full: dict[tuple[str, int], float] = {}
        self._away = False
        self._ask_at = 0.0
        self._back_at = -math.inf

    async def take(self, wanted: Sequence[Allowance]) -> Shortage | None:
        """Count one call against each of *wanted*, or against none of them."""
        now = self._now()
        known = self._known_shortage(wanted, now)
        if known is not None:
            return known
        # Counted here first, so that calls at once do not all find the same room.
        is_own = self._away or self._is_aftermath(wanted, now)
        if is_own and (own := await self._own.take(wanted)) is not None:
            return own
        if self._away:
            if now < self._ask_at:
                return None
            self._ask_at = now + PAUSE  # this call asks; the others need not wait for it
        try:
            shortage = await self._store.take(wanted)
        except StorageUnavailable as error:
            self._left_alone(error)
            return None if is_own else await self._own.take(wanted)
        self._found()
        if shortage is not None:
            self._remember(wanted[shortage.at], shortage.wait)
            if is_own:
                self._own.forget(wanted)
        elif not is_own:
            self._own.note(wanted)
        return shortage

    async def used(self, wanted: Sequence[Allowance]) -> Sequence[int]:
        """Return how many calls count against each of *wanted* now, as the store says.

        While it is away, as this worker counts.
        """
        try:
            return await self._store.used(wanted)
        except StorageUnavailable:
            return await self._own.used(wanted)

    def __len__(self) -> int:
        """Return how many keys it has in mind."""
        return len(self._own) + len(self._full)

    def _known_shortage(self, wanted: Sequence[Allowance], now: float) -> Shortage | None:
        """Say no without a journey where the store said for how long: no window empties sooner."""
        worst = None
        for at, allowance in enumerate(wanted):
            wait = self._full.get((allowance.key, allowance.calls), now) - now
            if wait > 0 and (worst is None or wait > worst.wait):
                worst = Shortage(at, wait)
        return worst

    def _is_aftermath(self, wanted: Sequence[Allowance], now: float) -> bool:
        """Whether a span reaches back into the time when the store was away."""
        since = now - self._back_at
        return any(since < allowance.seconds for allowance in wanted)

    def _remember(self, allowance: Allowance, wait: float) -> None:
        now = self._now()
        if len(self._full) >= _FEW:
            self._full = {key: until for key, until in self._full.items() if until > now}
        if len(self._full) < 2 * _FEW:
            self._full[allowance.key, allowance.calls] = now + wait

    def _left_alone(self, error: StorageUnavailable) -> None:
        self._ask_at = self._now() + PAUSE
        if not self._away:
            log.warning("limits are not shared: each worker counts for itself", error=str(error))
        self._away = True

    def _found(self) -> None:
        if self._away:
            self._back_at = self._now()
            log.warning("limits are shared again")
        self._away = False

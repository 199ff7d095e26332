"""From a valid call to an admitted one: is there room in every limit that it falls under?"""

import math
from collections.abc import Sequence
from typing import Protocol

from remit.errors import LimitReached
from remit.model.calls import AdmittedCall, ValidCall
from remit.model.limits import Allowance, Shortage


class Allowances(Protocol):
    """Where calls are counted."""

    async def take(self, wanted: Sequence[Allowance]) -> Shortage | None:
        """Count one call against each of *wanted*, or against none of them.

        Args:
            wanted: At least one; no key twice.

        Returns:
            None when it is counted; else what it has to wait for.

        Raises:
            StorageUnavailable: It cannot be counted here now.
        """
        ...

    async def used(self, wanted: Sequence[Allowance]) -> Sequence[int]:
        """Return how many calls count against each of *wanted* now, at most what it allows.

        Raises:
            StorageUnavailable: Nobody can say so here now.
        """
        ...


class Limiter:
    """Counts each call that may run, and no other: what was refused before has cost nothing."""

    def __init__(self, allowances: Allowances) -> None:
        self._allowances = allowances

    async def __call__(self, valid: ValidCall) -> AdmittedCall:
        """Return the call once it is counted against every limit it falls under.

        Raises:
            LimitReached: One of them has no room; then it counts against none.
        """
        wanted = valid.authorized.permit.allowances
        if wanted:
            shortage = await self._allowances.take(wanted)
            if shortage is not None:
                raise _reached(wanted[shortage.at], shortage.wait)
        return AdmittedCall(valid=valid)


def _reached(allowance: Allowance, wait: float) -> LimitReached:
    return LimitReached(
        rate=allowance.rate, rule=allowance.rule, retry_after=max(1, math.ceil(wait))
    )

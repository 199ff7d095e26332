"""The policy in force: declaration and snapshot of one revision, swapped as a whole."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import anyio

from remit.identity.clock import utc_now
from remit.model.declaration import Declaration
from remit.model.principals import Principal
from remit.model.servers import ServerConfig
from remit.policy.engine import explains_denials
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

LEAST_WAIT: Final = 0.05
"""Seconds between two looks at the clock around the end of a grant, whatever the clocks say."""

LONGEST_WAIT: Final = 60.0
"""Seconds between two looks at the clock while a grant has an end: it may be set meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """One revision: what it declares, and the rules that this makes."""

    declaration: Declaration
    snapshot: PolicySnapshot


class PolicyInForce:
    """What every step of the pipeline reads; readers take no lock.

    Declaration, snapshot and revision are one value that is replaced whole, so that whoever reads
    several of them without waiting in between reads one revision.
    """

    def __init__(
        self,
        declaration: Declaration,
        *,
        tenant: str,
        revision: int,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._tenant = tenant
        self._now = now
        self._current = self._compiled(declaration, revision)
        self._version = 0
        self._swapped = anyio.Event()

    @property
    def current(self) -> InForce:
        """The revision in force, as one value; a grant that has ended counts no more (S4.16)."""
        snapshot = self._current.snapshot
        if snapshot.good_until is not None:
            renewed = snapshot.at(self._now())
            if renewed is not snapshot:
                self._put(replace(self._current, snapshot=renewed))
        return self._current

    @property
    def declaration(self) -> Declaration:
        """What is declared now."""
        return self._current.declaration

    @property
    def snapshot(self) -> PolicySnapshot:
        """The rules now."""
        snapshot = self._current.snapshot
        return snapshot if snapshot.good_until is None else self.current.snapshot

    @property
    def revision(self) -> int:
        """The number of the revision in force."""
        return self._current.snapshot.revision

    def swap(self, declaration: Declaration, *, revision: int) -> None:
        """Put another revision in force; whatever is wrong with it leaves this one.

        Raises:
            DeclarationError: A pattern cannot be one (`check_pattern`).
        """
        self._put(self._compiled(declaration, revision))

    async def wait(self, seen: int) -> int:
        """Return how often the rules changed once that is not *seen*; -1 was never seen.

        They change with a swap, and with the end of a grant (R17).
        """
        while self._version == seen:
            with anyio.move_on_after(self._seconds_to_next_end()):
                await self._swapped.wait()
            _ = self.current  # which puts the rules without a grant that has ended in force
        return self._version

    def server(self, name: str) -> ServerConfig | None:
        """Return the declared server of that name, or None."""
        return self._current.declaration.servers.get(name)

    def body_cap(self) -> int:
        """Return how many bytes of a body a row may store."""
        return self._current.declaration.audit.body_cap

    def explains_denials(self, principal: Principal) -> bool:
        """Whether a role of *principal* is told why it is refused (R14)."""
        return explains_denials(self.snapshot, principal)

    def _put(self, current: InForce) -> None:
        self._current = current
        self._version += 1
        self._swapped.set()
        self._swapped = anyio.Event()

    def _seconds_to_next_end(self) -> float:
        ends = self._current.snapshot.good_until
        if ends is None:
            return math.inf
        left = (ends - self._now()).total_seconds()
        return min(max(left, LEAST_WAIT), LONGEST_WAIT)

    def _compiled(self, declaration: Declaration, revision: int) -> InForce:
        snapshot = compile_snapshot(
            declaration, tenant=self._tenant, revision=revision, now=self._now()
        )
        return InForce(declaration=declaration, snapshot=snapshot)

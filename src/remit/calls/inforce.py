"""The policy in force: declaration and snapshot of one revision, swapped as a whole."""

from collections.abc import Callable
from datetime import UTC, datetime

from remit.model.declaration import Declaration
from remit.model.principals import Principal
from remit.model.servers import ServerConfig
from remit.policy.snapshot import PolicySnapshot, compile_snapshot


class PolicyInForce:
    """What every step of the pipeline reads; readers take no lock."""

    def __init__(
        self,
        declaration: Declaration,
        *,
        tenant: str,
        revision: int,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.declaration = declaration
        self.revision = revision
        self._now = now
        self._snapshot = compile_snapshot(declaration, tenant=tenant, revision=revision, now=now())

    @property
    def snapshot(self) -> PolicySnapshot:
        """The rules now: a grant that has ended counts no more, whoever asks first (S4.16)."""
        if self._snapshot.good_until is not None:
            self._snapshot = self._snapshot.at(self._now())
        return self._snapshot

    @snapshot.setter
    def snapshot(self, snapshot: PolicySnapshot) -> None:
        self._snapshot = snapshot

    def server(self, name: str) -> ServerConfig | None:
        """Return the declared server of that name, or None."""
        return self.declaration.servers.get(name)

    def body_cap(self) -> int:
        """Return how many bytes of a body a row may store."""
        return self.declaration.audit.body_cap

    def explains_denials(self, principal: Principal) -> bool:
        """Whether a role of *principal* is told why it is refused (R14)."""
        roles = (self.declaration.roles.get(name) for name in principal.roles)
        return any(role is not None and role.denials == "explain" for role in roles)

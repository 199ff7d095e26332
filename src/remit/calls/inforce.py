"""The policy in force: declaration and snapshot of one revision, swapped as a whole."""

from remit.model.declaration import Declaration
from remit.model.principals import Principal
from remit.model.servers import ServerConfig
from remit.policy.engine import explains_denials
from remit.policy.snapshot import PolicySnapshot, compile_snapshot


class PolicyInForce:
    """What every step of the pipeline reads; readers take no lock."""

    def __init__(self, declaration: Declaration, *, tenant: str, revision: int) -> None:
        self.declaration = declaration
        self.revision = revision
        self.snapshot: PolicySnapshot = compile_snapshot(
            declaration, tenant=tenant, revision=revision
        )

    def server(self, name: str) -> ServerConfig | None:
        """Return the declared server of that name, or None."""
        return self.declaration.servers.get(name)

    def body_cap(self) -> int:
        """Return how many bytes of a body a row may store."""
        return self.declaration.audit.body_cap

    def explains_denials(self, principal: Principal) -> bool:
        """Whether a role of *principal* is told why it is refused (R14)."""
        return explains_denials(self.snapshot, principal)

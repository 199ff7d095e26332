"""A principal: a verified caller (R5)."""

from dataclasses import dataclass
from enum import StrEnum

DEFAULT_TENANT = "default"
"""The tenant of a fresh install."""


class PrincipalKind(StrEnum):
    """How a caller authenticated, which alone decides what it is (R6)."""

    KEY = "key"
    ROLE = "role"
    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A verified caller.

    Attributes:
        kind: How it authenticated (R6).
        name: Its name within its kind, such as a key's name.
        roles: Squad roles; several are a union inside the role layer (R8).
        admin: Whether it administers the tenant. Administering never grants use (R12).
    """

    kind: PrincipalKind
    name: str
    tenant: str = DEFAULT_TENANT
    roles: tuple[str, ...] = ()
    admin: bool = False

    @property
    def subject(self) -> str:
        """The SUBJECT spelling, such as `key:ci`, as the command line and the audit show it."""
        return f"{self.kind.value}:{self.name}"

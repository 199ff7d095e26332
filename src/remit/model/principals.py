"""A principal: a verified caller (R5)."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

DEFAULT_TENANT = "default"
"""The tenant of a fresh install."""


class PrincipalKind(StrEnum):
    """How a caller authenticated, which alone decides what it is (R6)."""

    KEY = "key"
    ROLE = "role"
    USER = "user"
    USER_ROLE = "user-role"
    AGENT = "agent"
    AGENT_TYPE = "agent-type"


class UserRole(StrEnum):
    """What a person is to the `data` server (S2.2); one of three fields called a role (R5)."""

    USER = "user"
    ADMIN = "admin"
    DATA = "data"
    DEVELOPER = "developer"


class AgentType(StrEnum):
    """What a supervised agent is; SUPERVISOR is the top (R7)."""

    SUPERVISOR = "SUPERVISOR"
    ORCHESTRATOR = "ORCHESTRATOR"
    WORKER = "WORKER"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPolicy:
    """What a user's token says of servers (S4.3): a verified allow and deny list.

    Attributes:
        allow: Servers opened although their `default_access` is `deny`.
        deny: Servers closed, whatever else opens them.
        admin: The claim `isAdmin`; grants use only under `policy: {admin_bypass: true}` (R12).
    """

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A verified caller. It may wear several hats: each governs its own domain (R9).

    Attributes:
        kind: How it authenticated (R6).
        name: Its name within its kind, such as a key's name or a token's subject.
        roles: Squad roles; several are a union inside the role layer (R8).
        user_roles: What it is to the `data` server; the most privileged counts (S2.3).
        agent_type: What it is to the crew servers, if it is an agent.
        groups: Groups that its issuer says it is in.
        servers: What its token says of servers, or None where it says nothing.
        service: Whether it is a service key, the three-tool caller of the `data` server (S2.2).
        queries: Approved queries that a service key is limited to; empty for no limit (S2.28).
        act_for: Agents of its tenant that the scope of its key names (R26). That opens no
            tool: acting for another is worth what both may (R9).
        issuer: Who vouches for it; empty for our own keys.
        admin: Whether it administers the tenant. Administering never grants use (R12).
        auditor: Whether it reads what an administrator of its tenant reads, but no secret, and
            changes nothing. That grants no tool either (R12); an administrator is none.
        expires: When its credential ends, aware UTC, or None.
        endpoints: Paths such as `/mcp/git` that its credential was issued for, and that it opens
            with those below them alone; empty when it opens every endpoint.
        caller: Of an agent that somebody acts for in this call (R26): who that is. None where it
            acts itself. It is the same principal all the same.
    """

    kind: PrincipalKind
    name: str
    tenant: str = DEFAULT_TENANT
    roles: tuple[str, ...] = ()
    user_roles: tuple[UserRole, ...] = ()
    agent_type: AgentType | None = None
    groups: tuple[str, ...] = ()
    servers: ServerPolicy | None = None
    service: bool = False
    queries: tuple[str, ...] = ()
    act_for: tuple[str, ...] = ()
    issuer: str = ""
    admin: bool = False
    auditor: bool = False
    expires: datetime | None = None
    endpoints: tuple[str, ...] = ()
    caller: "Principal | None" = field(default=None, compare=False, repr=False)

    @property
    def subject(self) -> str:
        """The SUBJECT spelling, such as `key:ci`, as the command line and the audit show it."""
        return f"{self.kind.value}:{self.name}"

    def may_enter(self, path: str) -> bool:
        """Whether its credential opens the endpoint at *path*; that alone grants nothing there."""
        return not self.endpoints or any(
            path.removesuffix("/") == endpoint or path.startswith(f"{endpoint}/")
            for endpoint in self.endpoints
        )

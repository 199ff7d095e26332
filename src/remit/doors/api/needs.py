"""What the API asks of the rest of remit: a few ports, some for each tenant."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from remit.admin.authority import Authority
from remit.admin.change_record import ChangeRecord
from remit.admin.editor import Editor
from remit.admin.keys import KeyStore as MadeKeys
from remit.admin.overview import Record, WaitingThings
from remit.admin.revisions import RevisionStore
from remit.admin.subjects import AgentStore
from remit.admin.subjects import KeyStore as HeldKeys
from remit.admin.tenants import TenantStore
from remit.crew.human import HumanInbox
from remit.data.alerts.desk import AlertDesk
from remit.data.datasources import Datasources
from remit.data.desk import Sources, Stores
from remit.model.calls import Examined
from remit.model.crew import Epic, Member
from remit.model.data import Screening
from remit.model.decision_log import LoggedDecision
from remit.model.declaration import Declaration
from remit.model.events import AuditEvent, AuditQuery, Looked
from remit.model.health import Examination
from remit.model.limits import Allowance
from remit.model.principals import Principal
from remit.model.servers import ServerStatus, ServerTrial
from remit.model.tools import Tool, ToolId
from remit.policy.snapshot import PolicySnapshot
from remit.storage.chain import ChainReport


class KeyStore(MadeKeys, HeldKeys, Protocol):
    """Where keys are kept."""


class UserStore(Protocol):
    """Which users are kept out."""

    async def disable(self, tenant: str, name: str, now: datetime) -> None:
        """Keep a user out."""
        ...

    async def enable(self, tenant: str, name: str) -> bool:
        """Let a user in again; False when it was not disabled."""
        ...

    async def is_disabled(self, tenant: str, name: str) -> bool:
        """Whether that user is kept out."""
        ...

    async def all_disabled(self, tenant: str) -> Mapping[str, datetime]:
        """Return name to since when, by name."""
        ...

    async def disabled_since(self, tenant: str, name: str) -> datetime | None:
        """Return since when that user is kept out; None when it is not."""
        ...

    async def disabled_after(
        self, tenant: str, after: str | None, limit: int
    ) -> Mapping[str, datetime]:
        """Return the same as `all_disabled`, at most *limit*, those behind a name alone."""
        ...


class CrewStore(Protocol):
    """What agents are at."""

    async def members_after(self, tenant: str, after: str | None, limit: int) -> Sequence[Member]:
        """Return registered agents by id, at most *limit*, those behind an id alone."""
        ...

    async def find_member(self, tenant: str, agent_id: str) -> Member | None:
        """Return a registered agent, or None."""
        ...

    async def find_epic(self, tenant: str, epic_id: str) -> Epic | None:
        """Return an epic, or None."""
        ...


class Audit(Record, Protocol):
    """The record."""

    async def search(self, query: AuditQuery) -> Sequence[AuditEvent]:
        """Return one row a call, newest first."""
        ...

    async def look(self, query: AuditQuery, *, longest: float) -> Looked:
        """Return the same as far as it is found in so many seconds, and where to go on."""
        ...

    async def events_of(self, tenant: str, call: str) -> Sequence[AuditEvent]:
        """Return what happened to one call, in its order."""
        ...

    async def decisions(
        self, tenant: str, *, agent: str | None, limit: int
    ) -> Sequence[LoggedDecision]:
        """Return what one agent, or every one, did and decided, newest first."""
        ...

    async def verify(self, tenant: str) -> ChainReport:
        """Look at every row of *tenant*."""
        ...


class Policies(Protocol):
    """The revision of a tenant that is in force."""

    @property
    def declaration(self) -> Declaration:
        """What is declared now."""
        ...

    @property
    def snapshot(self) -> PolicySnapshot:
        """The rules now."""
        ...

    @property
    def revision(self) -> int:
        """Its number."""
        ...


class Servers(Protocol):
    """The servers of a tenant."""

    def status(self, name: str) -> ServerStatus | None:
        """Return where one server stands, or None where there is none of that name."""
        ...

    async def try_out(self, name: str) -> ServerTrial:
        """Connect to a server beside what is connected, and leave it again.

        Raises:
            NotFound: There is none of that name.
        """
        ...


class Lists(Protocol):
    """What callers of a tenant see."""

    def visible(self, principal: Principal, scope: str | None) -> tuple[Tool, ...]:
        """Return the tools on offer that *principal* may call."""
        ...

    def offered(self, server: str) -> tuple[Tool, ...]:
        """Return the tools that *server* offers now, whoever may call them."""
        ...

    def published_name(self, tool: ToolId, scope: str | None) -> str:
        """Return the name of *tool* on the endpoint of *scope*."""
        ...

    def token_cost(self, tool: Tool, scope: str | None = None) -> int:
        """Estimate the tokens of one published tool."""
        ...

    def instructions(self, principal: Principal, scope: str | None) -> str:
        """Say what a short or empty list lacks."""
        ...


class Tenant(Protocol):
    """One tenant, open.

    Attributes:
        key: What principals and rows call it.
        id: Its UUID, or what stands for it; a path may name either.
        created: When it was made, aware UTC.
    """

    key: str
    id: str
    created: datetime

    @property
    def policy(self) -> Policies:
        """Its revision in force."""
        ...

    @property
    def servers(self) -> Servers:
        """Its servers."""
        ...

    @property
    def lists(self) -> Lists:
        """What its callers see."""
        ...

    def authority(self) -> Authority:
        """Return what answers who can call what, from what is in force now."""
        ...

    def examine(self, tool_id: ToolId, arguments: bytes) -> Examined | None:
        """Say what a call with *arguments* would be told; None where the tool is not on offer."""
        ...

    def used(self, wanted: Sequence[Allowance], /) -> Awaitable[Sequence[int]]:
        """Return how many calls count against each of *wanted* now."""
        ...

    def known_tools(self) -> Collection[ToolId]:
        """Return every tool that is declared, offered, or was ever seen."""
        ...

    async def follow(self) -> bool:
        """Put the latest revision in force."""
        ...

    async def restart(self, name: str, /) -> None:
        """Connect to a server anew, in every gateway over the store.

        Raises:
            StorageUnavailable: The others cannot be told, so nothing is restarted.
        """
        ...


class Tenants(Protocol):
    """The tenants that this gateway serves."""

    def find(self, name: str) -> Tenant | None:
        """Return the tenant of that name or UUID, or None."""
        ...

    def all_tenants(self) -> Sequence[Tenant]:
        """Return every tenant, by name."""
        ...

    async def serve_all(self) -> None:
        """Serve every tenant that there is, one that was just made too.

        Raises:
            StorageUnavailable: Nobody can say which there are.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPlace:
    """What the `data` server works with; opened when it is first asked for.

    Attributes:
        stores: Returns where everything is kept.
        sources: Returns what opens datasources.
        screening: Says of a tenant what becomes of values that look like injections (R35).
    """

    stores: Callable[[], Stores]
    sources: Callable[[], Sources]
    screening: Callable[[str], Screening]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What every tenant shares.

    Attributes:
        examine: Examines the tenant of that name; whether with what all tenants share.
        datasources: Returns what administers datasources, opened when it is first asked for.
        forget: Lets every credential be verified anew, at once in this process (R17).
        now: The time, aware UTC.
    """

    tenants: Tenants
    tenant_store: TenantStore
    keys: KeyStore
    agents: AgentStore
    users: UserStore
    crew: CrewStore
    inbox: HumanInbox
    data: DataPlace
    alerts: AlertDesk
    datasources: Callable[[], Datasources]
    waiting: WaitingThings
    revisions: RevisionStore
    editor: Editor
    audit: Audit
    changes: ChangeRecord
    examine: Callable[[str, bool], Awaitable[Examination]]
    forget: Callable[[], None]
    now: Callable[[], datetime]

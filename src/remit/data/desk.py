"""Where one call of a data tool is worked on: who acts, and with what.

Whoever asks comes from the MCP door or from the management API; both do the same things through
the same functions, each of which takes a `Desk`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from remit.data.engines.engine import Engine
from remit.errors import DataFailure
from remit.model.data import DataCode, Datasource, Execution, Query, QueryStatus, Screening
from remit.model.ontology import ChangeStatus, Item, ItemKind, PendingChange, Schema
from remit.model.principals import Principal, PrincipalKind
from remit.policy.toolsets import Audience, audience_of

Result = dict[str, object]
"""The structured result of a tool."""


class DatasourceStore(Protocol):
    """Where datasources are kept; `storage/datasources.py` says more."""

    async def all_datasources(self, tenant: str) -> Sequence[Datasource]:
        """Return a tenant's, by name."""
        ...

    async def find_datasource(self, tenant: str, name_or_id: str) -> Datasource | None:
        """Return one, or None."""
        ...

    async def write_datasource(self, datasource: Datasource) -> None:
        """Write one whose version is the one that was seen; a new one has version 0.

        Raises:
            Outdated: It was changed meanwhile.
            Conflict: The name is taken.
        """
        ...

    async def remove_datasource(self, datasource: Datasource) -> None:
        """Take one away with its queries and its ontology.

        Raises:
            Outdated: It was changed meanwhile.
        """
        ...


class QueryStore(Protocol):
    """Where approved queries and suggestions are kept; `storage/queries.py` says more."""

    async def find_query(
        self, tenant: str, query_id: str, *, deleted: bool = False
    ) -> Query | None:
        """Return one, or None; one that is deleted only where that is asked for."""
        ...

    async def queries(
        self,
        tenant: str,
        *,
        status: QueryStatus | None = None,
        datasource: str | None = None,
        parent: str | None = None,
    ) -> Sequence[Query]:
        """Return those that are not deleted, oldest first.

        Args:
            tenant: Whose.
            status: Only those that stand there.
            datasource: Only those of the datasource of that id.
            parent: Only updates of the query of that id.
        """
        ...

    async def write_queries(self, queries: Sequence[Query]) -> None:
        """Write several at once, each with the version that was seen; a new one has version 0.

        Raises:
            Outdated: One was changed meanwhile; nothing is written.
        """
        ...

    async def note_use(self, tenant: str, query_id: str, now: datetime) -> None:
        """Count a use; that is no change of the query."""
        ...


class ExecutionStore(Protocol):
    """Where it is kept what ran; `storage/executions.py` says more."""

    async def add_execution(self, execution: Execution, *, within: float) -> None:
        """Keep one, in so many seconds.

        Raises:
            StorageUnavailable: It cannot be kept, or not in that time.
        """
        ...

    async def executions(
        self,
        tenant: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        user: str | None = None,
        query: str | None = None,
        datasource: str | None = None,
        before: str | None = None,
        limit: int,
    ) -> Sequence[Execution]:
        """Return what ran, newest first.

        Args:
            tenant: Whose.
            since: Only what began then or later.
            until: Only what began earlier.
            user: Only of that caller, in SUBJECT spelling.
            query: Only of the approved query of that id.
            datasource: Only of the datasource of that id.
            before: Only what comes after the one of that id in this order.
            limit: Most of them.
        """
        ...

    async def forget_executions(self, tenant: str, before: datetime) -> int:
        """Remove what began before *before*; return how many."""
        ...


class OntologyStore(Protocol):
    """Where ontology, schema and pending changes are kept; `storage/ontology.py` says more."""

    async def items(
        self, tenant: str, datasource: str, kind: ItemKind | None = None
    ) -> Sequence[Item]:
        """Return what is there, by kind and key."""
        ...

    async def find_schema(self, tenant: str, datasource: str) -> Schema | None:
        """Return what the datasource was seen to hold, or None before the first look."""
        ...

    async def find_change(self, tenant: str, change_id: str) -> PendingChange | None:
        """Return one, or None."""
        ...

    async def changes(
        self,
        tenant: str,
        datasource: str,
        *,
        status: ChangeStatus | None = None,
        limit: int | None = None,
    ) -> Sequence[PendingChange]:
        """Return pending and decided changes, oldest first."""
        ...

    async def write(
        self,
        *,
        items: Sequence[Item] = (),
        removed: Sequence[Item] = (),
        schema: Schema | None = None,
        changes: Sequence[PendingChange] = (),
    ) -> None:
        """Write all of it at once, each with the version that was seen; a new one has version 0.

        Raises:
            Outdated: One was changed meanwhile; nothing is written.
        """
        ...


class Sources(Protocol):
    """Opens datasources, keeps them open, and lets go of those that changed."""

    async def open(self, datasource: Datasource) -> Engine:
        """Return the engine of a datasource.

        Raises:
            DataFailure: `service_unavailable`, with what to do about it.
        """
        ...


class KeyStore(Protocol):
    """Where keys are kept; `storage/keys.py` says more."""

    async def owners(self, tenant: str, name: str) -> frozenset[str]:
        """Return the names of the users whose keys of that name are, or were."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Where everything is kept."""

    datasources: DatasourceStore
    queries: QueryStore
    executions: ExecutionStore
    ontology: OntologyStore
    keys: KeyStore


def audience_in_data(principal: Principal) -> Audience | None:
    """Return what a caller is to the `data` server (S2.2), or None for nothing."""
    return audience_of(principal.user_roles, service=principal.service)


def may_decide(principal: Principal) -> bool:
    """Whether a caller may decide on suggestions of others (R13)."""
    return principal.admin or audience_in_data(principal) is Audience.DEVELOPER


def _any_version(version: int) -> None:
    del version


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One call: who makes it, and what it is worked on with.

    Attributes:
        principal: Who acts.
        tool: Such as `query`; the API uses the name of the tool that does the same.
        came_by: How it came.
        screening: What happens to a value that looks like an injection (R35).
        clock: Returns the time, aware UTC.
        new_id: Returns an id that nothing has.
        require_seen: Is given the version of what is to be changed, as it stands at each attempt,
            0 where it is not there; raises where the caller has not seen that one. By default
            whatever stands there does.
    """

    principal: Principal
    tenant: str
    tool: str
    came_by: Literal["mcp", "api"] = "mcp"
    stores: Stores
    sources: Sources
    screening: Screening = "refuse"
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    require_seen: Callable[[int], None] = _any_version

    @property
    def audience(self) -> Audience | None:
        """What the caller is to the `data` server (S2.2)."""
        return audience_in_data(self.principal)

    @property
    def decides(self) -> bool:
        """Whether the caller may decide on suggestions of others (R13)."""
        return may_decide(self.principal)

    @property
    def sees_all(self) -> bool:
        """Whether the caller sees what others suggested; an auditor does by the API alone."""
        return self.decides or (self.came_by == "api" and self.principal.auditor)

    @property
    def user(self) -> str:
        """Who acts, as rows name it: in SUBJECT spelling."""
        return self.principal.subject

    async def is_of_same_person(self, subject: str) -> bool:
        """Whether the caller and *subject* are one person, be it with two credentials (R13).

        A person is a user, whoever vouches for them, with every key whose owner they are or were.
        """
        mine, theirs = await self._persons(self.user), await self._persons(subject)
        return not mine.isdisjoint(theirs)

    async def _persons(self, subject: str) -> frozenset[str]:
        kind, _, name = subject.partition(":")
        if kind != PrincipalKind.KEY:
            return frozenset({subject})
        owners = await self.stores.keys.owners(self.tenant, name)
        return frozenset({subject, *(f"{PrincipalKind.USER}:{owner}" for owner in owners)})

    async def datasource(self, name_or_id: str | None = None) -> Datasource:
        """Return a datasource of the tenant: the one that is named, or the one that is meant.

        Meant is the default, or the only one there is.

        Raises:
            DataFailure: `no_datasource`, with what to do about it.
        """
        if name_or_id:
            found = await self.stores.datasources.find_datasource(self.tenant, name_or_id)
            if found is None:
                raise DataFailure(
                    DataCode.NO_DATASOURCE, f"there is no datasource {name_or_id[:80]!r}"
                )
            return found
        every = await self.stores.datasources.all_datasources(self.tenant)
        meant = [each for each in every if each.is_default] or list(every)
        if not meant:
            raise DataFailure(
                DataCode.NO_DATASOURCE,
                "no datasource is set up; an administrator adds one with `remit datasources add`",
            )
        if len(meant) > 1:
            names = ", ".join(each.name for each in every)
            raise DataFailure(
                DataCode.NO_DATASOURCE,
                f"several datasources are set up and none is the default: name one of {names}",
            )
        return meant[0]

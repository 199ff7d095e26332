"""The tenants that this process serves, each with rules, servers and names of its own (R27).

    Tenants (rows) ──▶ one task a tenant ──▶ ServedTenant: policy, fleet, directory, listing,
                                              pipeline; found by one look-up, for every request

Nothing of one tenant is reachable from another's: what they share is the stores and the audit,
which are asked with the tenant's name.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup, TaskStatus

from remit.admin.known_servers import unclaimed_package
from remit.admin.offers import report_offers
from remit.admin.revisions import Follower, newest_usable
from remit.admin.secret_files import session_key
from remit.app.bundled import Place, builtins_in
from remit.app.data import DataPlace
from remit.app.installation import Installation
from remit.calls.authorize import Authorizer
from remit.calls.directory import Directory
from remit.calls.inforce import PolicyInForce
from remit.calls.invoke import Invoker
from remit.calls.limit import Allowances, Limiter
from remit.calls.listing import Listing
from remit.calls.pipeline import Calls, Pipeline
from remit.calls.presence import Presence
from remit.calls.record import AuditLog, Recorder, Wording
from remit.calls.states import States
from remit.calls.tally import Tally
from remit.calls.validate import Validator
from remit.crew.escalation import LAST_WORDS, Escalation
from remit.errors import StorageUnavailable
from remit.model.contents import Item
from remit.model.data import Screening
from remit.model.declaration import Declaration
from remit.model.grants import JwtIssuer
from remit.model.principals import DEFAULT_TENANT
from remit.model.servers import ServerStatus
from remit.model.tenants import Tenant
from remit.model.tools import Tool, ToolId
from remit.policy.snapshot import DATA
from remit.storage.crew import Crew
from remit.storage.notices import Notices
from remit.storage.seen import SeenTools
from remit.upstreams.catalogue import Catalogue
from remit.upstreams.fleet import Fleet, open_fleet
from remit.upstreams.warden import Warden

log = structlog.get_logger(__name__)

MOST_REMEMBERED = 1024
"""Bytes of a name that is remembered over a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTenant:
    """One tenant, open."""

    tenant: Tenant
    policy: PolicyInForce
    fleet: Fleet
    directory: Directory
    listing: Listing
    validate: Validator
    pipeline: Calls
    follower: Follower
    tally: Tally


class ServedTenants:
    """The tenants that are served; one that was made while we run is added (R17).

    Attributes:
        issuers: Whose tokens are accepted: those that `default` declares for every tenant, those
            that another one declares for itself alone. The same object while nothing changes.
        allowances: Where calls are counted.
        notices: Tells of changes to the database, of this process and of others.
        escalation: Tells of calls of agents that failed; somebody has to enter `running()`.
        data: What `data` servers work with; likewise.
        presence: Which agents have a call under way here.
        is_cutting_off: Whether calls that have not ended by now are ended: the gateway stops.
    """

    def __init__(
        self,
        installation: Installation,
        audit: AuditLog,
        allowances: Allowances,
        tasks: TaskGroup,
        around: Callable[[Pipeline], Calls],
        *,
        warden: Warden,
    ) -> None:
        """Serve nobody yet.

        Args:
            installation: Where everything is declared and stored.
            audit: Where events go.
            allowances: Where calls are counted.
            tasks: Owns what runs for a tenant.
            around: Puts spans around a pipeline, or nothing.
            warden: Watches over child processes.
        """
        self._around = around
        self._installation = installation
        self._audit = audit
        self.allowances = allowances
        self._tasks = tasks
        self._warden = warden
        self.notices = Notices(installation.database)
        self.escalation = Escalation(Crew(installation.database.bounded(LAST_WORDS), self.notices))
        self.presence = Presence()
        self.data = DataPlace(installation.settings, installation.database, self._screening)
        self._place = Place(
            database=installation.database,
            notices=self.notices,
            silence=timedelta(seconds=installation.settings.agent_silence),
            data=self.data,
        )
        self._states = States(session_key(installation.settings.state))
        self._by_name: dict[str, ServedTenant] = {}
        self._names: dict[str, str] = {}
        self._bound: dict[str, tuple[Sequence[JwtIssuer], Sequence[JwtIssuer]]] = {}
        self._adding = anyio.Lock()
        self.issuers: Sequence[JwtIssuer] = ()
        self.is_cutting_off = False

    def find(self, name: str) -> ServedTenant | None:
        """Return the tenant of that name, or None where it is not served."""
        return self._by_name.get(name)

    def name_of(self, text: str) -> str | None:
        """Return the name of the tenant whose name or UUID *text* is, or None."""
        return text if text in self._by_name else self._names.get(text.lower())

    def issuers_of(self, uuid: str | None) -> Sequence[JwtIssuer]:
        """Return whose tokens may open the endpoints of a tenant, or those that name none.

        Its own come first, then those of `default`, which speak for every tenant. An endpoint
        that names no tenant tells nobody of the issuers that another one than `default` has.
        """
        name = None if uuid is None else self._names.get(uuid)
        own = [each for each in self.issuers if name is not None and each.tenant == name]
        return [*own, *(each for each in self.issuers if not each.tenant)]

    def all_served(self) -> Sequence[ServedTenant]:
        """Return every tenant that is served, in the order in which that began."""
        return list(self._by_name.values())

    def statuses(self, name: str | None = None) -> Sequence[ServerStatus]:
        """Return where every server of one tenant stands, or of all."""
        chosen = [served for served in self._by_name.values() if name in (None, served.tenant.name)]
        return [status for served in chosen for status in served.fleet.statuses()]

    async def open(self, tenant: Tenant, policy: PolicyInForce) -> ServedTenant:
        """Serve *tenant* from now on; returns before its servers are up."""
        served: ServedTenant = await self._tasks.start(self._keep, tenant, policy)
        return served

    async def follow(self) -> None:
        """Serve every tenant that there is.

        Raises:
            StorageUnavailable: Nobody can say which there are; those that are served go on.
        """
        async with self._adding:  # who asks meanwhile must not open one twice
            for tenant in await self._installation.tenants.all_tenants():
                if tenant.name not in self._by_name:
                    served = await self.open(tenant, await self._policy_of(tenant))
                    await served.follower.follow()  # says so if it declares what cannot be used

    def _screening(self, tenant: str) -> Screening:
        """Return what is declared now; the stricter where nothing is."""
        served = self._by_name.get(tenant)
        return "refuse" if served is None else served.policy.declaration.data.screening

    def _wording(self, policy: PolicyInForce, server: str) -> Wording | None:
        """Return what is written of the calls of a server, where that is not all of them."""
        config = policy.declaration.servers.get(server)
        return None if config is None or config.builtin != DATA else self.data.wording

    async def _policy_of(self, tenant: Tenant) -> PolicyInForce:
        """Return what a tenant without a file declares: nothing, before its first revision."""
        found = await newest_usable(self._installation.revisions, tenant.name)
        declaration, number = (
            (Declaration(), 0) if found is None else (found[0].declaration, found[1])
        )
        return PolicyInForce(declaration, tenant=tenant.name, revision=number)

    async def _keep(
        self, tenant: Tenant, policy: PolicyInForce, *, task_status: TaskStatus[ServedTenant]
    ) -> None:
        async with (
            open_fleet(
                policy.declaration.servers,
                builtins=builtins_in(
                    self._installation.settings.config.absolute().parent, self._place
                ),
                environ=os.environ,
                unclaimed=unclaimed_package,
                warden=self._warden,
            ) as fleet,
            anyio.create_task_group() as tasks,
        ):
            served = await self._assemble(tenant, policy, fleet)
            self._by_name[tenant.name] = served
            self._names[tenant.uuid] = tenant.name
            self._collect_issuers()
            task_status.started(served)
            tasks.start_soon(report_offers, fleet, policy, tenant.name)
            await _remember_tools(fleet, self._installation.seen, tenant.name)

    async def _assemble(self, tenant: Tenant, policy: PolicyInForce, fleet: Fleet) -> ServedTenant:
        installation = self._installation
        seen = [tool.id for tool in await installation.seen.all_tools(tenant.name)]
        directory, tally = Directory(fleet, policy, seen), Tally()
        record = Recorder(
            self._audit,
            revision=lambda: policy.revision,
            body_cap=policy.body_cap,
            tally=tally,
            wording=partial(self._wording, policy),
            is_stopping=lambda: self.is_cutting_off,
        )
        validate = Validator(fleet, _Servers(policy, fleet), self._states)
        authorize = Authorizer(directory, fleet, policy)
        invoke = Invoker(fleet, record, self._states, authorize.again)
        pipeline = Pipeline(
            authorize=authorize,
            validate=validate,
            limit=Limiter(self.allowances),
            record=record,
            invoke=self.presence.around(invoke),
            escalate=partial(self.escalation.failed, policy.server),
        )
        return ServedTenant(
            tenant=tenant,
            policy=policy,
            fleet=fleet,
            directory=directory,
            listing=Listing(directory=directory, catalogues=fleet, policies=policy, statuses=fleet),
            validate=validate,
            pipeline=self._around(pipeline),
            follower=Follower(
                installation.revisions,
                policy,
                fleet,
                tenant=tenant.name,
                then=self._collect_issuers,
            ),
            tally=tally,
        )

    def _collect_issuers(self) -> None:
        """Put the issuers together; what stays the same stays the same object."""
        found: list[JwtIssuer] = []
        for name, served in self._by_name.items():
            declared = served.policy.declaration.issuers
            if name == DEFAULT_TENANT:
                found += declared
                continue
            kept = self._bound.get(name)
            if kept is None or kept[0] is not declared:
                kept = (declared, tuple(replace(issuer, tenant=name) for issuer in declared))
                self._bound[name] = kept
            found += kept[1]
        if list(map(id, found)) != list(map(id, self.issuers)):
            self.issuers = found


class _Servers:
    """The settings of a server, and why it is away."""

    def __init__(self, policy: PolicyInForce, fleet: Fleet) -> None:
        self.server = policy.server
        self._fleet = fleet

    def why_absent(self, name: str) -> str:
        """Return one line on why the server offers nothing, or not this tool, now."""
        status = self._fleet.status(name)
        if status is None:
            return f"server {name!r} is not declared"
        return _why(status)


def _why(status: ServerStatus) -> str:
    if status.reason:
        return f"server {status.name!r} is {status.state.in_words}: {status.reason}"
    return f"server {status.name!r} is {status.state.in_words} and does not offer it"


async def _remember_tools(fleet: Fleet, seen: SeenTools, tenant: str) -> None:
    stored: dict[str, tuple[ToolId, ...]] = {}
    catalogue: Catalogue = fleet.catalogue
    while True:
        for server, ids in catalogue.offered.items():
            if stored.get(server) != ids:
                stored[server] = ids
                await _remember(seen, tenant, server, _entries(catalogue, ids))
        catalogue = await fleet.changed(catalogue.version)


def _entries(catalogue: Catalogue, ids: Sequence[ToolId]) -> list[Tool | Item]:
    """Return what is to be remembered; no longer URI than every database takes as a key."""
    kept = [one for one in ids if len(one.name.encode()) <= MOST_REMEMBERED]
    return [catalogue.tools.get(one) or catalogue.items[one] for one in kept]


async def _remember(
    seen: SeenTools, tenant: str, server: str, tools: Sequence[Tool | Item]
) -> None:
    try:
        await seen.replace(tenant, server, tools, datetime.now(UTC))
    except StorageUnavailable as error:
        log.warning("tools on offer cannot be remembered", server=server, error=str(error))

"""The composition root: from settings to an open gateway.

    settings → declaration → database → audit → upstreams → pipeline → doors

Resources open in that order and close in reverse. Nothing else in remit puts things together.
"""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import anyio
import structlog

from remit.admin.change_record import ChangeRecord
from remit.admin.declaration import Loaded, load_declaration
from remit.admin.editor import Editor
from remit.admin.known_servers import unclaimed_package
from remit.admin.offers import report_offers
from remit.admin.revisions import Follower, declaration_in_force, latest_usable
from remit.admin.secret_files import session_key
from remit.calls.allowances import OwnAllowances, SharedAllowances
from remit.calls.authorize import Authorizer
from remit.calls.directory import Directory
from remit.calls.inforce import PolicyInForce
from remit.calls.invoke import Invoker
from remit.calls.limit import Allowances, Limiter
from remit.calls.listing import Listing
from remit.calls.pipeline import Pipeline
from remit.calls.record import Recorder
from remit.calls.validate import Validator
from remit.doors.addresses import Addresses
from remit.doors.api.needs import Services
from remit.doors.api.tenant import GatewayTenant, NamedTenants
from remit.doors.guard import Guard
from remit.doors.http import Application, create_app
from remit.doors.mcp.changes import CatalogueChanges, ListChanges
from remit.doors.mcp.http import McpEndpoint
from remit.doors.mcp.methods import ServerInfo
from remit.doors.mcp.mirrored import MirroredArguments
from remit.doors.mcp.protocol import McpDoor
from remit.doors.mcp.sessions import Sessions
from remit.doors.oauth import ProtectedResources
from remit.errors import Conflict, DeclarationError, StartupError, StorageUnavailable
from remit.identity.authenticate import Authenticator
from remit.identity.development import development_issuer
from remit.identity.jwt import Issuers, JwtVerifier
from remit.model.principals import DEFAULT_TENANT
from remit.model.servers import ServerStatus
from remit.model.tools import Tool, ToolId
from remit.servers.git.server import open_server as open_git
from remit.settings import Settings
from remit.storage.agents import Agents
from remit.storage.audit import AuditLog, open_audit
from remit.storage.database import Database, default_url, open_database
from remit.storage.epochs import Epochs
from remit.storage.keys import Keys
from remit.storage.limits import SlotsInDatabase
from remit.storage.notices import Notices
from remit.storage.revisions import Revisions
from remit.storage.seen import SeenTools
from remit.storage.users import Users
from remit.upstreams.catalogue import Catalogue
from remit.upstreams.fleet import BuiltinServer, Fleet, open_fleet

log = structlog.get_logger(__name__)


class OpenBuiltin(Protocol):
    """What opens a bundled server."""

    def __call__(self, args: Sequence[str], /, folder: Path) -> BuiltinServer:
        """Open it with its arguments, relative paths taken from *folder*."""
        ...


BUILTINS: Mapping[str, OpenBuiltin] = {"git": open_git}
"""The one registry of bundled servers: `builtin:` name to what opens it."""

POLL_EPOCHS = 0.5
"""Seconds between looks for changes that another process made, where nobody tells (R17: 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Declaration and state, without any server started."""

    settings: Settings
    loaded: Loaded
    policy: PolicyInForce
    database: Database
    keys: Keys
    agents: Agents
    users: Users
    revisions: Revisions
    seen: SeenTools


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """Everything a door needs, open."""

    installation: Installation
    audit: AuditLog
    fleet: Fleet
    directory: Directory
    listing: Listing
    pipeline: Pipeline
    follower: Follower
    authenticate: Authenticator = field(repr=False)

    async def reload(self) -> None:
        """Apply the file again and put the latest revision in force; what is wrong is logged.

        Nothing changes unless the file is valid and overwrites nobody (R18).
        """
        installation = self.installation
        try:
            await declaration_in_force(
                installation.revisions,
                DEFAULT_TENANT,
                load_declaration(installation.settings.config),
                author="serve",
                now=datetime.now(UTC),
            )
            await self.follower.follow()
        except (DeclarationError, Conflict, StorageUnavailable) as error:
            log.error("the declaration is not reloaded", problem=str(error))  # noqa: TRY400 - one line


def builtins_in(folder: Path) -> Mapping[str, Callable[[Sequence[str]], BuiltinServer]]:
    """Return the bundled servers, with relative paths of their arguments taken from *folder*."""
    return {name: partial(make, folder=folder) for name, make in BUILTINS.items()}


@asynccontextmanager
async def open_installation(
    settings: Settings, *, author: str, replace: bool = False, as_stored: bool = False
) -> AsyncGenerator[Installation]:
    """Open declaration and database; a file that changed becomes a revision (R18).

    Args:
        settings: Where they are.
        author: Who is recorded as the author of a new revision; empty to write none, and to
            decide under the number it would get.
        replace: Whether a changed file may overwrite revisions of the console or the API.
        as_stored: Whether the revision in force counts whatever the file says, as a worker wants
            that starts while others run.

    Raises:
        DeclarationError: The file is wrong, with every problem in it.
        Conflict: A changed file would overwrite newer revisions.
        StartupError: The database cannot be opened.
    """
    file = None if as_stored else load_declaration(settings.config)
    async with open_state(settings) as database:
        revisions = Revisions(database)
        if file is None:
            loaded, number = await latest_usable(revisions, DEFAULT_TENANT)
        else:
            loaded, number = await declaration_in_force(
                revisions,
                DEFAULT_TENANT,
                file,
                author=author,
                now=datetime.now(UTC),
                replace=replace,
            )
        yield Installation(
            settings=settings,
            loaded=loaded,
            policy=PolicyInForce(loaded.declaration, tenant=DEFAULT_TENANT, revision=number),
            database=database,
            keys=Keys(database),
            agents=Agents(database),
            users=Users(database),
            revisions=revisions,
            seen=SeenTools(database),
        )


@asynccontextmanager
async def open_state(settings: Settings) -> AsyncGenerator[Database]:
    """Open the database alone, whatever the file says.

    Raises:
        StartupError: It cannot be opened.
    """
    _make_state_folder(settings)
    url = settings.database_url or default_url(settings.config.absolute().parent)
    async with open_database(url) as database:
        yield database


def _make_state_folder(settings: Settings) -> None:
    try:
        settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Keys and the database must not follow `git add .`, which an agent may run (git_commit).
        ignore = settings.state / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        raise StartupError(
            f"cannot make the folder {str(settings.state)!r}: {error.strerror}; it holds database"
            " and journal, so make its place writable, or move the declaration elsewhere"
        ) from error


@asynccontextmanager
async def open_gateway(
    settings: Settings,
    *,
    author: str,
    development: bool = False,
    replace: bool = False,
    as_stored: bool = False,
) -> AsyncGenerator[Gateway]:
    """Open everything; returns before slow servers are up.

    Args:
        settings: Where everything is.
        author: As `open_installation` says.
        development: Whether tokens of `remit token issue` are accepted, too: only on loopback.
        replace: As `open_installation` says.
        as_stored: Likewise.

    Raises:
        DeclarationError: The file is wrong.
        Conflict: A changed file would overwrite newer revisions.
        StartupError: Database or journal cannot be opened.
    """
    async with (
        open_installation(
            settings, author=author, replace=replace, as_stored=as_stored
        ) as installation,
        open_audit(
            installation.database,
            settings.state,
            durability=installation.loaded.declaration.audit.durability,
        ) as audit,
        open_fleet(
            installation.loaded.declaration.servers,
            builtins=builtins_in(settings.config.absolute().parent),
            environ=os.environ,
            unclaimed=unclaimed_package,
        ) as fleet,
        _open_allowances(installation) as allowances,
        anyio.create_task_group() as tasks,
    ):
        tokens = _token_verifier(installation, development=development)
        gateway = await _assemble(installation, audit, fleet, tokens, allowances)
        tasks.start_soon(tokens.keep_fresh)
        notices = Notices(installation.database)
        tasks.start_soon(notices.listen)
        tasks.start_soon(_watch_epochs, Epochs(installation.database), notices, gateway)
        tasks.start_soon(_remember_tools, fleet, installation.seen)
        tasks.start_soon(report_offers, fleet, installation.policy)
        yield gateway
        tasks.cancel_scope.cancel()


def _token_verifier(installation: Installation, *, development: bool) -> JwtVerifier:
    settings, policy = installation.settings, installation.policy
    own = (development_issuer(settings.state),) if development else ()
    return JwtVerifier(
        Issuers(lambda: policy.declaration.issuers, own),
        folder=settings.config.absolute().parent,
        environ=os.environ,
    )


@asynccontextmanager
async def _open_allowances(installation: Installation) -> AsyncGenerator[Allowances]:
    """Open what calls are counted in: the shared store, or the database, or this memory alone."""
    url = installation.settings.shared_url
    if not url:
        yield SharedAllowances(SlotsInDatabase(installation.database))
    elif url == "memory://":
        yield OwnAllowances()
    else:
        # deferred: an optional extra, and slow to import
        from remit.storage.limits_redis import open_windows  # noqa: PLC0415

        async with open_windows(url) as windows:
            yield SharedAllowances(windows)


async def _assemble(
    installation: Installation,
    audit: AuditLog,
    fleet: Fleet,
    tokens: JwtVerifier,
    allowances: Allowances,
) -> Gateway:
    policy = installation.policy
    seen = [tool.id for tool in await installation.seen.all_tools(DEFAULT_TENANT)]
    directory = Directory(fleet, policy, seen)
    servers = _Servers(policy, fleet)
    pipeline = Pipeline(
        authorize=Authorizer(directory, policy),
        validate=Validator(fleet, servers),
        limit=Limiter(policy, allowances),
        record=Recorder(audit, revision=lambda: policy.revision, body_cap=policy.body_cap),
        invoke=Invoker(fleet),
    )
    return Gateway(
        installation=installation,
        audit=audit,
        fleet=fleet,
        directory=directory,
        listing=Listing(directory=directory, catalogues=fleet, policies=policy, statuses=fleet),
        pipeline=pipeline,
        follower=Follower(installation.revisions, policy, fleet, tenant=DEFAULT_TENANT),
        authenticate=Authenticator(
            installation.keys,
            agents=installation.agents,
            users=installation.users,
            tokens=tokens,
        ),
    )


class _Servers:
    """The settings of a server, and why it is away."""

    def __init__(self, policy: PolicyInForce, fleet: Fleet) -> None:
        self.server = policy.server
        self._fleet = fleet

    def why_absent(self, name: str) -> str:
        """Return one line on why the server offers nothing, or not this tool, now."""
        status = next((s for s in self._fleet.statuses() if s.name == name), None)
        if status is None:
            return f"server {name!r} is not declared"
        return _why(status)


def _why(status: ServerStatus) -> str:
    if status.reason:
        return f"server {status.name!r} is {status.state.value}: {status.reason}"
    return f"server {status.name!r} is {status.state.value} and does not offer it"


def build_door(gateway: Gateway) -> McpDoor:
    """Return the protocol part of the MCP door, which HTTP and stdio serve alike."""
    return McpDoor(
        pipeline=gateway.pipeline,
        listing=gateway.listing,
        changes=ListChanges(
            gateway.listing,
            [
                CatalogueChanges(gateway.fleet),
                gateway.authenticate,
                gateway.installation.policy,
            ],
        ),
        info=ServerInfo(name="remit", version=version("remit"), title="remit"),
        explains=gateway.installation.policy.explains_denials,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpDoors:
    """What serves HTTP.

    Attributes:
        stop: Ends open streams, so that a stopping server need not wait for their clients.
    """

    app: Application
    stop: Callable[[], None]


def build_http_doors(gateway: Gateway, *, loopback: bool) -> HttpDoors:
    """Return everything that is served on the one port.

    Args:
        gateway: Open, and kept open while the application serves.
        loopback: Whether only this machine can reach the port.

    Raises:
        StartupError: The key that seals session ids cannot be made.
    """
    policy = gateway.installation.policy
    guard = Guard(loopback=loopback, http=lambda: policy.declaration.http)
    resources = ProtectedResources(
        lambda: policy.declaration.issuers, Addresses(lambda: policy.declaration.http)
    )
    endpoint = McpEndpoint(
        door=build_door(gateway),
        authenticate=gateway.authenticate,
        sessions=Sessions(session_key(gateway.installation.settings.state / "session.key")),
        mirrored=MirroredArguments(gateway.listing, gateway.directory),
        guard=guard,
        resources=resources,
    )
    # FastAPI is imported where it is served, since no other command has any use for it.
    from remit.doors.api.application import build_api  # noqa: PLC0415 - see above

    app = create_app(
        mcp=endpoint,
        authenticate=gateway.authenticate,
        statuses=gateway.fleet,
        guard=guard,
        resources=resources,
        lifespan=endpoint.running,
        api=build_api(
            _api_services(gateway),
            authenticate=gateway.authenticate,
            guard=guard,
            resources=resources,
        ),
    )
    return HttpDoors(app=app, stop=endpoint.stop)


def _api_services(gateway: Gateway) -> Services:
    installation = gateway.installation
    tenant = GatewayTenant(
        key=DEFAULT_TENANT,
        id=DEFAULT_TENANT,
        policy=installation.policy,
        servers=gateway.fleet,
        lists=gateway.listing,
        directory=gateway.directory,
        follower=gateway.follower,
    )
    tenants = NamedTenants([tenant])
    return Services(
        tenants=tenants,
        keys=installation.keys,
        agents=installation.agents,
        users=installation.users,
        revisions=installation.revisions,
        editor=Editor(
            installation.revisions, installation.seen, environ=os.environ, follow=tenants.follow
        ),
        audit=gateway.audit,
        changes=ChangeRecord(gateway.audit),
        forget=gateway.authenticate.forget,
        now=lambda: datetime.now(UTC),
    )


async def _watch_epochs(epochs: Epochs, notices: Notices, gateway: Gateway) -> None:
    """Take over what other processes changed (R17).

    What cannot be read never widens access: the policy in force stays, known keys go on, new ones
    are refused.
    """
    seen: Mapping[str, int] = {}
    problem, told = "", 0
    while True:
        try:
            current = await epochs.current(DEFAULT_TENANT)
            if current.get("keys") != seen.get("keys"):
                gateway.authenticate.forget()
            if current.get("revisions") != seen.get("revisions"):
                await gateway.follower.follow()
            seen, problem = current, ""
        except StorageUnavailable as error:
            if str(error) != problem:
                problem = str(error)
                log.warning("changes cannot be read", error=problem)
        told = await notices.changed(told, within=POLL_EPOCHS)


async def _remember_tools(fleet: Fleet, seen: SeenTools) -> None:
    stored: dict[str, tuple[ToolId, ...]] = {}
    catalogue: Catalogue = fleet.catalogue
    while True:
        for server, ids in catalogue.by_server.items():
            if stored.get(server) != ids:
                stored[server] = ids
                await _remember(seen, server, [catalogue.tools[tool] for tool in ids])
        catalogue = await fleet.changed(catalogue.version)


async def _remember(seen: SeenTools, server: str, tools: Sequence[Tool]) -> None:
    try:
        await seen.replace(DEFAULT_TENANT, server, tools, datetime.now(UTC))
    except StorageUnavailable as error:
        log.warning("tools on offer cannot be remembered", server=server, error=str(error))

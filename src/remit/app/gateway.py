"""The open gateway: from settings to everything that a door needs.

    settings → declaration → database → audit → tenants, each with its upstreams → doors

Resources open in that order and close in reverse.
"""

import os
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

import structlog
from anyio.abc import TaskGroup

from remit.admin.change_record import ChangeRecord
from remit.admin.declaration import Loaded, load_declaration
from remit.admin.retention import AUTHOR, keep_to_retention
from remit.admin.revisions import declaration_in_force
from remit.app.alerts import keep_watching
from remit.app.allowances import open_shared_count
from remit.app.events import open_subscribers, start_telling
from remit.app.health import keep_healthy
from remit.app.installation import Installation, open_installation, record_seal
from remit.app.own_changes import application
from remit.app.restarts import Restarts
from remit.app.tenants import ServedTenant, ServedTenants
from remit.app.tokens import FreshVerifier, TokensWhenNeeded
from remit.app.tracing import open_tracing
from remit.calls.allowances import OwnAllowances, SharedAllowances
from remit.calls.limit import Allowances
from remit.calls.settling import looking_again
from remit.crew.delivery import Subscriber
from remit.errors import AuditUnavailable, Conflict, DeclarationError, StorageUnavailable
from remit.identity.authenticate import Authenticator
from remit.identity.credentials import Issuers
from remit.identity.development import development_issuer
from remit.identity.key_uses import KeyUses
from remit.model.principals import DEFAULT_TENANT
from remit.model.retention import Retention
from remit.settings import Settings
from remit.storage.audit import AuditLog, open_audit
from remit.storage.epochs import Epochs
from remit.storage.notices import Notices
from remit.upstreams.background import open_background
from remit.upstreams.warden import Warden, open_warden

log = structlog.get_logger(__name__)

FIRST_LOOK: Final = 1.0
"""Seconds that a look for changes may take (R17): a connection may be dead, and the store alive."""

LONGEST_LOOK: Final = 30.0
"""The same once looks have failed, since the store may be slow as well."""

POLL_EPOCHS = 0.5
"""Seconds between looks for changes that another process made, where nobody tells (R17: 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """Everything a door needs, open.

    Attributes:
        home: The tenant that the settings name.
        tenants: All that are served: of `remit serve` every one, of other commands that one.
        warden: Watches over the child processes of all.
        restarts: Restarts servers here and in every other gateway over the store.
    """

    installation: Installation
    audit: AuditLog
    home: ServedTenant
    tenants: ServedTenants
    restarts: Restarts
    authenticate: Authenticator = field(repr=False)
    warden: Warden = field(repr=False)

    async def reload(self) -> None:
        """Apply the file again and put the latest revision in force; what is wrong is logged.

        Nothing changes unless the file is valid and overwrites nobody (R18).
        """
        try:
            # Every worker does so at once, and some may have read the file before it changed again.
            await looking_again(self._apply_file)
            await self.home.follower.follow()
        except (DeclarationError, Conflict, StorageUnavailable, AuditUnavailable) as error:
            log.error("the declaration is not reloaded", problem=str(error))  # noqa: TRY400 - one line

    async def _apply_file(self) -> None:
        installation, changes = self.installation, ChangeRecord(self.audit)
        await declaration_in_force(
            installation.revisions,
            DEFAULT_TENANT,
            load_declaration(installation.settings.config),
            author=AUTHOR,
            now=datetime.now(UTC),
            recording=lambda reason, revision: changes.making(
                application(DEFAULT_TENANT, AUTHOR, reason, revision)
            ),
        )


@asynccontextmanager
async def open_gateway(
    settings: Settings,
    *,
    author: str,
    development: bool = False,
    replace: bool = False,
    as_stored: bool = False,
    everyone: bool = False,
    declared: Loaded | None = None,
) -> AsyncGenerator[Gateway]:
    """Open everything; returns before slow servers are up.

    Args:
        settings: Where everything is, and whose.
        author: As `open_installation` says.
        development: Whether tokens of `remit token issue` are accepted, too: only on loopback.
        replace: As `open_installation` says.
        as_stored: Likewise.
        everyone: Whether to serve every tenant, and not only the one that the settings name.
        declared: As `open_installation` says; nothing that others change is taken over then.

    Raises:
        DeclarationError: The declaration is wrong.
        Conflict: A changed file would overwrite newer revisions.
        NotFound: There is no such tenant.
        StartupError: Database or journal cannot be opened.
    """
    opening = partial(open_installation, settings, author=author, only_reads=False, may_begin=True)
    async with (
        opening(replace=replace, as_stored=as_stored, declared=declared) as installation,
        _open_record(installation) as audit,
        _open_allowances(installation) as allowances,
        open_tracing(os.environ) as around,
        open_warden() as warden,
        open_subscribers(settings, wanted=everyone) as subscribers,
        open_background() as tasks,
    ):
        tenants = ServedTenants(installation, audit, allowances, tasks, around, warden=warden)
        restarts = Restarts(Epochs(installation.database), tenants)
        await restarts.open()
        home = await tenants.open(installation.tenant, installation.policy)
        if everyone:
            await tenants.follow()
        uses = KeyUses(installation.keys)
        tokens = _start_verifier(installation, tenants, tasks, development=development)
        gateway = Gateway(
            installation=installation,
            audit=audit,
            home=home,
            tenants=tenants,
            restarts=restarts,
            authenticate=_authenticator(installation, tenants, tokens, uses.note),
            warden=warden,
        )
        tasks.start_soon(uses.keep_writing)
        if declared is None:
            await _start_keeping_up(tasks, gateway, subscribers, everyone=everyone)
        async with tenants.escalation.running(), tenants.data.running():
            yield gateway


async def _start_keeping_up(
    tasks: TaskGroup, gateway: Gateway, subscribers: Sequence[Subscriber], *, everyone: bool
) -> None:
    database, notices = gateway.installation.database, gateway.tenants.notices
    tasks.start_soon(notices.listen)
    tasks.start_soon(_watch_epochs, Epochs(database), notices, gateway, everyone)
    if everyone:
        tasks.start_soon(keep_to_retention, gateway.audit, lambda: _retentions(gateway.tenants))
        tasks.start_soon(
            gateway.tenants.data.keep_to_retention, lambda: _retentions(gateway.tenants)
        )
        await start_telling(subscribers, database, gateway.tenants, tasks)
        settings = gateway.installation.settings
        tasks.start_soon(keep_healthy, settings, database, gateway.tenants)
        tasks.start_soon(keep_watching, database, gateway.tenants)


def _retentions(tenants: ServedTenants) -> Mapping[str, Retention]:
    return {
        served.tenant.name: served.policy.declaration.audit.retention
        for served in tenants.all_served()
    }


def _start_verifier(
    installation: Installation, tenants: ServedTenants, tasks: TaskGroup, *, development: bool
) -> TokensWhenNeeded:
    settings = installation.settings
    own = (development_issuer(settings.state),) if development else ()
    issuers = Issuers(lambda: tenants.issuers, own)

    def open_verifier() -> FreshVerifier:
        # Deferred: it takes 10 MB of cryptography, and callers with keys need none of it.
        from remit.identity.jwt import JwtVerifier  # noqa: PLC0415 - see above

        folder = settings.config.absolute().parent
        return JwtVerifier(issuers, folder=folder, environ=os.environ, tenants=tenants)

    tokens = TokensWhenNeeded(open_verifier)
    tasks.start_soon(tokens.keep_fresh)
    return tokens


def _open_record(installation: Installation) -> AbstractAsyncContextManager[AuditLog]:
    settings = installation.settings
    return open_audit(
        installation.database,
        settings.state,
        durability=installation.loaded.declaration.audit.durability,
        signer=record_seal(settings),
    )


def _authenticator(
    installation: Installation,
    tenants: ServedTenants,
    tokens: TokensWhenNeeded,
    note_use: Callable[[str], None],
) -> Authenticator:
    return Authenticator(
        installation.keys,
        agents=installation.agents,
        users=installation.users,
        tokens=tokens,
        tenants=tenants,
        note_use=note_use,
    )


@asynccontextmanager
async def _open_allowances(installation: Installation) -> AsyncGenerator[Allowances]:
    async with open_shared_count(installation) as store:
        yield OwnAllowances() if store is None else SharedAllowances(store)


async def _watch_epochs(epochs: Epochs, notices: Notices, gateway: Gateway, everyone: bool) -> None:
    """Take over what other processes changed (R17).

    What cannot be read never widens access: the policy in force stays, known keys go on, new ones
    are refused.
    """
    seen: Mapping[tuple[str, str], int] = {}
    problem, told, patience = "", 0, FIRST_LOOK
    while True:
        try:
            current = await epochs.current(within=patience)
            patience = FIRST_LOOK
            changed = {key for key, value in current.items() if seen.get(key) != value}
            await _take_over(gateway, changed, everyone=everyone)
            gateway.restarts.take_over(current)
            seen, problem = current, ""
        except StorageUnavailable as error:
            patience = min(1.5 * patience, LONGEST_LOOK)  # a slow store is no dead connection
            if str(error) != problem:
                problem = str(error)
                log.warning("changes cannot be read", error=problem)
        told = await notices.epochs.changed(told, within=POLL_EPOCHS)


async def _take_over(
    gateway: Gateway, changed: Collection[tuple[str, str]], *, everyone: bool
) -> None:
    """Take over the changes of these tenants and topics."""
    topics = {topic for _, topic in changed}
    if "keys" in topics:
        gateway.authenticate.forget()
    if everyone and "tenants" in topics:
        await gateway.tenants.follow()
    for tenant, topic in changed:
        served = gateway.tenants.find(tenant)
        if topic == "revisions" and served is not None:
            await served.follower.follow()

"""Declaration and state of one tenant, without any server started."""

import errno
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import structlog

from remit.admin.declaration import Loaded, load_declaration
from remit.admin.revisions import declaration_in_force, latest_usable, parse_revision
from remit.admin.tenants import find_tenant
from remit.app.own_changes import application, making
from remit.calls.inforce import PolicyInForce
from remit.errors import StartupError
from remit.model.declaration import Declaration
from remit.model.principals import DEFAULT_TENANT
from remit.model.tenants import Tenant
from remit.settings import Settings
from remit.storage.agents import Agents
from remit.storage.cuts import Signer
from remit.storage.database import (
    Database,
    database_file,
    default_url,
    is_missing,
    open_database,
)
from remit.storage.keys import Keys
from remit.storage.revisions import Revisions
from remit.storage.seen import SeenTools
from remit.storage.tenants import Tenants
from remit.storage.users import Users

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The database, and the tenant that the settings name."""

    settings: Settings
    database: Database
    tenant: Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What one tenant declares, and the stores, which hold the state of all tenants.

    Attributes:
        tenant: The one that the settings name; its name goes with every question to a store.
        loaded: What counts.
        file: What the file says, where it was read.
    """

    settings: Settings
    tenant: Tenant
    loaded: Loaded
    file: Loaded | None
    policy: PolicyInForce
    database: Database
    tenants: Tenants
    keys: Keys
    agents: Agents
    users: Users
    revisions: Revisions
    seen: SeenTools


@asynccontextmanager
async def open_installation(
    settings: Settings,
    *,
    author: str,
    replace: bool = False,
    as_stored: bool = False,
    declared: Loaded | None = None,
    only_reads: bool = True,
    may_begin: bool = False,
) -> AsyncGenerator[Installation]:
    """Open declaration and database; a file that changed becomes a revision (R18).

    The file is the declaration of the tenant `default`; that of another is its latest revision.

    Args:
        settings: Where they are, and whose.
        author: Who is recorded as the author of a new revision; empty to write none, and to
            decide under the number it would get.
        replace: Whether a changed file may overwrite revisions of the console or the API.
        as_stored: Whether the revision in force counts whatever the file says, as a worker wants
            that starts while others run; the file is asked only where nothing was declared yet.
        declared: What counts instead of file and revisions; it is written nowhere, and decided
            under the number 0.
        only_reads: Whether a database on read-only storage will do where no revision is written.
        may_begin: Whether a database that is named may be new; what writes a revision may.

    Raises:
        DeclarationError: The declaration is wrong, with every problem in it.
        Conflict: A changed file would overwrite newer revisions.
        NotFound: There is no such tenant.
        StartupError: The database cannot be opened.
    """
    is_file = settings.tenant == DEFAULT_TENANT and not as_stored and declared is None
    file = load_declaration(settings.config) if is_file else None
    only_reads, may_begin = only_reads and not author, may_begin or bool(author)
    async with open_state(settings, only_reads=only_reads, may_begin=may_begin) as state:
        revisions = Revisions(state.database)
        if declared is not None:
            loaded, number = declared, 0
        elif state.tenant.name != DEFAULT_TENANT:
            loaded, number = await _latest(revisions, state.tenant)
        elif as_stored and await revisions.latest(DEFAULT_TENANT) is not None:
            loaded, number = await latest_usable(revisions, DEFAULT_TENANT)
        else:
            file = file or load_declaration(settings.config)
            loaded, number = await declaration_in_force(
                revisions,
                DEFAULT_TENANT,
                file,
                author=author,
                now=datetime.now(UTC),
                recording=lambda reason, revision: making(
                    state.database,
                    settings.state,
                    application(DEFAULT_TENANT, author, reason, revision),
                ),
                replace=replace,
            )
        yield _installation(state, loaded, number, file)


def _installation(state: State, loaded: Loaded, number: int, file: Loaded | None) -> Installation:
    database = state.database
    return Installation(
        settings=state.settings,
        tenant=state.tenant,
        loaded=loaded,
        file=file,
        policy=PolicyInForce(loaded.declaration, tenant=state.tenant.name, revision=number),
        database=database,
        tenants=Tenants(database),
        keys=Keys(database),
        agents=Agents(database),
        users=Users(database),
        revisions=Revisions(database),
        seen=SeenTools(database),
    )


async def _latest(revisions: Revisions, tenant: Tenant) -> tuple[Loaded, int]:
    """Return what a tenant without a file declares: nothing, before its first revision."""
    latest = await revisions.latest(tenant.name)
    if latest is None:
        return Loaded(declaration=Declaration()), 0
    return parse_revision(latest), latest.number


def url_of(settings: Settings) -> str:
    """Return where the database is: as the settings say, or in the state folder."""
    return settings.database_url or default_url(settings.state)


@asynccontextmanager
async def open_state(
    settings: Settings, *, only_reads: bool = True, may_begin: bool = False
) -> AsyncGenerator[State]:
    """Open the database alone, whatever the file says.

    Args:
        settings: Where it is, and whose state.
        only_reads: Whether a database on read-only storage will do; a change to it fails then.
        may_begin: As `open_installation` says.

    Raises:
        StartupError: It cannot be opened, or is not there.
        NotFound: There is no such tenant.
    """
    url = url_of(settings)
    if is_missing(url):
        if not may_begin:
            _need_place(settings)
        elif settings.database_named_by is not None:
            log.warning("a new database is made", file=str(database_file(url)))
    _make_state_folder(settings)
    async with open_database(url, only_reads=only_reads) as database:
        tenant = await find_tenant(Tenants(database), settings.tenant)
        yield State(settings=settings, database=database, tenant=tenant)


def _need_place(settings: Settings) -> None:
    """Refuse a database that is not where it is said to be: a new one would answer for it.

    Beside a declaration none is needed yet: there simply is nothing so far.
    """
    if (variable := settings.database_named_by) is not None:
        raise StartupError(
            f"there is no database {str(database_file(url_of(settings)))!r}, to which"
            f" {variable} leads: correct it, or begin with `remit serve`, which makes one"
        )
    if not settings.config.exists():
        raise StartupError(
            f"there is neither a declaration {str(settings.config)!r} nor a database beside it:"
            " name the declaration with --config"
        )


class SealWhenNeeded:
    """Opens what signs and knows markers when there is one, which is seldom."""

    def __init__(self, settings: Settings, trusted: Sequence[Path]) -> None:
        self._settings = settings
        self._trusted = trusted

    def sign(self, payload: bytes, /) -> str:
        """Return *payload* signed, as `RecordSeal` does."""
        return self._seal.sign(payload)

    def open(self, signed: str, /) -> bytes | None:
        """Return what was signed, or None, as `RecordSeal` does."""
        return self._seal.open(signed)

    @cached_property
    def _seal(self) -> Signer:
        # Deferred: it takes 10 MB of cryptography, and few records are ever cut.
        from remit.admin.record_seal import RecordSeal  # noqa: PLC0415 - see above

        settings = self._settings
        return RecordSeal(settings.state, master=settings.master_key, trusted=self._trusted)


def record_seal(settings: Settings, trusted: Sequence[Path] = ()) -> SealWhenNeeded:
    """Return what signs and knows the markers of the record.

    Args:
        settings: Where the key is.
        trusted: Files with public keys of others.
    """
    return SealWhenNeeded(settings, trusted)


def _make_state_folder(settings: Settings) -> None:
    try:
        settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Keys and the database must not follow `git add .`, which an agent may run (git_commit).
        ignore = settings.state / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        if error.errno == errno.EROFS and settings.state.is_dir():
            return  # a copy that is only read
        raise StartupError(
            f"cannot make the folder {str(settings.state)!r}: {error.strerror}; it holds database"
            " and journal, so make its place writable, or name another in REMIT_STATE_DIR"
        ) from error

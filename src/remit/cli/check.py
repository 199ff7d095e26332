"""`remit check`: everything that is wrong or suspicious in the configuration."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from remit.admin.check import Report, check_declaration, subjects_in_use
from remit.admin.declaration import Loaded, load_declaration
from remit.admin.exposed_files import exposed_files
from remit.admin.known_servers import unclaimed_package
from remit.app.bundled import builtins_in
from remit.app.installation import open_installation, open_state, url_of
from remit.cli.lines import print_json, say
from remit.cli.output import EXIT_NO, ConfigFlag, JsonFlag, TenantFlag, run, waiting
from remit.cli.servers import is_absent
from remit.errors import DeclarationError, Problem, StartupError, StorageUnavailable
from remit.model.counts import counted
from remit.model.declaration import Declaration
from remit.model.principals import DEFAULT_TENANT
from remit.model.servers import ServerStatus
from remit.settings import Settings
from remit.storage.agents import Agents
from remit.storage.database import database_file, files_beside, is_missing
from remit.storage.keys import Keys
from remit.upstreams.fleet import open_fleet


def check(
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    connect: Annotated[
        bool,
        typer.Option("--connect", help="Also start the servers and compare with what they offer."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Say everything that is wrong or suspicious in the declaration.

    That is the file, and for a tenant other than `default` the revision in force.
    Exit status 1 on an error, 0 with warnings alone. Without --connect no server is started.
    """
    settings = Settings.read(config, tenant=tenant)
    try:
        loaded = loaded_of(settings)
        asked = run(lambda: _ask(loaded.declaration, settings)) if connect else _Asked()
        now = datetime.now(UTC)
        kept = run(lambda: _look_at_state(settings, now))
        report = check_declaration(
            loaded,
            offered=asked.offered,
            environ=os.environ,
            now=now,
            in_use=kept.in_use,
            folder=settings.config.absolute().parent,
        )
        told = [problem for status in asked.statuses for problem in _told_by(status, loaded)]
        report = replace(report, warnings=(*report.warnings, *told, *kept.problems))
    except DeclarationError as error:
        report = Report(errors=error.problems, warnings=(), roles=0, grants=0)
    if as_json:
        print_json(report.to_json())
    else:
        is_file = settings.tenant == DEFAULT_TENANT
        _print(report, str(settings.config) if is_file else f"tenant {settings.tenant}")
    if report.errors:
        raise typer.Exit(EXIT_NO)


def loaded_of(settings: Settings) -> Loaded:
    """Return the file, or what is in force for a tenant that has none.

    Raises:
        DeclarationError: It is wrong.
    """
    if settings.tenant == DEFAULT_TENANT:
        return load_declaration(settings.config)
    found = run(lambda: _in_force(settings))
    if isinstance(found, DeclarationError):
        raise found
    return found


async def _in_force(settings: Settings) -> Loaded | DeclarationError:
    try:
        async with open_installation(settings, author="") as installation:
            return installation.loaded
    except DeclarationError as error:
        return error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What the servers said; nothing was asked by default."""

    offered: Mapping[str, frozenset[str]] | None = None
    statuses: Sequence[ServerStatus] = ()


async def _ask(declaration: Declaration, settings: Settings) -> _Asked:
    with waiting("connecting to the servers"):
        async with open_fleet(
            declaration.servers,
            builtins=builtins_in(settings.config.absolute().parent),
            environ=os.environ,
            unclaimed=unclaimed_package,
        ) as fleet:
            await fleet.settled()
            return _Asked(
                offered={
                    server: frozenset(tool.name for tool in ids)
                    for server, ids in fleet.catalogue.offered.items()
                },
                statuses=fleet.statuses(),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What database and files say.

    Attributes:
        in_use: As `check_declaration` takes it.
    """

    in_use: frozenset[str] | None = None
    problems: Sequence[Problem] = ()


async def _look_at_state(settings: Settings, now: datetime) -> _Kept:
    """Look at who there is and at who can read the files; make no database."""
    url = url_of(settings)
    try:
        file = database_file(url)
        in_use = None
        if not is_missing(url):
            async with open_state(settings) as state:
                keys = await Keys(state.database).all_keys(state.tenant.name)
                agents = await Agents(state.database).all_agents(state.tenant.name)
            in_use = subjects_in_use(keys, agents, now)
    except (StartupError, StorageUnavailable) as error:
        away = Problem(
            code="database-away",
            message=f"who uses it cannot be looked up: {error}",
            file=str(settings.config),
            remedy="start the database, or correct REMIT_DATABASE_URL",
        )
        return _Kept(problems=(away, *exposed_files(settings.state)))
    side = files_beside(file) if file is not None else ()
    return _Kept(in_use=in_use, problems=tuple(exposed_files(settings.state, side)))


def _told_by(status: ServerStatus, loaded: Loaded) -> Iterator[Problem]:
    """Give what keeps a server away, and what is odd about its list."""
    line = loaded.positions.get(f"mcp_servers.{status.name}", 0)
    if is_absent(status, loaded.declaration):
        yield Problem(
            code="server-absent",
            message=f"server {status.name!r} is {status.state.in_words}: {status.reason}",
            remedy="repair its entry, or say `enabled: false`",
            file=loaded.file,
            line=line,
        )
    for note in status.notes:
        yield Problem(
            code="server-note",
            message=f"server {status.name!r}: {note}",
            remedy="correct its entry, or tell whoever wrote the server",
            file=loaded.file,
            line=line,
        )


def _print(report: Report, file: str) -> None:
    _print_problems("error", report.errors)
    _print_problems("warning", report.warnings)
    say(
        f"{file}: {counted(report.roles, 'role')}, {counted(report.grants, 'grant')},"
        f" {counted(len(report.errors), 'error')}, {counted(len(report.warnings), 'warning')}"
    )


def _print_problems(kind: str, problems: Sequence[Problem]) -> None:
    for problem in problems:
        where = f"{problem.file}:{problem.line}: " if problem.line else f"{problem.file}: "
        say(f"{where}{kind}: {problem.message} [{problem.code}]")
        if problem.remedy:
            say(f"    → {problem.remedy}")

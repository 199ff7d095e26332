"""`remit apply`: make a file what counts, after a look at what that changes."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from remit.admin.changes import AuthorityChange
from remit.admin.declaration import Loaded, load_declaration
from remit.admin.plans import Plan, difference_between
from remit.admin.revisions import apply_file, standing_of
from remit.app.installation import open_state
from remit.app.own_changes import APPLY
from remit.app.subjects import subjects_in
from remit.cli.changes import making, operator
from remit.cli.lines import print_json, say
from remit.cli.output import ConfigFlag, JsonFlag, TenantFlag, run
from remit.cli.remote import KeyFlag, Remote, UrlFlag, reach
from remit.cli.remote_values import difference_of
from remit.client import declaration
from remit.errors import Conflict
from remit.model.counts import counted
from remit.settings import DEFAULT_CONFIG, Settings
from remit.storage.revisions import Revisions
from remit.storage.seen import SeenTools


def apply(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A declaration, as remit.yaml.")],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change and change nothing.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Overwrite newer revisions of console, API and rollback."),
    ] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why, in a line.")] = "",
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Make FILE the declaration in force, in every gateway on this database within 2 s.

    Shows what changes, and who gains or loses which tool. A file that is wrong changes nothing.
    Exit status 1 if it is refused.
    """
    settings = settings_beside(file, config, tenant)
    remote = reach(url, key, tenant)
    loaded = load(file, may_be_masked=remote is not None)
    if remote is not None:
        plan = _applied(remote, loaded, reason, dry_run=dry_run)
    else:
        plan = run(lambda: _apply(settings, loaded, reason, dry_run=dry_run, replace=replace))
    if as_json:
        print_json(plan.to_json())
    else:
        _print(plan, dry_run=dry_run)
    if plan.conflict:
        for line in plan.conflict.split("\n"):
            say(f"error: {line}", err=True)
        raise typer.Exit(1)


def _applied(remote: Remote, loaded: Loaded, reason: str, *, dry_run: bool) -> Plan:
    """Apply over the API, to what is declared when we look; what came after that is not undone."""
    done = remote.ask(
        declaration.apply(
            loaded.declaration.document,
            if_match=remote.ask_tagged(declaration.get()).etag,
            dry_run=dry_run,
            reason=reason or f"from {Path(loaded.file).name}",
        )
    )
    return Plan(revision=done.revision, is_written=done.written, difference=difference_of(done))


def settings_beside(file: Path, config: Path | None, tenant: str | None) -> Settings:
    """Return whose state is meant: that of the declaration in use, else that beside *file*."""
    named = config or os.environ.get("REMIT_CONFIG") or os.environ.get("MCP_CONFIG_PATH")
    if named or Path(DEFAULT_CONFIG).exists():
        return Settings.read(config, tenant=tenant)
    return Settings.read(file, tenant=tenant)


def load(file: Path, *, may_be_masked: bool = False) -> Loaded:
    """Read a declaration; what is wrong with it ends the command with a line each."""

    async def read() -> Loaded:
        return load_declaration(file, may_be_masked=may_be_masked)

    return run(read)


async def _apply(
    settings: Settings, loaded: Loaded, reason: str, *, dry_run: bool, replace: bool
) -> Plan:
    async with open_state(settings, may_begin=True) as state:
        store, tenant = Revisions(state.database), state.tenant.name
        new = loaded.declaration
        standing = await standing_of(store, tenant, new.document)
        difference = await difference_between(
            standing.latest,
            new,
            seen=[tool.id for tool in await SeenTools(state.database).all_tools(tenant)],
            subjects=subjects_in(state),
        )
        if dry_run:
            conflict = ""
            if standing.overwrites and not replace:
                conflict = "would be refused: others wrote newer revisions; see --replace"
            number = standing.number + (not standing.is_latest)
            return Plan(revision=number, is_written=False, difference=difference, conflict=conflict)
        why = reason or f"from {Path(loaded.file).name}"
        try:
            async with making(state, APPLY, {"name": "declaration"}, reason=why) as progress:
                written = await apply_file(
                    store,
                    tenant,
                    loaded,
                    author=operator(),
                    reason=why,
                    now=datetime.now(UTC),
                    replace=replace,
                )
                progress.revision = written.number
        except Conflict as error:
            return Plan(
                revision=standing.number,
                is_written=False,
                difference=difference,
                conflict=str(error),
            )
        return Plan(
            revision=written.number,
            is_written=written.number != standing.number,
            difference=difference,
        )


def _print(plan: Plan, *, dry_run: bool) -> None:
    for change in plan.difference.changes:
        say(str(change))
    for shift in plan.difference.authority:
        say(str(shift))
    if plan.conflict:
        return
    if not plan.difference.changes:
        say(f"no change: revision {plan.revision} says the same")
        return
    told = (
        f"{counted(len(plan.difference.changes), 'change')}, {_shifts(plan.difference.authority)}"
    )
    if dry_run:
        say(f"{told}; would be revision {plan.revision}, nothing was written")
    else:
        say(f"{told}; revision {plan.revision} is in force")


def _shifts(authority: Sequence[AuthorityChange]) -> str:
    gained = sum(change.gains for change in authority)
    lost = len(authority) - gained
    return f"{counted(gained, 'tool')} gained, {counted(lost, 'tool')} lost"

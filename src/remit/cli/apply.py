"""`remit apply`: make a file what counts, after a look at what that changes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from remit.admin.changes import (
    AuthorityChange,
    DocumentChange,
    authority_changes,
    document_changes,
    known_tools,
)
from remit.admin.declaration import Loaded, load_declaration
from remit.admin.revisions import apply_file, parse_revision, standing_of
from remit.app.installation import State, open_state
from remit.cli.output import ConfigFlag, JsonFlag, TenantFlag, counted, print_json, run
from remit.errors import Conflict, DeclarationError
from remit.model.declaration import Declaration
from remit.model.revisions import Revision
from remit.policy.snapshot import compile_snapshot
from remit.settings import DEFAULT_CONFIG, Settings
from remit.storage.revisions import Revisions
from remit.storage.seen import SeenTools


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What applying a file does, or did.

    Attributes:
        revision: The number that counts afterwards.
        is_written: Whether it was made by this.
        conflict: Why it would be refused, or empty.
    """

    revision: int
    is_written: bool
    changes: Sequence[DocumentChange]
    authority: Sequence[AuthorityChange]
    conflict: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the shape of `--json`."""
        return {
            "revision": self.revision,
            "written": self.is_written,
            "changes": [
                {"path": change.path, "kind": change.kind, "value": change.value}
                for change in self.changes
            ],
            "authority": [
                {
                    "subject": change.subject,
                    "tool": str(change.tool),
                    "change": "gains" if change.gains else "loses",
                    "rule": change.rule,
                    "reason": change.reason,
                }
                for change in self.authority
            ],
            "conflict": self.conflict,
        }


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
    as_json: JsonFlag = False,
) -> None:
    """Make FILE the declaration that counts, for every gateway on this database within seconds.

    Shows what changes, and who gains or loses which tool. A file that is wrong changes nothing.
    Exit status 1 if it is refused.
    """
    settings = settings_beside(file, config, tenant)
    loaded = load(file)
    plan = run(lambda: _apply(settings, loaded, reason, dry_run=dry_run, replace=replace))
    if as_json:
        print_json(plan.to_json())
    else:
        _print(plan, dry_run=dry_run)
    if plan.conflict:
        for line in plan.conflict.splitlines():
            typer.echo(f"error: {line}", err=True)
        raise typer.Exit(1)


def settings_beside(file: Path, config: Path | None, tenant: str | None) -> Settings:
    """Return whose state is meant: that of the declaration in use, else that beside *file*."""
    named = config or os.environ.get("REMIT_CONFIG") or os.environ.get("MCP_CONFIG_PATH")
    if named or Path(DEFAULT_CONFIG).exists():
        return Settings.read(config, tenant=tenant)
    return Settings.read(file, tenant=tenant)


def load(file: Path) -> Loaded:
    """Read a declaration; what is wrong with it ends the command with a line each."""

    async def read() -> Loaded:
        return load_declaration(file)

    return run(read)


async def _apply(
    settings: Settings, loaded: Loaded, reason: str, *, dry_run: bool, replace: bool
) -> Plan:
    async with open_state(settings) as state:
        store, tenant = Revisions(state.database), state.tenant.name
        new = loaded.declaration
        standing = await standing_of(store, tenant, new.document)
        latest = standing.latest
        changes = document_changes({} if latest is None else latest.document, new.document)
        authority = await _authority(state, latest, new)
        if dry_run:
            conflict = ""
            if standing.newer and not standing.is_latest and not replace:
                conflict = "would be refused: others wrote newer revisions; see --replace"
            number = standing.number + (not standing.is_latest)
            return Plan(
                revision=number,
                is_written=False,
                changes=changes,
                authority=authority,
                conflict=conflict,
            )
        try:
            written = await apply_file(
                store,
                tenant,
                loaded,
                author="cli",
                reason=reason or f"from {Path(loaded.file).name}",
                now=datetime.now(UTC),
                replace=replace,
            )
        except Conflict as error:
            return Plan(
                revision=standing.number,
                is_written=False,
                changes=changes,
                authority=authority,
                conflict=str(error),
            )
        return Plan(
            revision=written.number,
            is_written=written.number != standing.number,
            changes=changes,
            authority=authority,
        )


async def _authority(
    state: State, latest: Revision | None, new: Declaration
) -> Sequence[AuthorityChange]:
    """Ask both policies about every tool that is declared, known to be offered, or ever seen."""
    now, tenant = datetime.now(UTC), state.tenant.name
    old = _declaration_of(latest)
    seen = {tool.id for tool in await SeenTools(state.database).all_tools(tenant)}
    before, after = (
        compile_snapshot(declaration, tenant=tenant, revision=number, now=now)
        for number, declaration in enumerate((old, new))
    )
    return authority_changes(before, after, seen | known_tools(old) | known_tools(new))


def _declaration_of(latest: Revision | None) -> Declaration:
    """Return what is declared now; nothing where nothing is, or where it cannot be used."""
    try:
        return Declaration() if latest is None else parse_revision(latest).declaration
    except DeclarationError:
        return Declaration()


def _print(plan: Plan, *, dry_run: bool) -> None:
    for change in plan.changes:
        typer.echo(str(change))
    for shift in plan.authority:
        typer.echo(str(shift))
    if plan.conflict:
        return
    if not plan.changes:
        typer.echo(f"no change: revision {plan.revision} says the same")
        return
    told = f"{counted(len(plan.changes), 'change')}, {_shifts(plan.authority)}"
    if dry_run:
        typer.echo(f"{told}; would be revision {plan.revision}, nothing was written")
    else:
        typer.echo(f"{told}; revision {plan.revision} is in force")


def _shifts(authority: Sequence[AuthorityChange]) -> str:
    gained = sum(change.gains for change in authority)
    lost = len(authority) - gained
    return f"{counted(gained, 'tool')} gained, {counted(lost, 'tool')} lost"

"""`remit revisions`, `rollback` and `export`: the history of the declaration (R18)."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from remit.admin.changes import DocumentChange, document_changes
from remit.admin.revisions import as_yaml, roll_back
from remit.admin.secret_files import write_secret
from remit.app.installation import open_state
from remit.cli.changes import making, operator
from remit.cli.lines import json_text, print_document, print_json, say
from remit.cli.output import ConfigFlag, JsonFlag, TenantFlag, fail, print_entries, run
from remit.cli.remote import KeyFlag, Remote, UrlFlag, reach
from remit.cli.remote_values import difference_of, revision_of
from remit.client import declaration
from remit.client import revisions as client_revisions
from remit.errors import StartupError
from remit.model.revisions import Revision, RevisionSummary
from remit.settings import Settings
from remit.storage.revisions import Revisions

COLUMNS = ("number", "time", "author", "reason", "digest")

NumberArgument = Annotated[int, typer.Argument(metavar="N", min=1, help="Which revision.")]
MaybeNumber = Annotated[
    int | None,
    typer.Argument(metavar="[N]", min=1, help="Which revision; the current one if none."),
]


def revisions(
    number: Annotated[
        int | None, typer.Argument(metavar="[N]", min=1, help="Show this one and what it changed.")
    ] = None,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the declaration's history, newest first, or one revision of it."""
    settings, remote = Settings.read(config, tenant=tenant), reach(url, key, tenant)
    if number is None:
        found = (
            run(lambda: _all(settings))
            if remote is None
            else [revision_of(one) for one in remote.all_items(client_revisions.list_all())]
        )
        entries = [_entry(revision) for revision in found]
        rows = [{**entry, "digest": str(entry["digest"])[:12]} for entry in entries]
        print_entries(entries, COLUMNS, rows, empty="nothing was declared yet", as_json=as_json)
        return
    if remote is not None:
        one, changes = _asked(remote, number)
    else:
        one, changes = run(lambda: _with_its_changes(settings, number))
    if as_json:
        print_json({**_entry(one), "document": one.document})
        return
    for name, value in _entry(one).items():
        say(f"{name}: {value}")
    for change in changes:
        say(str(change))


def rollback(
    number: NumberArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, in a line.")] = "",
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Make what revision N says the current revision again, as a new one.

    The file stays as it is: it is refused until it says the same, or is applied with --replace.
    """
    settings = Settings.read(config, tenant=tenant)
    if (remote := reach(url, key, tenant)) is not None:
        done = remote.ask(client_revisions.rollback(number, reason=reason))
        written = revision_of(remote.ask(client_revisions.get(done.revision)))
    else:
        written = run(lambda: _roll_back(settings, number, reason))
    if as_json:
        print_json(_entry(written))
    else:
        say(f"revision {written.number} says what revision {number} said, and is in force")


def export(
    number: MaybeNumber = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of printing it.")
    ] = None,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, which `apply` takes, too.")
    ] = False,
) -> None:
    """Write the current declaration, or that of revision N, as YAML that `apply` takes."""
    settings = Settings.read(config, tenant=tenant)
    if (remote := reach(url, key, tenant)) is not None:
        text = (
            _as_json(remote.ask(declaration.get(revision=number)))
            if as_json
            else remote.ask(declaration.text(revision=number))
        )
    else:
        document = run(lambda: _one(settings, number)).document
        text = _as_json(document) if as_json else as_yaml(document)
    if output is None:
        print_document(text)
        return
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        write_secret(beside, text)
        beside.replace(output)
    except (OSError, StartupError) as error:
        beside.unlink(missing_ok=True)
        why = error.strerror if isinstance(error, OSError) else str(error)
        fail(f"cannot write {str(output)!r}: {why}")


async def _all(settings: Settings) -> Sequence[RevisionSummary]:
    async with open_state(settings) as state:
        return await Revisions(state.database).summaries(state.tenant.name)


async def _one(settings: Settings, number: int | None) -> Revision:
    async with open_state(settings) as state:
        store = Revisions(state.database)
        if number is not None:
            return await store.get_revision(state.tenant.name, number)
        latest = await store.latest(state.tenant.name)
        if latest is None:
            fail("nothing was declared yet: `remit apply FILE` or `remit serve` does")
        return latest


async def _with_its_changes(
    settings: Settings, number: int
) -> tuple[Revision, Sequence[DocumentChange]]:
    async with open_state(settings) as state:
        store, tenant = Revisions(state.database), state.tenant.name
        one = await store.get_revision(tenant, number)
        before = await store.get_revision(tenant, number - 1) if number > 1 else None
        return one, document_changes({} if before is None else before.document, one.document)


def _asked(remote: Remote, number: int) -> tuple[Revision, Sequence[DocumentChange]]:
    shown = remote.ask(client_revisions.get(number))
    document = remote.ask(declaration.get(revision=number))
    difference = difference_of(remote.ask(client_revisions.diff(number)))
    return revision_of(shown, document), difference.changes


async def _roll_back(settings: Settings, number: int, reason: str) -> Revision:
    why = reason or f"rollback to revision {number}"
    async with (
        open_state(settings) as state,
        making(state, "revisions.rollback", {"name": f"revision {number}"}, reason=why) as progress,
    ):
        written = await roll_back(
            Revisions(state.database),
            state.tenant.name,
            number,
            author=operator(),
            reason=why,
            now=datetime.now(UTC),
        )
        progress.revision = written.number
        return written


def _as_json(document: Mapping[str, object]) -> str:
    return json_text(document, indent=2) + "\n"


def _entry(revision: RevisionSummary) -> dict[str, object]:
    return {
        "number": revision.number,
        "time": revision.created.astimezone(UTC).isoformat(timespec="seconds"),
        "author": revision.author,
        "reason": revision.reason,
        "digest": revision.digest,
    }

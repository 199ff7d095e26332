"""`remit init`: write `remit.yaml`, anew or from the files of other programs."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from remit.admin.check import Report
from remit.admin.imports.gather import Imported, gather
from remit.admin.imports.notes import Note
from remit.admin.imports.proposals import Offers, propose
from remit.admin.imports.writing import document_of, write_new
from remit.admin.known_servers import hints_by, unclaimed_package
from remit.app.bundled import builtins_in
from remit.cli.lines import print_json, say
from remit.cli.new_server import write_server
from remit.cli.output import (
    EXIT_USAGE,
    ConfigFlag,
    JsonFlag,
    exit_status,
    fail,
    print_table,
    run,
    waiting,
)
from remit.errors import DeclarationError, Problem, StartupError
from remit.model.counts import counted
from remit.model.servers import ServerStatus
from remit.model.tools import Hints
from remit.settings import Settings
from remit.upstreams.fleet import open_fleet


def init(
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="More files, after --from.")
    ] = None,
    *,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", metavar="FILE", help="The MCP configuration of another program; repeatable."
        ),
    ] = None,
    connect: Annotated[
        bool,
        typer.Option("--connect", help="Also start the servers, and ask them what they offer."),
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(
            "--server", metavar="NAME", help="Write a server of your own to start from instead."
        ),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option("--role", metavar="ROLE", help="With --server: who may use it."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    config: ConfigFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the declaration: a first one to start from, or what other programs have.

    --from reads the files of clients, editors and gateways (JSON with comments, YAML, TOML), says
    what was changed or left out and why, and proposes roles from what tools say of themselves.
    Secrets in clear are never written. Exit status 1 if nothing was written.

    --server writes NAME_server.py, a small server in Python, and declares it with a role.
    """
    path = Settings.read(config).config
    named = [*(source or []), *(more or [])]
    if server is not None:
        if named or connect or force:
            fail("--server goes with --role, --config and --json alone", EXIT_USAGE)
        write_server(path, server, role, as_json=as_json)
        return
    if role is not None:
        fail("--role says who may use what --server writes: name it", EXIT_USAGE)
    if more and not source:
        fail("name the files to read with --from", EXIT_USAGE)
    if connect and not named:
        fail("--connect asks the servers that --from finds: name a file", EXIT_USAGE)
    if not force and path.exists():
        _refuse_existing(path)
    made = _imported(named, path, connect=connect, as_json=as_json) if named else _starter()
    _write(path, made.text, force=force)
    if as_json:
        print_json({"config": str(path), **made.to_json()})
    else:
        _print(path, made)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What was made, and what is to be said of it."""

    text: str = field(repr=False)
    imported: Imported | None = None
    notes: Sequence[Note] = ()

    def to_json(self) -> dict[str, object]:
        imported = self.imported or Imported(servers=(), notes=(), variables={})
        return {
            "servers": [
                {
                    "name": server.name,
                    "was": server.was,
                    "transport": server.config.transport.value,
                    "enabled": server.config.enabled,
                    "file": server.file,
                    "line": server.line,
                }
                for server in imported.servers
            ],
            "notes": [note.to_json() for note in self.notes],
            "variables": [
                {"name": name, "servers": servers} for name, servers in imported.variables.items()
            ],
        }


def _starter() -> _Made:
    text = files("remit.admin").joinpath("defaults", "starter.yaml").read_text(encoding="utf-8")
    return _Made(text=text)


def _imported(named: Sequence[Path], path: Path, *, connect: bool, as_json: bool) -> _Made:
    try:
        imported = gather(named)
    except DeclarationError as error:
        _tell(error.problems, as_json=as_json)
        fail(f"nothing was written to {path}")
    known = {server.name: hints_by(server.config) for server in imported.servers}
    offers: dict[str, Mapping[str, Hints]] = {
        name: hints for name, hints in known.items() if hints is not None
    }
    folder = path.absolute().parent
    asked = run(lambda: _ask(imported, folder)) if connect else _Asked()
    offers |= asked.offers
    proposal = propose(imported.servers, offers)
    notes = [*imported.notes, *asked.notes, *_unknown(imported, proposal.unknown)]
    return _Made(text=document_of(imported, proposal), imported=imported, notes=notes)


def _tell(problems: Sequence[Problem], *, as_json: bool) -> None:
    """Say why files are refused, as `remit check` does."""
    if as_json:
        print_json(Report(errors=tuple(problems), warnings=(), roles=0, grants=0).to_json())
        return
    for problem in problems:
        where = f"{problem.file}:{problem.line}" if problem.line else problem.file
        say(f"{where}: error: {problem.message} [{problem.code}]", err=True)
        if problem.remedy:
            say(f"    → {problem.remedy}", err=True)


def _unknown(imported: Imported, names: Sequence[str]) -> list[Note]:
    return [
        Note(
            code="unknown-tools",
            message="what it offers is not known here: only admin may use it",
            file=server.file,
            line=server.line,
            server=server.was,
            remedy="import it with --connect, or name its tools in the roles yourself",
        )
        for server in imported.servers
        if server.name in names
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What the servers said; nothing was asked by default."""

    offers: Offers = field(default_factory=dict[str, Mapping[str, Hints]])
    notes: Sequence[Note] = ()


async def _ask(imported: Imported, folder: Path) -> _Asked:
    declared = {server.name: server.config for server in imported.servers}
    with waiting("connecting to the servers"):
        async with open_fleet(
            declared,
            builtins=builtins_in(folder),
            environ=os.environ,
            unclaimed=unclaimed_package,
        ) as fleet:
            await fleet.settled()
            statuses = {status.name: status for status in fleet.statuses()}
            catalogue = fleet.catalogue
    offers = {
        server: {tool.name: catalogue.tools[tool].hints for tool in tools}
        for server, tools in catalogue.by_server.items()
    }
    return _Asked(offers=offers, notes=_absent(imported, statuses, offers))


def _absent(imported: Imported, statuses: Mapping[str, ServerStatus], offers: Offers) -> list[Note]:
    return [
        Note(
            code="careful",
            message=f"could not be asked: it is {status.state.in_words}, {status.reason}",
            file=server.file,
            line=server.line,
            server=server.was,
            remedy="repair it, and see `remit check --connect`",
        )
        for server in imported.servers
        if server.config.enabled and server.name not in offers
        for status in [statuses[server.name]]
    ]


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        is_written = write_new(path, text, replace=force)
    except StartupError as error:
        fail(str(error), exit_status(error))
    if not is_written:
        _refuse_existing(path)


def _refuse_existing(path: Path) -> None:
    fail(f"{path} is there already, and stays as it is; replace it with --force")


def _print(path: Path, made: _Made) -> None:
    imported = made.imported
    if imported is not None:
        rows = [
            [server.name, server.config.transport.value, f"{server.file}:{server.line}"]
            for server in imported.servers
        ]
        print_table(["server", "transport", "from"], rows, empty="")
        say("")
        for note in made.notes:
            where = f"{note.file}:{note.line}" if note.line else note.file
            what = " ".join(part for part in (note.server, note.field) if part)
            message = f"{what}: {note.message}" if what else note.message
            say(f"{where}: {message} [{note.code}]")
            if note.remedy:
                say(f"    → {note.remedy}")
        if made.notes:
            say("")
    servers = counted(len(imported.servers), "server") if imported is not None else "a first one"
    say(f"wrote {path}: {servers}, roles reader, writer and admin")
    if imported is not None and imported.variables:
        say(f"set in the environment of remit: {', '.join(imported.variables)}")
    say("next: `remit check`, then `remit serve`")

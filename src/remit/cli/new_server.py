"""`remit init --server NAME`: a server of one's own to start from, declared and callable."""

import re
import shlex
import shutil
import sys
from pathlib import Path

from remit.admin.declaration import Loaded, load_declaration
from remit.admin.imports.writing import write_new
from remit.admin.names import role_name_problem
from remit.admin.new_server import EXAMPLE, TOOL, NewServer
from remit.admin.yaml_source import text_of
from remit.cli.lines import print_json, say, say_text
from remit.cli.output import EXIT_USAGE, exit_status, fail
from remit.errors import DeclarationError, StartupError
from remit.model.servers import name_problem


def write_server(path: Path, name: str, role: str | None, *, as_json: bool) -> None:
    """Write a server's program beside the declaration at *path*, and declare it there.

    Args:
        path: The declaration; a first one is written where there is none.
        name: Of the server.
        role: Who is granted its tool; a new role of the server's name where it is None.
        as_json: Print JSON.
    """
    wrong_role = role_name_problem(role) if role is not None else None
    for given, wrong in ((name, name_problem(name)), (role, wrong_role)):
        if wrong is not None:
            fail(f"{given!r} {wrong}; choose another name", EXIT_USAGE)
    loaded = _loaded(path)
    _refuse_known(loaded, path, name, role)
    file = path.parent / f"{re.sub(r'[-.]', '_', name)}_server.py"
    server = NewServer(
        name=name, role=role or name, command=_interpreter(), script=_named_from_here(file)
    )
    declared = server.declared_in(text_of(path) if path.exists() else None)
    try:
        if not write_new(file, server.program, replace=False):
            fail(f"{file} is there already, and stays as it is; choose another name, or move it")
        if declared is not None:
            # A link to the declaration stays one.
            write_new(path.resolve(), declared, replace=True)
    except StartupError as error:
        fail(str(error), exit_status(error))
    if as_json:
        _print_json(path, file, server, is_declared=declared is not None)
    else:
        _print(path, file, server, is_declared=declared is not None)


def _loaded(path: Path) -> Loaded | None:
    if not path.exists():
        return None
    try:
        return load_declaration(path)
    except DeclarationError as error:
        first = error.problems[0]
        fail(f"{path}:{first.line}: {first.message}; see `remit check`, and mend it first")


def _refuse_known(loaded: Loaded | None, path: Path, name: str, role: str | None) -> None:
    if loaded is None:
        return
    if name in loaded.declaration.servers:
        line = loaded.positions.get(f"mcp_servers.{name}", 0)
        fail(f"{path}:{line}: there is a server {name!r} already; choose another name")
    if role is None and name in loaded.declaration.roles:
        fail(f"there is a role {name!r} already; say with --role who may use the server")


def _interpreter() -> str:
    """Return how to start the Python that has the protocol library: the shortest way that does."""
    found = shutil.which("python")
    if found is not None and Path(found).parent.samefile(Path(sys.executable).parent):
        return "python"
    return sys.executable


def _named_from_here(file: Path) -> str:
    """Return *file* as arguments of a server are read: from the folder that remit runs in."""
    absolute = file.absolute()
    return file.name if absolute.parent.resolve() == Path.cwd().resolve() else str(absolute)


def _print_json(path: Path, file: Path, server: NewServer, *, is_declared: bool) -> None:
    print_json(
        {
            "config": str(path),
            "server": server.name,
            "file": str(file),
            "tool": TOOL,
            "role": server.role,
            "declared": is_declared,
            "paste": "" if is_declared else server.pasted,
        }
    )


def _print(path: Path, file: Path, server: NewServer, *, is_declared: bool) -> None:
    say(f"wrote {file}: server {server.name!r} with one tool, {TOOL}")
    if is_declared:
        say(f"added to {path}: the server, and role {server.role!r}, which may use it")
    else:
        say(f"{path} stays as it is: lines cannot simply be put into it; add")
        say("")
        say_text(server.pasted)
    say(f"next: `remit check --connect`, `remit apply {shlex.quote(str(path))}`, then")
    subject = shlex.quote(f"role:{server.role}")
    say(f"  remit call --as {subject} {server.name}/{TOOL} --args '{EXAMPLE}'")

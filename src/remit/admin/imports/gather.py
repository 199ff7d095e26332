"""From files to servers: recognise each file's shape, read it, name the servers, check them.

    files ──▶ Source ──▶ Shape ──▶ RawServer ──▶ Draft ──▶ named, in remit's form ──▶ checked

A file that cannot be read, or that defines no server, refuses the whole import: whoever names
three files wants all three. A server that cannot be used is left out, and that is said.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from remit.admin.declaration import parse_document
from remit.admin.imports.agentgateway import AGENTGATEWAY_SHAPES
from remit.admin.imports.client_files import CLIENT_SHAPES
from remit.admin.imports.entries import Draft, read_entry
from remit.admin.imports.gateway_files import GATEWAY_SHAPES
from remit.admin.imports.names import distinct, fit
from remit.admin.imports.notes import Note, Notebook
from remit.admin.imports.reading import read_config
from remit.admin.imports.shape import Shape
from remit.admin.imports.texts import Named, in_own_form
from remit.admin.yaml_source import Source
from remit.errors import DeclarationError, Problem
from remit.model.servers import ServerConfig
from remit.upstreams.environment import missing

SHAPES: tuple[Shape, ...] = (*GATEWAY_SHAPES, *AGENTGATEWAY_SHAPES, *CLIENT_SHAPES)
"""The registry: tried in order, the first that recognises a document reads it."""

_ALWAYS_SET = frozenset({"HOME", "PATH", "USER"})
_QUIET_SECTIONS = frozenset({"$schema", "jsonrpc"})
_OWN_SECTIONS = frozenset({"roles", "agent_types", "toolsets", "identity", "grants"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedServer:
    """A server that can be declared.

    Attributes:
        name: In `remit.yaml`.
        was: In its file.
        entry: In remit's keys, ready to be written.
        config: The same as the declaration reads it.
        only: The only tools of it that were open; None where nothing was said.
        hidden: Tools of it, and patterns over them, that were switched off for everybody.
    """

    name: str
    was: str
    file: str
    line: int
    entry: Mapping[str, object] = field(repr=False)
    config: ServerConfig
    only: tuple[str, ...] | None = None
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What the files hold.

    Attributes:
        variables: Each variable that has to be set, with the servers that need it.
    """

    servers: tuple[ImportedServer, ...]
    notes: tuple[Note, ...]
    variables: Mapping[str, tuple[str, ...]]


def gather(files: Sequence[Path]) -> Imported:
    """Read *files* into one set of servers, in their order.

    Raises:
        DeclarationError: With what is wrong, for every file that cannot be used.
    """
    problems: list[Problem] = []
    notebooks: list[Notebook] = []
    found: list[tuple[Draft, Notebook]] = []
    for file in files:
        try:
            source = read_config(file)
            notebook = Notebook(source.file, source.positions)
            found += [(draft, notebook) for draft in _drafts(source, notebook)]
            notebooks.append(notebook)
        except DeclarationError as error:
            problems += error.problems
    if problems:
        raise DeclarationError(problems)
    named = _named(found)
    servers = tuple(_checked(named, in_own_form(named)))
    if not servers:
        raise DeclarationError([_no_server(notebook) for notebook in notebooks])
    _note_same_addresses(servers, notebooks)
    return Imported(
        servers=servers,
        notes=tuple(note for notebook in notebooks for note in _in_order(notebook.notes)),
        variables=_variables(servers),
    )


def _drafts(source: Source, notebook: Notebook) -> list[Draft]:
    for problem in source.problems:
        notebook.notes.append(_duplicate(problem, "last" if source.last_counts else "first"))
    _refuse_own(source)
    shape = next((shape for shape in SHAPES if shape.recognises(source.data)), None)
    if shape is None:
        raise DeclarationError([_unknown_shape(source)])
    read = [read_entry(raw, notebook) for raw in shape.read(source.data, notebook)]
    drafts = [draft for draft in read if draft is not None]
    if not drafts:
        raise DeclarationError([_no_server(notebook)])
    for section in source.data:
        if shape.sections is not None and section not in shape.sections | _QUIET_SECTIONS:
            message = f"{section[:80]!r} does not say how a server is reached"
            notebook.write("section-left-out", message, path=section)
    return drafts


def _refuse_own(source: Source) -> None:
    """Refuse what is a declaration of remit's own already."""
    if "mcp_servers" not in source.data or not _OWN_SECTIONS & source.data.keys():
        return
    try:
        parse_document(source.data)
    except DeclarationError:
        return
    problem = Problem(
        code="own-declaration",
        message="is a declaration of remit already",
        file=source.file,
        remedy="use it as it is, with --config",
    )
    raise DeclarationError([problem])


def _duplicate(problem: Problem, which: str) -> Note:
    return Note(
        code="duplicate-key",
        message=f"{problem.message}: the {which} counts here",
        file=problem.file,
        line=problem.line,
        remedy=problem.remedy,
    )


def _unknown_shape(source: Source) -> Problem:
    keys = ", ".join(repr(key[:40]) for key in list(source.data)[:6])
    return Problem(
        code="no-server",
        message=f"defines no server: it has {keys or 'nothing'}, and no servers below that",
        file=source.file,
        remedy="name a file with 'mcpServers', 'servers', 'mcp_servers' or the like in it",
    )


def _no_server(notebook: Notebook) -> Problem:
    """Say that a file defines no server, with what it has instead as the reason."""
    reasons = [
        f"{note.server!r} {note.message}" if note.server else f"it {note.message}"
        for note in notebook.notes
        if note.code in ("server-left-out", "careful")
    ]
    remedies = [note.remedy for note in notebook.notes if note.remedy]
    return Problem(
        code="no-server",
        message=f"defines no server: {'; '.join(reasons[:5]) or 'the list of servers is empty'}",
        file=notebook.file,
        remedy=remedies[0] if remedies else "add a server to it, or name another file",
    )


def _named(found: Iterable[tuple[Draft, Notebook]]) -> list[Named]:
    """Give each draft its name; one that is there already, alike in everything, is left out."""
    named: dict[str, Named] = {}
    alike: dict[str, list[Named]] = {}
    for draft, notebook in found:
        fitting = fit(draft.name)
        others = alike.setdefault(fitting, [])
        same = next((one for one in others if _is_same(one.draft, draft)), None)
        if same is not None:
            message = f"is the server of that name in {same.notebook.file}, and is kept once"
            notebook.write("same-server", message, path=draft.path, server=draft.name)
            continue
        name = distinct(fitting, named)
        _note_name(draft, name, fitting, notebook)
        named[name] = Named(name=name, draft=draft, notebook=notebook)
        others.append(named[name])
    return list(named.values())


def _is_same(known: Draft, draft: Draft) -> bool:
    is_open = (known.only, known.hidden) == (draft.only, draft.hidden)
    return is_open and known.entry == draft.entry


def _note_name(draft: Draft, name: str, fitting: str, notebook: Notebook) -> None:
    if name == draft.name:
        return
    why = (
        "another server has its name"
        if fitting == draft.name
        else "up to 64 letters, digits, `_`, `.` and `-` fit, without `__`"
    )
    message = f"is called {name!r} here: {why}"
    notebook.write("renamed", message, path=draft.path, server=draft.name)


def _checked(
    named: Sequence[Named], entries: Sequence[Mapping[str, object]]
) -> Iterator[ImportedServer]:
    """Give the servers that a declaration accepts, and note why others are left out."""
    for one, entry in zip(named, entries, strict=True):
        draft, notebook = one.draft, one.notebook
        try:
            loaded = parse_document({"mcp_servers": {one.name: entry}})
        except DeclarationError as error:
            reasons = "; ".join(problem.message for problem in error.problems[:3])
            notebook.write(
                "server-left-out",
                f"cannot be declared: {reasons}",
                path=draft.path,
                server=draft.name,
                remedy=error.problems[0].remedy,
            )
            continue
        for tool in draft.hidden:
            notebook.write(
                "tool-denied",
                f"{tool[:80]!r} was switched off: a grant denies it to everybody",
                path=draft.path,
                server=draft.name,
            )
        yield ImportedServer(
            name=one.name,
            was=draft.name,
            file=notebook.file,
            line=notebook.line_of(draft.path),
            entry=entry,
            config=loaded.declaration.servers[one.name],
            only=draft.only,
            hidden=draft.hidden,
        )


def _note_same_addresses(servers: Sequence[ImportedServer], notebooks: Sequence[Notebook]) -> None:
    by_address: dict[str, str] = {}
    for server in servers:
        address = server.config.url.rstrip("/")
        if not address:
            continue
        first = by_address.setdefault(address, server.name)
        if first == server.name:
            continue
        book = next(notebook for notebook in notebooks if notebook.file == server.file)
        book.notes.append(
            Note(
                code="same-address",
                message=f"goes where {first!r} goes: every tool is there twice",
                file=server.file,
                line=server.line,
                server=server.was,
                field="url",
                remedy="remove one of them, unless their credentials differ",
            )
        )


def _variables(servers: Sequence[ImportedServer]) -> dict[str, tuple[str, ...]]:
    needed: dict[str, list[str]] = {}
    for server in servers:
        for name in sorted(_needed_by(server.config)):
            needed.setdefault(name, []).append(server.name)
    return {name: tuple(users) for name, users in sorted(needed.items())}


def _needed_by(config: ServerConfig) -> set[str]:
    """Return the variables without which a server would not start, or not be let in."""
    environ = dict.fromkeys(_ALWAYS_SET, "")
    while lacking := {error.name for error in missing(config, environ)}:
        environ |= dict.fromkeys(lacking, "")
    named = {config.bearer_token_env_var, *config.env_passthrough} - {""}
    return (environ.keys() | named) - _ALWAYS_SET


def _in_order(notes: list[Note]) -> list[Note]:
    return sorted(notes, key=lambda note: note.line)

"""The files of programs that use MCP servers: desktop clients, editors, command lines, agents.

What they have in common is a map from a server's name to its entry; they differ in the key that
holds it, and in what a bare `url` or `timeout` means.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, cast

from remit.admin.imports.entry_keys import SLOTS, fold
from remit.admin.imports.notes import Notebook, RawServer
from remit.admin.imports.shape import Shape
from remit.admin.imports.switched_off import switched_off
from remit.admin.nested import items_of, list_at, mapping_at, text_at
from remit.admin.yaml_source import child_path

_REACHING = frozenset({"command", "url", "http_url", "sse_url"})
_GEMINI = frozenset({"httpurl", "trust", "includetools", "excludetools"})
_SECONDS = frozenset({"autoapprove", "alwaysallow"})
_CRUSH = frozenset({"stdio", "http", "sse"})


def _servers(
    holder: object,
    path: str,
    notebook: Notebook,
    *,
    inputs: Mapping[str, str] | None = None,
    milliseconds: bool | None = None,
) -> Iterator[RawServer]:
    """Give the servers of a map, or of a list whose entries have names."""
    url_is, span = _dialect(holder)
    for name, where, entry in items_of(holder, path):
        if not isinstance(entry, Mapping):
            _not_a_server(notebook, name, where)
            continue
        yield RawServer(
            name=name,
            entry=cast("Mapping[str, object]", entry),
            path=where,
            url_is=url_is,
            milliseconds=span if milliseconds is None else milliseconds,
            inputs=inputs or {},
        )


def _not_a_server(notebook: Notebook, name: str, path: str) -> None:
    message = "is no mapping of settings"
    notebook.write("server-left-out", message, path=path, server=name, remedy="write it as one")


def _dialect(holder: object) -> tuple[Literal["http", "sse"] | None, bool | None]:
    """Return what `url` means where an entry also knows `httpUrl`, and the unit of `timeout`."""
    keys = {fold(key) for _, _, entry in items_of(holder, "") for key in mapping_at(entry)}
    if keys & _GEMINI:
        return "sse" if "httpurl" in keys else None, True
    return None, False if keys & _SECONDS else None


def _has_servers(key: str) -> Shape:
    def recognises(data: Mapping[str, object]) -> bool:
        return isinstance(data.get(key), Mapping | list)

    def read(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
        servers = _servers(data[key], key, notebook)
        if key == "mcpServers":
            yield from _chosen(servers, mapping_at(data, "mcp"))
            yield from _projects(data, notebook)
        else:
            yield from servers

    return Shape(
        name=f"map of servers under {key!r}",
        recognises=recognises,
        read=read,
        sections=frozenset({key, "projects"}),
    )


def _chosen(servers: Iterator[RawServer], choice: Mapping[str, object]) -> Iterator[RawServer]:
    """Give servers, of which Gemini's `mcp` may switch some off by their names."""
    allowed, excluded = list_at(choice, "allowed"), list_at(choice, "excluded")
    for server in servers:
        is_off = server.name in excluded or (allowed and server.name not in allowed)
        yield replace(server, entry={**server.entry, "disabled": True}) if is_off else server


def _projects(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    """Give the servers that a command line keeps for each folder it was started in."""
    for folder, project in mapping_at(data, "projects").items():
        path = child_path(child_path("projects", folder), "mcpServers")
        yield from _servers(mapping_at(project, "mcpServers"), path, notebook)


def _is_editor(data: Mapping[str, object]) -> bool:
    return isinstance(data.get("servers"), Mapping | list) or bool(
        mapping_at(data, "mcp", "servers")
    )


def _read_editor(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    holder, path = (data, "") if "servers" in data else (mapping_at(data, "mcp"), "mcp")
    inputs = {
        text_at(mapping_at(one), "id"): ""
        if mapping_at(one).get("password")
        else text_at(mapping_at(one), "default")
        for one in list_at(holder, "inputs")
    }
    where = child_path(path, "servers")
    yield from _servers(holder["servers"], where, notebook, inputs=inputs)


def _is_under_mcp(data: Mapping[str, object]) -> bool:
    entries = mapping_at(data, "mcp").values()
    return any(_is_entry(mapping_at(entry)) for entry in entries)


def _read_under_mcp(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    kinds = {text_at(mapping_at(entry), "type") for entry in mapping_at(data, "mcp").values()}
    # Crush counts in seconds, opencode, whose servers are `local` or `remote`, in milliseconds.
    milliseconds = kinds.isdisjoint(_CRUSH)
    servers = list(_servers(data["mcp"], "mcp", notebook, milliseconds=milliseconds))
    names = [server.name for server in servers]
    off = switched_off(mapping_at(data, "tools"), names, notebook)
    yield from (replace(server, hidden=off[server.name]) for server in servers)


def _is_entry(entry: Mapping[str, object]) -> bool:
    return any(SLOTS.get(fold(key)) in _REACHING for key in entry)


def _read_single(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    del notebook
    yield RawServer(name=text_at(data, "name") or "server", entry=data, path="")


def _is_bare_map(data: Mapping[str, object]) -> bool:
    return bool(data) and all(_is_entry(mapping_at(entry)) for entry in data.values())


def _read_bare_map(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    yield from _servers(data, "", notebook)


CLIENT_SHAPES: tuple[Shape, ...] = (
    _has_servers("mcpServers"),
    _has_servers("mcp_servers"),
    _has_servers("context_servers"),
    Shape(
        name="editor with 'servers' and 'inputs'",
        recognises=_is_editor,
        read=_read_editor,
        sections=frozenset({"servers", "inputs", "mcp"}),
    ),
    Shape(
        name="map of servers under 'mcp'",
        recognises=_is_under_mcp,
        read=_read_under_mcp,
        sections=frozenset({"mcp", "tools"}),
    ),
    _has_servers("extensions"),
    Shape(name="one server", recognises=_is_entry, read=_read_single, sections=None),
    Shape(name="bare map of servers", recognises=_is_bare_map, read=_read_bare_map, sections=None),
)
"""In the order in which they are tried."""

"""What other gateways and catalogues write out: ContextForge, MCPJungle, Docker."""

from collections.abc import Iterator, Mapping

from remit.admin.imports.notes import Notebook, RawServer
from remit.admin.imports.shape import Shape
from remit.admin.imports.variables import variable_name
from remit.admin.nested import items_of, list_at, mapping_at, text_at
from remit.admin.yaml_source import child_path

_REQUIRED = ("run", "-i", "--rm")
_KNOWN_IN_CATALOGUE = frozenset(
    {
        *("description", "title", "type", "image", "secrets", "env", "command", "volumes"),
        *("sseEndpoint", "remote", "icon", "readme", "ref", "dateAdded", "upstream", "source"),
        *("metadata", "tools", "toolsUrl", "config", "prompts", "resources"),
    }
)


def _is_contextforge(data: Mapping[str, object]) -> bool:
    return isinstance(mapping_at(data, "entities").get("gateways"), list)


def _read_contextforge(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    entities = mapping_at(data, "entities")
    for name, path, entry in items_of(entities["gateways"], "entities.gateways"):
        yield RawServer(name=name, entry=mapping_at(entry), path=path)
    for kind, entries in entities.items():
        if kind == "gateways" or not entries:
            continue
        path = child_path("entities", kind)
        named = ", ".join(name or "?" for name, _, _ in items_of(entries, path))
        what = "bundles of tools" if kind == "servers" else "found again when a server connects"
        remedy = "grant their tools to a role" if kind == "servers" else ""
        message = f"{kind!r} of that gateway are {what}: {named[:200]}"
        notebook.write("section-left-out", message, path=path, remedy=remedy)


def _is_group(data: Mapping[str, object]) -> bool:
    return any(key in data for key in ("included_servers", "included_tools"))


def _read_group(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    del data
    notebook.write(
        "careful",
        "is a group of tools, which names servers that are declared elsewhere",
        remedy="export the servers themselves; then give a role what the group includes",
    )
    return iter(())


def _is_catalogue(data: Mapping[str, object]) -> bool:
    return isinstance(data.get("registry"), Mapping)


def _read_catalogue(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    for name, path, entry in items_of(data["registry"], "registry"):
        described = mapping_at(entry)
        rest = {key: value for key, value in described.items() if key not in _KNOWN_IN_CATALOGUE}
        reached = _reached(described, path, name, notebook)
        description = text_at(described, "description")
        yield RawServer(name=name, entry={**rest, "description": description, **reached}, path=path)


def _reached(
    described: Mapping[str, object], path: str, name: str, notebook: Notebook
) -> dict[str, object]:
    remote = mapping_at(described, "remote")
    if remote:
        return dict(remote)
    if "sseEndpoint" in described:
        return {"type": "sse", "url": described["sseEndpoint"]}
    image = text_at(described, "image")
    if not image:
        return {}
    env = dict(_environment(described))
    volumes = [str(volume) for volume in list_at(described, "volumes")]
    args = [*_REQUIRED, *_repeated("-e", list(env)), *_repeated("-v", volumes), image]
    args += [str(word) for word in list_at(described, "command")]
    message = "is run by `docker run -i --rm`, with its variables passed on"
    notebook.write("read-as", message, path=child_path(path, "image"), server=name, field="image")
    return {"command": "docker", "args": args, "env": env}


def _environment(described: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for secret in list_at(described, "secrets"):
        named = mapping_at(secret)
        name = text_at(named, "env") or variable_name(text_at(named, "name"))
        yield name, f"${{{name}}}"
    for variable in list_at(described, "env"):
        named = mapping_at(variable)
        if name := text_at(named, "name"):
            yield name, text_at(named, "value")


def _repeated(option: str, values: list[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


GATEWAY_SHAPES: tuple[Shape, ...] = (
    Shape(
        name="ContextForge export",
        recognises=_is_contextforge,
        read=_read_contextforge,
        sections=frozenset(
            {
                *("entities", "version", "exported_at", "exported_by", "source_gateway"),
                *("encryption_method", "metadata"),
            }
        ),
    ),
    Shape(name="MCPJungle group", recognises=_is_group, read=_read_group, sections=None),
    Shape(
        name="Docker catalogue",
        recognises=_is_catalogue,
        read=_read_catalogue,
        sections=frozenset({"registry", "version", "name", "displayName"}),
    ),
)

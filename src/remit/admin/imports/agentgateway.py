"""Configurations of agentgateway, long (`binds`) and short (`mcp`)."""

from collections.abc import Iterator, Mapping

from remit.admin.imports.notes import Notebook, RawServer
from remit.admin.imports.shape import Shape
from remit.admin.nested import list_at, mapping_at, text_at
from remit.admin.yaml_source import child_path

_HTTPS_PORT = "443"

_POLICIES = {
    "cors": ("who may call from a web page", "list their pages in `server.allowed_origins`"),
    "jwtAuth": ("whose tokens are accepted", "name the issuer under `identity.jwt`"),
    "mcpAuthentication": ("whose tokens are accepted", "name the issuer under `identity.jwt`"),
    "mcpAuthorization": (
        "rules of a language that remit does not speak",
        "say it with roles, and test that with `remit test`",
    ),
    "apiKey": ("keys, which remit keeps as hashes of its own", "make them by `remit keys create`"),
    "mcpRemoteRateLimit": ("limits of another service", "write them under `limits`"),
    "localRateLimit": ("how often may be called", "write it under `limits`"),
}
_SETTINGS = {
    "prefixMode": "remit always publishes tools as `{server}__{tool}`",
    "failureMode": "with remit a server that is away never takes others with it",
    "statefulMode": "remit keeps the sessions that servers want",
}


def _is_long(data: Mapping[str, object]) -> bool:
    return isinstance(data.get("binds"), list)


def _read_long(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    for route, path in _routes(data):
        _leave_policies(mapping_at(route, "policies"), child_path(path, "policies"), notebook)
        for index, backend in enumerate(list_at(route, "backends")):
            where = child_path(child_path(child_path(path, "backends"), index), "mcp")
            yield from _targets(mapping_at(backend, "mcp"), where, notebook)


def _routes(data: Mapping[str, object]) -> Iterator[tuple[Mapping[str, object], str]]:
    for bind_index, bind in enumerate(list_at(data, "binds")):
        for listener_index, listener in enumerate(list_at(bind, "listeners")):
            for index, route in enumerate(list_at(listener, "routes")):
                path = f"binds[{bind_index}].listeners[{listener_index}].routes[{index}]"
                yield mapping_at(route), path


def _is_short(data: Mapping[str, object]) -> bool:
    return isinstance(mapping_at(data, "mcp").get("targets"), list)


def _read_short(data: Mapping[str, object], notebook: Notebook) -> Iterator[RawServer]:
    holder = mapping_at(data, "mcp")
    _leave_policies(mapping_at(holder, "policies"), "mcp.policies", notebook)
    if "port" in holder:
        notebook.write(
            "section-left-out",
            "'mcp.port' is where that gateway listens",
            path="mcp.port",
            remedy="say it with `remit serve --port`",
        )
    yield from _targets(holder, "mcp", notebook)


def _leave_policies(policies: Mapping[str, object], path: str, notebook: Notebook) -> None:
    for name in policies:
        what, remedy = _POLICIES.get(name, ("a policy of that gateway", ""))
        notebook.write(
            "section-left-out",
            f"{name!r} says {what}" if what.startswith("wh") else f"{name!r} holds {what}",
            path=child_path(path, name),
            remedy=remedy,
        )


def _targets(holder: Mapping[str, object], path: str, notebook: Notebook) -> Iterator[RawServer]:
    for name, why in _SETTINGS.items():
        if name in holder:
            notebook.write("section-left-out", f"{name!r}: {why}", path=child_path(path, name))
    for index, target in enumerate(list_at(holder, "targets")):
        where = child_path(child_path(path, "targets"), index)
        named = mapping_at(target)
        yield RawServer(name=text_at(named, "name"), entry=_entry(named), path=where)


def _entry(target: Mapping[str, object]) -> dict[str, object]:
    entry: dict[str, object] = {}
    for way in ("mcp", "sse", "stdio"):
        reached = mapping_at(target, way)
        if reached and way == "stdio":
            entry |= reached
        elif reached:
            entry |= {"type": "http" if way == "mcp" else "sse", "url": _address(reached, way)}
    rest = {key: value for key, value in target.items() if key not in ("mcp", "sse", "stdio")}
    return {**rest, **entry}


def _address(reached: Mapping[str, object], way: str) -> str:
    host, port = text_at(reached, "host"), text_at(reached, "port")
    if "://" in host or not host:
        return host
    scheme = "https" if port == _HTTPS_PORT else "http"
    at = f":{port}" if port not in ("", _HTTPS_PORT) else ""
    path = text_at(reached, "path") or f"/{way}"
    return f"{scheme}://{host}{at}/{path.removeprefix('/')}"


AGENTGATEWAY_SHAPES: tuple[Shape, ...] = (
    Shape(
        name="agentgateway with 'binds'",
        recognises=_is_long,
        read=_read_long,
        sections=frozenset({"binds"}),
    ),
    Shape(
        name="agentgateway with 'mcp.targets'",
        recognises=_is_short,
        read=_read_short,
        sections=frozenset({"mcp"}),
    ),
)

"""What must hold of a server's entry beyond its types: transport, references (S4.6, R20)."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from remit.admin.complaints import Complaints, Location
from remit.calls.redact import REDACTED
from remit.errors import Problem
from remit.model.servers import ServerConfig, Transport
from remit.upstreams.environment import MissingVariable, is_own, references, texts

REACHING_KEYS = frozenset({"transport", "command", "url", "builtin"})
"""The keys that say how a server is reached."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_WAYS = ("command", "url", "builtin")
_NEEDS = {
    Transport.STDIO: "command",
    Transport.HTTP: "url",
    Transport.SSE: "url",
    Transport.BUILTIN: "builtin",
}
_REMOTE_KEYS = ("headers", "headers_from_env", "bearer_token_env_var")
_CHILD_KEYS = ("args", "env", "env_passthrough", "env_inherit", "cwd", "max_children")
_WITHOUT_EFFECT = {
    Transport.STDIO: _REMOTE_KEYS,
    Transport.HTTP: _CHILD_KEYS,
    Transport.SSE: _CHILD_KEYS,
    Transport.BUILTIN: (*_REMOTE_KEYS, "cwd", "env_inherit", "max_children", "names"),
}


def transport_of(entry: Mapping[str, object]) -> Transport | None:
    """Return how the server of a well-typed entry is reached, or None where it does not say.

    A `builtin` means builtin, a `url` without transport means http, a `command` stdio.
    """
    declared = entry.get("transport")
    if isinstance(declared, str):
        return Transport(declared.strip().lower())
    ways = _ways(entry)
    if "builtin" in ways:
        return Transport.BUILTIN
    if "url" in ways:
        return Transport.HTTP
    return Transport.STDIO if "command" in ways else None


def _ways(entry: Mapping[str, object]) -> list[str]:
    return [way for way in _WAYS if str(entry.get(way, "")).strip()]


def transport_problems(
    complaints: Complaints, where: Location, entry: Mapping[str, object]
) -> Iterator[Problem]:
    """Give what keeps a well-typed entry from being reached in exactly one way (S4.9)."""
    ways = _ways(entry)
    transport = transport_of(entry)
    needed = None if transport is None else _NEEDS[transport]
    if len(ways) > 1:
        yield complaints.at(
            "conflicting-keys",
            f"has {' and '.join(ways)}, but a server is reached in one way",
            where=where,
            remedy="keep one of them",
        )
    elif not ways:
        wanted = f"`{needed}`" if needed else "one of `command`, `url` and `builtin`"
        yield complaints.at(
            "missing-key",
            f"needs {wanted}",
            where=where,
            remedy="add it, or remove the server",
        )
    elif needed != ways[0]:
        yield complaints.at(
            "conflicting-keys",
            f"is {entry['transport']!r}, but its server has `{ways[0]}`",
            where=(*where, "transport"),
            remedy=f"write `{needed}`, or leave `transport` out",
        )


def idle_keys(transport: Transport, entry: Mapping[str, object]) -> tuple[str, ...]:
    """Return the keys of an entry that do nothing for a server reached in this way."""
    return tuple(key for key in _WITHOUT_EFFECT[transport] if entry.get(key))


def value_problems(
    complaints: Complaints, config: ServerConfig, *, may_be_masked: bool = False
) -> Iterator[Problem]:
    """Give what is wrong with the texts of a server: references, names, address.

    Args:
        complaints: Of the declaration.
        config: The server.
        may_be_masked: Whether masks are for somebody else to judge, who knows what they stand for.
    """
    where = ("mcp_servers", config.name)
    for path, text in texts(config):
        yield from _reference_problems(complaints, (*where, path), text)
        if REDACTED in text and not may_be_masked:
            yield complaints.at(
                "masked-secret",
                f"holds {REDACTED}, which only stands for a value that was not shown",
                where=(*where, path),
                remedy="write the value, or better `${NAME}`; left as it was shown it would stay",
            )
    for path, name in _variables(config):
        if not _VARIABLE.fullmatch(name):
            message = "must be the name of an environment variable"
            yield complaints.at("bad-value", message, where=(*where, path))
        elif is_own(name):
            yield _own_variable(complaints, (*where, path), name)
    for name in config.env:
        if not name or "=" in name or _CONTROL.search(name):
            message = "is no name for an environment variable"
            yield complaints.at("bad-value", message, where=(*where, "env", name))
    yield from _header_problems(complaints, config)
    is_known = "${" not in config.url and REDACTED not in config.url
    if config.url and is_known and not _is_web_address(config.url):
        yield complaints.at(
            "bad-value",
            "must be an address such as https://host.example/mcp",
            where=(*where, "url"),
        )


def _reference_problems(complaints: Complaints, where: Location, text: str) -> Iterator[Problem]:
    try:
        names = references(text)
    except MissingVariable as error:
        yield complaints.at(
            "bad-reference",
            f"holds {error.name!r}, which is no reference that remit knows",
            where=where,
            remedy="write `${NAME}` or `${NAME:-default}`, or `$${` for the characters themselves",
        )
        return
    for name in sorted(names):
        if is_own(name):
            yield _own_variable(complaints, where, name)


def _own_variable(complaints: Complaints, where: Location, name: str) -> Problem:
    return complaints.at(
        "own-variable",
        f"asks for {name}, which belongs to remit itself and is given to no server (R21)",
        where=where,
        remedy="put the value that the server needs into a variable of another name",
    )


def _variables(config: ServerConfig) -> Iterator[tuple[str, str]]:
    for index, name in enumerate(config.env_passthrough):
        yield f"env_passthrough[{index}]", name
    for header, name in config.headers_from_env.items():
        yield f"headers_from_env.{header}", name
    if config.bearer_token_env_var:
        yield "bearer_token_env_var", config.bearer_token_env_var


def _header_problems(complaints: Complaints, config: ServerConfig) -> Iterator[Problem]:
    for section, headers in (
        ("headers", config.headers),
        ("headers_from_env", config.headers_from_env),
    ):
        seen: set[str] = set()
        for name, value in headers.items():
            where = ("mcp_servers", config.name, section, name)
            if not _HEADER.fullmatch(name):
                yield complaints.at("bad-value", "is no name for a header", where=where)
            if name.lower() in seen:
                message = "is given twice: letter case does not count in headers"
                yield complaints.at("duplicate-key", message, where=where)
            if _CONTROL.search(value.strip()):
                message = "holds a line break or another control character"
                yield complaints.at("bad-value", message, where=where)
            seen.add(name.lower())


def _is_web_address(url: str) -> bool:
    if _CONTROL.search(url) or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False

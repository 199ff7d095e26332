"""Servers as agent programs configure them, made into entries of `mcp_servers` (S4.6, S4.7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, cast

from remit.admin.declaration import parse_document
from remit.admin.schema import ServerShape
from remit.admin.yaml_source import read_file
from remit.errors import DeclarationError, Problem

_DELEGATED: Final = ("delegated_auth_provider", "delegatedAuthProvider")
_KEYS: Final = (*ServerShape.model_fields, "endpoint", *_DELEGATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """What `runtime.yaml` says of servers; its other sections are the agent program's.

    Attributes:
        mcp_servers: Name to the server's entry, in the order of the file; a relative `cwd` is
            taken from the root of the repository that the file is in.
    """

    mcp_servers: Mapping[str, Mapping[str, Any]]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the file: `mcp_servers` is a list of entries with a `name`, or a mapping by name.

        Raises:
            DeclarationError: It cannot be read, or an entry has no name or that of another.
        """
        source = read_file(Path(path))
        data = source.data
        problems = list(source.problems)
        listed = data.get("mcp_servers", data.get("mcpServers"))
        root = _root_of(Path(path).absolute().parent)
        servers: dict[str, Mapping[str, Any]] = {}
        for at, (name, entry) in enumerate(_named(listed)):
            if not isinstance(entry, Mapping) or not isinstance(name, str) or name in servers:
                line = source.positions.get(f"mcp_servers[{at}]", 0)
                message = f"entry {at + 1} of mcp_servers needs a mapping with a `name` of its own"
                problems.append(
                    Problem(code="bad-name", message=message, file=source.file, line=line)
                )
                continue
            servers[name] = _rooted(cast("Mapping[str, Any]", entry), root)
        if problems:
            raise DeclarationError(problems)
        return cls(mcp_servers=servers)


def usable_entry(name: str, config: object, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry of one server, checked.

    Args:
        name: The server's name.
        config: An object with the fields as attributes, or a mapping, camelCase accepted.
        headers: What goes with the requests of this program alone; stronger than all others.

    Raises:
        ValueError: It cannot be used; the text is one line and holds no value.
    """
    entry = _plain(config)
    if any(entry.pop(key, None) for key in _DELEGATED):
        raise ValueError("wants its users to sign in elsewhere (delegated_auth_provider)")
    if headers:
        own = {header.lower() for header in headers}
        static = cast("Mapping[str, str]", entry.get("headers") or {})
        kept = {key: value for key, value in static.items() if key.lower() not in own}
        literal = {key: value.replace("${", "$${") for key, value in headers.items()}
        entry["headers"] = {**kept, **literal}
    try:
        loaded = parse_document({"mcp_servers": {name: entry}})
    except DeclarationError as error:
        raise ValueError("; ".join(str(problem) for problem in error.problems)) from error
    if not loaded.declaration.servers[name].enabled:
        raise ValueError("is disabled")
    return entry


def request_headers(auth: object, name: str) -> Mapping[str, str]:
    """Return the headers that go with the requests of this program alone to one server.

    Args:
        auth: `{server: {"headers": {...}}}`; what is not said is none.
        name: The server's name.

    Raises:
        ValueError: It cannot be read. Nothing is sent then: what else the entry has is not the
            caller's own.
    """
    found: Any = auth
    for key in (name, "headers"):
        found = cast("Mapping[str, Any]", found).get(key) if isinstance(found, Mapping) else found
    headers = cast("object", found or {})
    if not isinstance(headers, Mapping) or not all(
        isinstance(word, str)
        for pair in cast("Mapping[Any, Any]", headers).items()
        for word in pair
    ):
        raise ValueError(
            "has an mcp_auth of this request that cannot be read;"
            " give {server: {'headers': {name: text}}}"
        )
    return cast("Mapping[str, str]", headers)


def _plain(config: object) -> dict[str, Any]:
    if isinstance(config, Mapping):
        given = dict(cast("Mapping[str, Any]", config))
        given.pop("name", None)
    else:
        given = {key: getattr(config, key, None) for key in _KEYS}
    return {key: _plain_value(value) for key, value in given.items() if value not in (None, "")}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(cast("Sequence[Any]", value))
    return getattr(value, "value", value)  # a word may be a member of an enumeration


def _named(listed: object) -> list[tuple[object, object]]:
    if isinstance(listed, Mapping):
        return list(cast("Mapping[object, object]", listed).items())
    if not isinstance(listed, list):
        return [] if listed is None else [(None, listed)]
    return [
        (cast("Mapping[str, object]", one).get("name") if isinstance(one, Mapping) else None, one)
        for one in cast("list[object]", listed)
    ]


def _rooted(entry: Mapping[str, Any], root: Path) -> Mapping[str, Any]:
    cwd = entry.get("cwd")
    if not isinstance(cwd, str) or not cwd or cwd.startswith("${"):
        return entry
    return {**entry, "cwd": str(root / cwd)}


def _root_of(folder: Path) -> Path:
    """Return the repository that *folder* is in, or the folder itself."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)

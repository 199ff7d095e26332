"""What is known of published servers by the command that starts them (R16, R30).

The facts are data: `defaults/known_servers.yaml`. Nothing is started and no registry is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast, get_args

from remit.admin.launches import Kind, Named, read_launch
from remit.admin.yaml_source import read_text
from remit.model.servers import ServerConfig, Transport
from remit.model.tools import Hints


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledServer:
    """A server that this version brings along.

    Attributes:
        about: What it is for, in a line.
    """

    name: str
    about: str
    tools: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Catalogue:
    offers: Mapping[Named, Mapping[str, Hints]]
    about: Mapping[str, str]
    builtin: Mapping[str, frozenset[str]]
    unclaimed: Mapping[Named, str]


def offered_by(config: ServerConfig) -> frozenset[str] | None:
    """Return the tools that the server of an entry offers, or None where that is not known.

    Tools that `tool_names` names otherwise have these names alone (R30).
    """
    published = _published_by(config)
    if not published:
        return None
    return frozenset(ours for theirs in published for ours in config.names_of(theirs))


def hints_by(config: ServerConfig) -> Mapping[str, Hints] | None:
    """Return what the published server of an entry claims of each of its tools, or None.

    In the order of the catalogue; None where the server is not in it.
    """
    if config.transport is not Transport.STDIO:
        return None
    program = read_launch(config.command, config.args).program
    return _catalogue().offers.get(program) if program is not None else None


def unclaimed_package(config: ServerConfig) -> str | None:
    """Say why the package that an entry would fetch and run is not to be trusted, or None.

    None as well where the entry says `allow_unclaimed: true` (R30).
    """
    if config.transport is not Transport.STDIO or config.allow_unclaimed:
        return None
    known = _catalogue().unclaimed
    for package in read_launch(config.command, config.args).fetched:
        if package in known:
            return f"{package.name!r}: {known[package]}"
    return None


def known_builtins() -> frozenset[str]:
    """Return the names of the servers that this version bundles."""
    return frozenset(_catalogue().builtin)


def bundled_servers() -> tuple[BundledServer, ...]:
    """Return the servers that this version bundles, in no order that counts."""
    catalogue = _catalogue()
    return tuple(
        BundledServer(name=name, about=catalogue.about[name], tools=tools)
        for name, tools in catalogue.builtin.items()
    )


def _published_by(config: ServerConfig) -> frozenset[str]:
    if config.transport is Transport.BUILTIN:
        return _catalogue().builtin.get(config.builtin, frozenset())
    claimed = hints_by(config)
    return frozenset(claimed or ())


@cache
def _catalogue() -> _Catalogue:
    resource = files("remit.admin").joinpath("defaults", "known_servers.yaml")
    data = read_text(resource.read_text(encoding="utf-8"), file="known_servers.yaml").data
    servers = cast("list[dict[str, object]]", data["servers"])
    unclaimed = cast("dict[Kind, dict[str, str]]", data["unclaimed"])
    return _Catalogue(
        offers={
            Named(kind, str(server[kind])): _claims(cast("Mapping[str, list[str]]", server))
            for server in servers
            for kind in get_args(Kind)
            if kind in server
        },
        about=cast("dict[str, str]", data["about"]),
        builtin=_tool_sets(data["builtin"]),
        unclaimed={
            Named(kind, name): reason
            for kind, names in unclaimed.items()
            for name, reason in names.items()
        },
    )


def _claims(server: Mapping[str, list[str]]) -> dict[str, Hints]:
    claimed = {name: Hints() for name in server["tools"]}
    claimed |= {name: Hints(read_only=True) for name in server.get("reads", [])}
    additive = Hints(read_only=False, destructive=False)
    return claimed | dict.fromkeys(server.get("adds", []), additive)


def _tool_sets(section: object) -> dict[str, frozenset[str]]:
    lists = cast("dict[str, list[str]]", section)
    return {name: frozenset(tools) for name, tools in lists.items()}

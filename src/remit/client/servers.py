"""Servers: where each stands, and what is declared of it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remit.client.edits import Edited, wished
from remit.client.operations import Operation, Page, at


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server stands.

    Attributes:
        transport: `stdio`, `http`, `sse` or `builtin`.
        state: `starting`, `ready`, `degraded`, `backing_off`, `quarantined` or `stopped`.
        reason: Why it is not ready, or empty.
        failures: In a row.
        retry_in: Seconds until it is tried again, or None.
        tools: How many it offers.
        notes: What its offer leaves to be desired.
        stderr_tail: The last lines that it wrote.
    """

    name: str
    description: str
    transport: str
    enabled: bool
    default_access: str
    state: str
    reason: str
    failures: int
    retry_in: float | None
    connections: int
    in_flight: int
    tools: int
    protocol: str
    notes: tuple[str, ...]
    stderr_tail: str


class DeclaredServer(Server, frozen=True, kw_only=True):
    """The same, with its entry in the declaration; what looks like a secret is not shown."""

    declared: dict[str, Any]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What came of connecting to a server beside what is connected.

    Attributes:
        reason: Why it failed, or empty.
        tools: Their own names.
        tokens: About what a model pays to be told of them.
        memory: Bytes, or None where nobody can tell.
        skew: Seconds that its clock is ahead, or None.
        ms: Milliseconds that it took.
    """

    ok: bool
    reason: str
    protocol: str
    tools: tuple[str, ...]
    notes: tuple[str, ...]
    tokens: int
    memory: int | None
    skew: float | None
    ms: float


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """What a server claims about a tool; None where it claims nothing."""

    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None


class OfferedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a server offers, whoever may call it.

    Attributes:
        tool: The server's own name for it.
        name: Its published name on the endpoint of all servers.
        title: For people, or empty.
        description: Likewise.
        input_schema: None where it cannot be shown, as when it is nested too deeply.
        roles: How many roles alone may call it.
        tokens: About what a model pays to be told of it.
    """

    tool: str
    name: str
    title: str
    description: str
    input_schema: dict[str, Any] | None
    hints: Hints
    roles: int
    tokens: int


class BundledServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server that the gateway brings along.

    Attributes:
        description: What it is for, in a line.
        tools: Names of what it offers.
        servers: The declared servers that are it.
    """

    name: str
    description: str
    tools: tuple[str, ...]
    servers: tuple[str, ...]


def list_all(*, limit: int | None = None, cursor: str | None = None) -> Operation[Page[Server]]:
    """Every server that is declared."""
    return Operation(
        id="servers.list",
        method="GET",
        path=at("servers"),
        answer=Page[Server],
        query={"limit": limit, "cursor": cursor},
    )


def get(name: str) -> Operation[DeclaredServer]:
    """One server."""
    return Operation(
        id="servers.get", method="GET", path=at("servers", name), answer=DeclaredServer
    )


def tools(
    name: str, *, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[OfferedTool]]:
    """What a server offers now, by name; nothing while it is not connected."""
    return Operation(
        id="servers.tools",
        method="GET",
        path=at("servers", name, "tools"),
        answer=Page[OfferedTool],
        query={"limit": limit, "cursor": cursor},
    )


def bundled(
    *, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[BundledServer]]:
    """Every server that the gateway brings along, declared or not."""
    return Operation(
        id="servers.bundled",
        method="GET",
        path=at("bundled-servers"),
        answer=Page[BundledServer],
        query={"limit": limit, "cursor": cursor},
    )


def create(
    name: str, entry: Mapping[str, Any], *, dry_run: bool = False, reason: str = ""
) -> Operation[Edited]:
    """Declare a server; *entry* is what `mcp_servers` of a declaration has."""
    return Operation(
        id="servers.create",
        method="POST",
        path=at("servers"),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        body={**entry, "name": name},
    )


def replace(
    name: str,
    entry: Mapping[str, Any],
    *,
    if_match: str,
    dry_run: bool = False,
    reason: str = "",
) -> Operation[Edited]:
    """Declare a server anew; *if_match* is the `ETag` of what was read, or `*`."""
    return Operation(
        id="servers.replace",
        method="PUT",
        path=at("servers", name),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        body=entry,
        if_match=if_match,
    )


def change(
    name: str,
    patch: Mapping[str, Any],
    *,
    if_match: str,
    dry_run: bool = False,
    reason: str = "",
) -> Operation[Edited]:
    """Change what is declared of a server (RFC 7396: None takes a member away)."""
    return Operation(
        id="servers.change",
        method="PATCH",
        path=at("servers", name),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        body=patch,
        if_match=if_match,
    )


def remove(
    name: str, *, if_match: str, dry_run: bool = False, reason: str = ""
) -> Operation[Edited]:
    """Take a server out of the declaration."""
    return Operation(
        id="servers.remove",
        method="DELETE",
        path=at("servers", name),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        if_match=if_match,
    )


def enable(name: str, *, dry_run: bool = False, reason: str = "") -> Operation[Edited]:
    """Switch a server on."""
    return _switched(name, "enable", wished(dry_run=dry_run, reason=reason))


def disable(name: str, *, dry_run: bool = False, reason: str = "") -> Operation[Edited]:
    """Switch a server off."""
    return _switched(name, "disable", wished(dry_run=dry_run, reason=reason))


def test(name: str) -> Operation[Trial]:
    """Connect to a server beside what is connected, list its tools, and leave again."""
    return Operation(
        id="servers.test", method="POST", path=at("servers", name, "test"), answer=Trial
    )


def restart(name: str, *, reason: str = "") -> Operation[Server]:
    """Connect to a server anew."""
    return Operation(
        id="servers.restart",
        method="POST",
        path=at("servers", name, "restart"),
        answer=Server,
        query={"reason": reason or None},
    )


def _switched(name: str, how: str, query: Mapping[str, str | bool | None]) -> Operation[Edited]:
    return Operation(
        id=f"servers.{how}",
        method="POST",
        path=at("servers", name, how),
        answer=Edited,
        query=query,
    )

"""Roles of the declaration."""

from collections.abc import Mapping
from typing import Any

import msgspec

from remit.client.edits import Edited, wished
from remit.client.operations import Operation, Page, at


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """A role.

    Attributes:
        tools: Server to its tools.
        allow: Patterns, as `git/*`.
        denials: `quiet` or `explain`.
    """

    name: str
    description: str
    mcp_servers: tuple[str, ...]
    tools: dict[str, tuple[str, ...]]
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    denials: str


def list_all(*, limit: int | None = None, cursor: str | None = None) -> Operation[Page[Role]]:
    """Every role."""
    return Operation(
        id="roles.list",
        method="GET",
        path=at("roles"),
        answer=Page[Role],
        query={"limit": limit, "cursor": cursor},
    )


def get(name: str) -> Operation[Role]:
    """One role."""
    return Operation(id="roles.get", method="GET", path=at("roles", name), answer=Role)


def create(
    name: str, entry: Mapping[str, Any], *, dry_run: bool = False, reason: str = ""
) -> Operation[Edited]:
    """Declare a role; *entry* is what `roles` of a declaration has."""
    return Operation(
        id="roles.create",
        method="POST",
        path=at("roles"),
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
    """Declare a role anew; *if_match* is the `ETag` of what was read, or `*`."""
    return Operation(
        id="roles.replace",
        method="PUT",
        path=at("roles", name),
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
    """Change a role (RFC 7396: None takes a member away)."""
    return Operation(
        id="roles.change",
        method="PATCH",
        path=at("roles", name),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        body=patch,
        if_match=if_match,
    )


def remove(
    name: str, *, if_match: str, dry_run: bool = False, reason: str = ""
) -> Operation[Edited]:
    """Take a role out of the declaration."""
    return Operation(
        id="roles.remove",
        method="DELETE",
        path=at("roles", name),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        if_match=if_match,
    )

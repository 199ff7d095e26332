"""Grants: what is opened or closed to somebody beside the roles."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from remit.client.edits import Edited, wished
from remit.client.operations import Operation, Page, at


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A grant.

    Attributes:
        id: What it says, in short.
        subject: As `user:ann`.
        effect: `allow` or `deny`.
        until: When it ends, or None.
    """

    id: str
    subject: str
    effect: str
    server: str
    tool: str
    until: datetime | None
    enabled: bool


def list_all(*, limit: int | None = None, cursor: str | None = None) -> Operation[Page[Grant]]:
    """Every grant, those that have ended, too."""
    return Operation(
        id="grants.list",
        method="GET",
        path=at("grants"),
        answer=Page[Grant],
        query={"limit": limit, "cursor": cursor},
    )


def get(grant: str) -> Operation[Grant]:
    """One grant, by its id."""
    return Operation(id="grants.get", method="GET", path=at("grants", grant), answer=Grant)


def create(
    entry: Mapping[str, Any], *, dry_run: bool = False, reason: str = ""
) -> Operation[Edited]:
    """Declare a grant; *entry* is what `grants` of a declaration has, its id the answer's name."""
    return Operation(
        id="grants.create",
        method="POST",
        path=at("grants"),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        body=entry,
    )


def replace(
    grant: str,
    entry: Mapping[str, Any],
    *,
    if_match: str,
    dry_run: bool = False,
    reason: str = "",
) -> Operation[Edited]:
    """Make a grant another one; *if_match* is the `ETag` of what was read, or `*`."""
    return Operation(
        id="grants.replace",
        method="PUT",
        path=at("grants", grant),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        body=entry,
        if_match=if_match,
    )


def remove(
    grant: str, *, if_match: str, dry_run: bool = False, reason: str = ""
) -> Operation[Edited]:
    """Take a grant out of the declaration."""
    return Operation(
        id="grants.remove",
        method="DELETE",
        path=at("grants", grant),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        if_match=if_match,
    )

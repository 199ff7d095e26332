"""Revisions: the history of the declaration."""

from datetime import datetime

import msgspec

from remit.client.edits import Difference, Edited, wished
from remit.client.operations import Operation, Page, at


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """A revision, without what it says; `declaration.get` has that."""

    number: int
    time: datetime
    author: str
    reason: str
    digest: str


def list_all(*, limit: int | None = None, cursor: str | None = None) -> Operation[Page[Revision]]:
    """Every revision, newest first."""
    return Operation(
        id="revisions.list",
        method="GET",
        path=at("revisions"),
        answer=Page[Revision],
        query={"limit": limit, "cursor": cursor},
    )


def get(number: int) -> Operation[Revision]:
    """One revision."""
    return Operation(
        id="revisions.get", method="GET", path=at("revisions", number), answer=Revision
    )


def diff(number: int, *, against: int | None = None) -> Operation[Difference]:
    """What a revision changed, against the one before it or another."""
    return Operation(
        id="revisions.diff",
        method="GET",
        path=at("revisions", number, "diff"),
        answer=Difference,
        query={"against": against},
    )


def rollback(number: int, *, dry_run: bool = False, reason: str = "") -> Operation[Edited]:
    """Make what a revision said the declaration again, as a new revision."""
    return Operation(
        id="revisions.rollback",
        method="POST",
        path=at("revisions", number, "rollback"),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
    )

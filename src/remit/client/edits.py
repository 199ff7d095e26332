"""What a change of the declaration does, or would do."""

from collections.abc import Mapping

import msgspec


class DocumentChange(msgspec.Struct, frozen=True, kw_only=True):
    """A place of the declaration that differs.

    Attributes:
        path: Into the document.
        kind: `added`, `removed` or `changed`.
        value: What is there afterwards, in short.
    """

    path: str
    kind: str
    value: str


class AuthorityChange(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who gains or loses a tool.

    Attributes:
        subject: As `role:guest`.
        tool: As `server/tool`.
        change: `gains` or `loses`.
    """

    subject: str
    tool: str
    change: str
    rule: str
    reason: str


class Warned(msgspec.Struct, frozen=True, kw_only=True):
    """What the declaration may be used with, though somebody should look."""

    code: str
    message: str
    remedy: str


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the declaration.

    Attributes:
        name: Of what was changed.
        revision: That it made or would make.
        written: Whether it is in force.
    """

    name: str
    revision: int
    written: bool
    changes: tuple[DocumentChange, ...]
    authority: tuple[AuthorityChange, ...]
    warnings: tuple[Warned, ...]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How two revisions differ."""

    changes: tuple[DocumentChange, ...]
    authority: tuple[AuthorityChange, ...]


def wished(*, dry_run: bool, reason: str) -> Mapping[str, str | bool | None]:
    """Return the query of a change.

    Args:
        dry_run: Only tell what it would do.
        reason: Kept with the revision.
    """
    return {"dry_run": dry_run or None, "reason": reason or None}

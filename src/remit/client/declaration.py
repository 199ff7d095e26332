"""The declaration as a whole."""

from collections.abc import Mapping
from typing import Any

from remit.client.edits import Edited, wished
from remit.client.operations import Operation, at


def get(*, revision: int | None = None) -> Operation[dict[str, Any]]:
    """What is declared, now or by a revision; what looks like a secret is not shown."""
    return Operation(
        id="declaration.export",
        method="GET",
        path=at("declaration"),
        answer=dict[str, Any],
        query={"format": "json", "revision": revision},
    )


def text(*, revision: int | None = None) -> Operation[str]:
    """The same as YAML, for a file."""
    return Operation(
        id="declaration.export",
        method="GET",
        path=at("declaration"),
        answer=str,
        query={"format": "yaml", "revision": revision},
    )


def apply(
    document: Mapping[str, Any], *, if_match: str, dry_run: bool = False, reason: str = ""
) -> Operation[Edited]:
    """Make a whole document the declaration.

    Args:
        document: As a file says it.
        if_match: The `ETag` of what was read, or `*`.
        dry_run: Only tell what it would do.
        reason: Kept with the revision.
    """
    return Operation(
        id="declaration.apply",
        method="PUT",
        path=at("declaration"),
        answer=Edited,
        query=wished(dry_run=dry_run, reason=reason),
        body=document,
        if_match=if_match,
    )

"""A revision of the declaration (R18)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionSummary:
    """One numbered state of a tenant's declaration, without what it says.

    Attributes:
        number: Counts from 1 within the tenant.
        digest: Hex SHA-256 of the document in canonical JSON; equal documents have equal digests.
        author: SUBJECT spelling, or `cli` / `serve`.
        from_file: Whether a file said the same when it was written, or was found to later. What
            was written after the last such revision, a changed file must not overwrite (R18).
    """

    number: int
    tenant: str
    digest: str
    author: str
    reason: str
    created: datetime
    from_file: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision(RevisionSummary):
    """One numbered state of a tenant's declaration.

    Attributes:
        document: The declaration as plain data; `${NAME}` references unexpanded.
    """

    document: Mapping[str, object] = field(repr=False)

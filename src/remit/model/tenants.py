"""A tenant: a project with a declaration, callers and a record of its own (product.md)."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A project; also called workspace or organisation.

    Attributes:
        uuid: 36 characters, lower case; stands in paths, where a name could be a server's.
        name: Unique; stands in every row that belongs to the tenant, so it never changes.
        created: Aware UTC.
    """

    uuid: str
    name: str
    created: datetime

"""The schema of a datasource, and what was found in it that waits for a decision."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from remit.client.in_project import at, changing, reading
from remit.client.operations import Operation, Page


class SchemaColumn(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A column, as the database has it."""

    name: str
    type: str
    nullable: bool
    is_primary_key: bool
    default: str


class ForeignKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A foreign key of one column.

    Attributes:
        to_table: As `schema.table`.
    """

    column: str
    to_table: str
    to_column: str


class Table(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A table or view, as the database has it.

    Attributes:
        name: As `schema.table`.
        is_selected: Whether tools may use it.
        rows: As the database estimates it, or None.
    """

    name: str
    is_view: bool
    is_selected: bool
    rows: int | None
    columns: tuple[SchemaColumn, ...]
    foreign_keys: tuple[ForeignKey, ...]


class Schema(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a datasource was seen to hold.

    Attributes:
        refreshed: None before the first look.
        pending_changes: How many wait for a decision.
    """

    refreshed: datetime | None
    version: int
    tables: tuple[Table, ...]
    pending_changes: int


class Change(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that differs from what is known of the data.

    Attributes:
        type: Such as `new_table`.
        source: `schema_refresh`, `data_scan` or `manual`.
        table: As `schema.table`.
        action: What applying it does.
        status: `pending`, `approved`, `rejected` or `auto_applied`.
    """

    id: str
    datasource: str
    type: str
    source: str
    table: str
    column: str | None
    old: Any
    new: Any
    action: str
    payload: dict[str, Any]
    status: str
    created: datetime
    decided: datetime | None
    decided_by: str | None
    version: int


class Decided(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of all changes that waited.

    Attributes:
        skipped: That what is stated already outweighs.
    """

    approved: tuple[Change, ...]
    skipped: tuple[Change, ...]


def schema(tenant: str, datasource: str) -> Operation[Schema]:
    """What a datasource was seen to hold."""
    return reading("data_schema.get", _at(tenant, datasource, "schema"), Schema)


def refresh(
    tenant: str, datasource: str, *, auto_select: bool = True, reason: str = ""
) -> Operation[Schema]:
    """Look at a database anew; with *auto_select* tools may use new tables at once."""
    path = _at(tenant, datasource, "schema", "refresh")
    body = {"autoSelect": auto_select}
    return changing("data_schema.refresh", "POST", path, Schema, body=body, reason=reason)


def list_all(
    tenant: str,
    datasource: str,
    *,
    status: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Page[Change]]:
    """What was found to differ, oldest first; what waits, unless *status* says otherwise."""
    path = _at(tenant, datasource, "ontology", "changes")
    return reading(
        "data_changes.list", path, Page[Change], status=status, limit=limit, cursor=cursor
    )


def get(tenant: str, datasource: str, change: str) -> Operation[Change]:
    """One change."""
    path = _at(tenant, datasource, "ontology", "changes", change)
    return reading("data_changes.get", path, Change)


def approve(tenant: str, datasource: str, change: str, *, reason: str = "") -> Operation[Change]:
    """Apply a change."""
    path = _at(tenant, datasource, "ontology", "changes", change, "approve")
    return changing("data_changes.approve", "POST", path, Change, reason=reason)


def reject(tenant: str, datasource: str, change: str, *, reason: str = "") -> Operation[Change]:
    """Drop a change."""
    path = _at(tenant, datasource, "ontology", "changes", change, "reject")
    return changing("data_changes.reject", "POST", path, Change, reason=reason)


def approve_all(tenant: str, datasource: str, *, reason: str = "") -> Operation[Decided]:
    """Apply every change that waits and that nothing outweighs."""
    path = _at(tenant, datasource, "ontology", "changes", "approve-all")
    return changing("data_changes.approve_all", "POST", path, Decided, reason=reason)


def scan(
    tenant: str, datasource: str, tables: Sequence[str] | None = None, *, reason: str = ""
) -> Operation[Page[Change]]:
    """Look for new values and likely foreign keys; what was found is returned."""
    path = _at(tenant, datasource, "ontology", "changes", "scan")
    body = {"tables": None if tables is None else list(tables)}
    return changing("data_changes.scan", "POST", path, Page[Change], body=body, reason=reason)


def _at(tenant: str, datasource: str, *parts: str) -> str:
    return at(tenant, "datasources", datasource, *parts)

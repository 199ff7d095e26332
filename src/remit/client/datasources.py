"""The datasources of a project: what its `data` server works on.

A project is a tenant, by UUID or name; a datasource goes by its name or id.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from remit.client.in_project import at, changing, reading
from remit.client.operations import Operation


class Datasource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A datasource, without any password.

    Attributes:
        engine: `sqlite`, `postgresql` or `duckdb`.
        location: A path, or a URL without its password; empty for who neither administers nor
            audits, to whom `sensitive` is empty, too.
        has_password: Whether what it is read with is kept encrypted.
        tables: Patterns of those that may be used; None for every one.
        sensitive: Patterns of those whose use raises an alert.
        time_limit: Seconds that a statement may run.
    """

    id: str
    name: str
    engine: str
    location: str
    has_password: bool
    has_write_url: bool
    is_writable: bool
    schemas: tuple[str, ...]
    tables: tuple[str, ...] | None
    sensitive: tuple[str, ...]
    row_limit: int
    time_limit: float
    concurrency: int
    is_default: bool
    created: datetime
    updated: datetime
    version: int


class Trial(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of connecting to a datasource.

    Attributes:
        tables: How many may be used.
        warnings: What whoever reads could do beyond reading, a sentence each.
    """

    works: bool
    problem: str | None
    tables: int
    warnings: tuple[str, ...]
    ms: float


class Removed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A datasource that is there no longer."""

    name: str
    deleted: bool


def list_all(tenant: str) -> Operation[tuple[Datasource, ...]]:
    """Every datasource, by name."""
    return reading("datasources.list", _at(tenant), tuple[Datasource, ...])


def get(tenant: str, name: str) -> Operation[Datasource]:
    """One datasource."""
    return reading("datasources.get", _at(tenant, name), Datasource)


def add(
    tenant: str,
    name: str,
    *,
    engine: str,
    url: str,
    settings: Mapping[str, Any] | None = None,
    untested: bool = False,
    reason: str = "",
) -> Operation[Datasource]:
    """Add a datasource, once it has answered.

    Args:
        tenant: Whose.
        name: Unique in the tenant.
        engine: `sqlite`, `postgresql` or `duckdb`.
        url: A path on the gateway's machine, or the URL that PostgreSQL is read with.
        settings: More, in the spelling of the API (`isWritable`).
        untested: Whether it is added although it does not answer.
        reason: For the record.
    """
    body = {**(settings or {}), "name": name, "engine": engine, "url": url}
    made = changing("datasources.add", "POST", _at(tenant), Datasource, body=body, reason=reason)
    return _testing(made, untested=untested)


def change(
    tenant: str,
    name: str,
    patch: Mapping[str, Any],
    *,
    if_match: str,
    untested: bool = False,
    reason: str = "",
) -> Operation[Datasource]:
    """Change a datasource.

    Args:
        tenant: Whose.
        name: Which.
        patch: In the spelling of the API (`rowLimit`); what is not there stays.
        if_match: The `ETag` of what was read, or `*`.
        untested: Whether a new URL is kept although it does not answer.
        reason: For the record.
    """
    made = changing(
        "datasources.change",
        "PATCH",
        _at(tenant, name),
        Datasource,
        body=patch,
        if_match=if_match,
        reason=reason,
    )
    return _testing(made, untested=untested)


def remove(tenant: str, name: str, *, if_match: str, reason: str = "") -> Operation[Removed]:
    """Take a datasource away with its queries and all that is known of it; not its data."""
    return changing(
        "datasources.remove",
        "DELETE",
        _at(tenant, name),
        Removed,
        if_match=if_match,
        reason=reason,
    )


def test(tenant: str, name: str) -> Operation[Trial]:
    """Connect to a datasource and leave it again."""
    return Operation(
        id="datasources.test",
        method="POST",
        path=_at(tenant, name, "test"),
        answer=Trial,
        is_of_tenant=False,
        is_wrapped=True,
    )


def _at(tenant: str, *parts: str) -> str:
    return at(tenant, "datasources", *parts)


def _testing(operation: Operation[Datasource], *, untested: bool) -> Operation[Datasource]:
    asked = {**operation.query, "untested": untested or None}
    return replace(operation, query=asked)

"""Tenants of the installation; for its administrators."""

from datetime import datetime

import msgspec

from remit.client.operations import Operation, Page, at


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant.

    Attributes:
        id: A UUID, which stands for it in the paths of the MCP door.
        revision: Of its declaration, in force.
    """

    id: str
    name: str
    revision: int
    created: datetime


def list_all(*, limit: int | None = None, cursor: str | None = None) -> Operation[Page[Tenant]]:
    """Every tenant."""
    return Operation(
        id="tenants.list",
        method="GET",
        path=at("tenants"),
        answer=Page[Tenant],
        query={"limit": limit, "cursor": cursor},
        is_of_tenant=False,
    )


def get(name: str) -> Operation[Tenant]:
    """One tenant, by name or id."""
    return Operation(
        id="tenants.get",
        method="GET",
        path=at("tenants", name),
        answer=Tenant,
        is_of_tenant=False,
    )


def create(name: str, *, reason: str = "") -> Operation[Tenant]:
    """Make a tenant."""
    return Operation(
        id="tenants.create",
        method="POST",
        path=at("tenants"),
        answer=Tenant,
        query={"reason": reason or None},
        body={"name": name},
        is_of_tenant=False,
    )

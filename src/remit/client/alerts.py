"""The alerts of a project, and when they are raised (S2.48).

A project is a tenant, by UUID or name.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from remit.client.address import quoted
from remit.client.operations import Operation, Page
from remit.client.projects import Answer


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert.

    Attributes:
        type: Such as `sql_injection_detected`.
        severity: `info`, `warning` or `critical`.
        status: `open`, `resolved` or `dismissed`.
        user: Who did it, such as `user:ann` or `key:reports`.
        details: What was counted, and the threshold.
        about: Id of the execution or the call that raised it.
        closed_by: None while it is open.
        note: What whoever closed it had to say.
    """

    id: str
    type: str
    severity: str
    status: str
    user: str
    title: str
    details: dict[str, Any]
    about: str
    opened: datetime
    closed: datetime | None
    closed_by: str | None
    note: str


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """How many were resolved."""

    resolved: int


Rules = dict[str, dict[str, Any]]
"""Type of alert to its rule, in the shape of `alerts` in a declaration."""


def list_newest(
    tenant: str,
    *,
    status: str | None = None,
    type_: str | None = None,
    severity: str | None = None,
    user: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Answer[Page[Alert]]]:
    """Alerts, newest first.

    Args:
        tenant: Whose.
        status: Only `open`, `resolved` or `dismissed` ones.
        type_: Only those of that type.
        severity: Only those that matter so much.
        user: Only those about that caller.
        limit: Most of them; 100 if None.
        cursor: The `next` of the page before.
    """
    return Operation(
        id="alerts.list",
        method="GET",
        path=_at(tenant, "alerts"),
        answer=Answer[Page[Alert]],
        query={
            "status": status,
            "type": type_,
            "severity": severity,
            "user": user,
            "limit": limit,
            "cursor": cursor,
        },
        is_of_tenant=False,
    )


def resolve(
    tenant: str, alert_id: str, *, note: str = "", reason: str = ""
) -> Operation[Answer[Alert]]:
    """Close an alert about which something was done."""
    return _closing("resolve", tenant, alert_id, note, reason)


def dismiss(
    tenant: str, alert_id: str, *, note: str = "", reason: str = ""
) -> Operation[Answer[Alert]]:
    """Close an alert about which nothing need be done."""
    return _closing("dismiss", tenant, alert_id, note, reason)


def resolve_all(
    tenant: str,
    *,
    type_: str | None = None,
    user: str | None = None,
    note: str = "",
    reason: str = "",
) -> Operation[Answer[Resolved]]:
    """Resolve the open alerts, or those of a type or about a caller; a thousand at most."""
    return Operation(
        id="alerts.resolve_all",
        method="POST",
        path=_at(tenant, "alerts/resolve-all"),
        answer=Answer[Resolved],
        query={"reason": reason or None},
        body={"type": type_, "user": user, "note": note},
        is_of_tenant=False,
    )


def config(tenant: str) -> Operation[Answer[Rules]]:
    """Every rule as it is in force."""
    return Operation(
        id="alerts.config",
        method="GET",
        path=_at(tenant, "alert-config"),
        answer=Answer[Rules],
        is_of_tenant=False,
    )


def configure(
    tenant: str, rules: Mapping[str, Any], *, if_match: str = "", reason: str = ""
) -> Operation[Answer[Rules]]:
    """Make `alerts` of the declaration what *rules* says; what it leaves out is as by default.

    Args:
        tenant: Whose.
        rules: Type of alert to what is to differ from the default.
        if_match: The tag of the rules that this is made for; empty for whatever they are.
        reason: Why, for the record.
    """
    return Operation(
        id="alerts.configure",
        method="PUT",
        path=_at(tenant, "alert-config"),
        answer=Answer[Rules],
        query={"reason": reason or None},
        body=rules,
        if_match=if_match,
        is_of_tenant=False,
    )


def _closing(
    how: str, tenant: str, alert_id: str, note: str, reason: str
) -> Operation[Answer[Alert]]:
    return Operation(
        id=f"alerts.{how}",
        method="POST",
        path=_at(tenant, f"alerts/{quoted(alert_id)}/{how}"),
        answer=Answer[Alert],
        query={"reason": reason or None},
        body={"note": note},
        is_of_tenant=False,
    )


def _at(tenant: str, what: str) -> str:
    return f"/api/projects/{quoted(tenant)}/audit/{what}"

"""Approved queries of a project's datasources, and suggestions of them.

A project is a tenant, by UUID or name; a datasource goes by its name or id.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from remit.client.in_project import at, changing, reading, sending
from remit.client.operations import Operation, Page
from remit.model.data import CHANGEABLE


class Parameter(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A parameter.

    Attributes:
        type: Such as `date` or `integer[]`.
        example: For the dry run alone.
    """

    name: str
    type: str
    description: str = ""
    required: bool = True
    default: Any = None
    example: Any = None


class Column(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A column of a result."""

    name: str
    type: str
    description: str


class Query(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An approved query, or a suggestion of one or of a change of one.

    Attributes:
        datasource: The id of it.
        status: `pending`, `approved` or `rejected`.
        suggested_by: In SUBJECT spelling.
        changed: For an update, the fields that it changes.
        parent: Id of the query that it would change, or None.
    """

    id: str
    datasource: str
    name: str
    description: str
    sql: str
    dialect: str
    is_enabled: bool
    usage_count: int
    last_used: datetime | None
    parameters: tuple[Parameter, ...]
    output_columns: tuple[Column, ...]
    constraints: str
    status: str
    suggested_by: str
    suggestion_context: str
    changed: tuple[str, ...]
    tags: tuple[str, ...]
    allows_modification: bool
    reviewed_by: str | None
    reviewed: datetime | None
    rejection_reason: str | None
    parent: str | None
    created: datetime
    updated: datetime
    version: int


class Suggestion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A suggestion.

    Attributes:
        original: What it would change; None for a new query, or where that is gone.
        is_outdated: Whether the original was changed since.
    """

    query: Query
    original: Query | None
    is_outdated: bool

    @classmethod
    def of(cls, query: Query, original: Query | None) -> "Suggestion":
        """Return a suggestion beside what it would change, as `pending` has it."""
        is_outdated = original is not None and original.updated > query.created
        return cls(query=query, original=original, is_outdated=is_outdated)

    @property
    def merged(self) -> Query:
        """What would be in force: the suggestion, with what it does not change as it is by now."""
        if self.original is None:
            return self.query
        kept = {name: getattr(self.original, name) for name in _left(self.query.changed)}
        return msgspec.structs.replace(self.query, **kept)


class Deleted(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A query that was deleted.

    Attributes:
        rejected_updates: Pending updates of it that were rejected with it.
    """

    id: str
    rejected_updates: int


class Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an approved query gave.

    Attributes:
        rows: One list of JSON values a row.
        truncated: Whether there were more.
        rows_affected: None for one that reads.
    """

    query_name: str
    parameters_used: dict[str, Any]
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    row_count: int
    truncated: bool
    execution_time_ms: float
    rows_affected: int | None
    modified_data: bool


class Verdict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether something would do.

    Attributes:
        code: Of what is wrong, such as `parameter_validation`, or None.
    """

    valid: bool
    code: str | None = None
    error: str | None = None


class Trial(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a dry run found.

    Attributes:
        dry_run_rows: None or one; None where it was only explained.
    """

    dry_run_rows: int | None
    output_columns: tuple[Column, ...]
    allows_modification: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A query that is to be.

    Attributes:
        sql: One statement, with placeholders `{{name}}`.
        parameters: Objects such as `{"name": "since", "type": "date", "example": "2026-01-31"}`.
        output_columns: Column to what it means.
        constraints: What whoever uses it has to know.
    """

    name: str
    description: str
    sql: str
    parameters: Sequence[Mapping[str, Any]] = ()
    output_columns: Mapping[str, str] = field(default_factory=dict[str, str])
    constraints: str = ""
    tags: Sequence[str] = ()

    def body(self) -> dict[str, Any]:
        """Return it in the spelling of the API."""
        return {
            "name": self.name,
            "description": self.description,
            "sql": self.sql,
            "parameters": [dict(each) for each in self.parameters],
            "outputColumns": dict(self.output_columns),
            "constraints": self.constraints,
            "tags": list(self.tags),
        }


def list_all(
    tenant: str,
    datasource: str,
    *,
    status: str | None = None,
    tag: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Page[Query]]:
    """The queries of a datasource, oldest first; with *status* only those that stand there."""
    return reading(
        "queries.list",
        _at(tenant, datasource),
        Page[Query],
        status=status,
        tag=tag,
        limit=limit,
        cursor=cursor,
    )


def list_enabled(
    tenant: str,
    datasource: str,
    *,
    tag: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Page[Query]]:
    """The queries of a datasource that can be run, oldest first."""
    return reading(
        "queries.list_enabled",
        _at(tenant, datasource, "enabled"),
        Page[Query],
        tag=tag,
        limit=limit,
        cursor=cursor,
    )


def get(tenant: str, datasource: str, query: str) -> Operation[Query]:
    """One query; `ask_tagged` gives the tag that a change of it asks for."""
    return reading("queries.get", _at(tenant, datasource, query), Query)


def create(tenant: str, datasource: str, draft: Draft, *, reason: str = "") -> Operation[Query]:
    """Make an approved and enabled query."""
    path = _at(tenant, datasource)
    return changing("queries.create", "POST", path, Query, body=draft.body(), reason=reason)


def replace(
    tenant: str, datasource: str, query: str, draft: Draft, *, if_match: str, reason: str = ""
) -> Operation[Query]:
    """Make a query what *draft* says."""
    path = _at(tenant, datasource, query)
    return changing(
        "queries.replace", "PUT", path, Query, body=draft.body(), if_match=if_match, reason=reason
    )


def change(
    tenant: str,
    datasource: str,
    query: str,
    patch: Mapping[str, Any],
    *,
    if_match: str,
    reason: str = "",
) -> Operation[Query]:
    """Change what *patch* names, in the spelling of the API (`outputColumns`)."""
    path = _at(tenant, datasource, query)
    return changing(
        "queries.change", "PATCH", path, Query, body=patch, if_match=if_match, reason=reason
    )


def remove(
    tenant: str, datasource: str, query: str, *, if_match: str, reason: str = ""
) -> Operation[Deleted]:
    """Delete a query; pending updates of it are rejected."""
    path = _at(tenant, datasource, query)
    return changing("queries.remove", "DELETE", path, Deleted, if_match=if_match, reason=reason)


def enable(
    tenant: str, datasource: str, query: str, *, enabled: bool = True, reason: str = ""
) -> Operation[Query]:
    """Let a query be run, or not."""
    path = _at(tenant, datasource, query, "enabled")
    body = {"isEnabled": enabled}
    return changing("queries.enable", "PUT", path, Query, body=body, reason=reason)


def execute(
    tenant: str,
    datasource: str,
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limit: int = 100,
    reason: str = "",
) -> Operation[Result]:
    """Run a query with values by name."""
    path = _at(tenant, datasource, query, "execute")
    body = {"parameters": dict(parameters or {}), "limit": limit}
    return changing("queries.execute", "POST", path, Result, body=body, reason=reason)


def try_out(
    tenant: str, datasource: str, sql: str, parameters: Sequence[Mapping[str, Any]] = ()
) -> Operation[Trial]:
    """Run a statement dry, with the examples of its parameters."""
    path, body = _at(tenant, datasource, "test"), _trial(sql, parameters)
    return sending("queries.test", path, Trial, body)


def validate(tenant: str, datasource: str, sql: str) -> Operation[Verdict]:
    """Whether a statement without parameters would run."""
    return sending("queries.validate", _at(tenant, datasource, "validate"), Verdict, {"sql": sql})


def validate_parameters(
    tenant: str, datasource: str, sql: str, parameters: Sequence[Mapping[str, Any]] = ()
) -> Operation[Verdict]:
    """Whether placeholders and parameters match, and values their types."""
    path, body = _at(tenant, datasource, "validate-parameters"), _trial(sql, parameters)
    return sending("queries.validate_parameters", path, Verdict, body)


def pending(
    tenant: str,
    *,
    datasource: str | None = None,
    rejected: bool = False,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Page[Suggestion]]:
    """Suggestions that wait for a decision, or that were rejected, oldest first."""
    return reading(
        "queries.pending",
        at(tenant, "queries", "pending"),
        Page[Suggestion],
        datasource=datasource,
        rejected=rejected or None,
        limit=limit,
        cursor=cursor,
    )


def approve(
    tenant: str, suggestion: str, *, if_match: str = "", reason: str = ""
) -> Operation[Query]:
    """Approve a suggestion of somebody else; what is in force now is returned.

    Args:
        tenant: Its tenant.
        suggestion: The id of it.
        if_match: The tag of what was seen: of a change, that of the query that it changes. Then
            the API refuses where that is another by now (412).
        reason: For the record.
    """
    path = at(tenant, "queries", suggestion, "approve")
    return changing("queries.approve", "POST", path, Query, if_match=if_match, reason=reason)


def reject(tenant: str, suggestion: str, reason: str) -> Operation[Query]:
    """Reject a suggestion of somebody else, with a reason that its author reads."""
    path = at(tenant, "queries", suggestion, "reject")
    return sending("queries.reject", path, Query, {"reason": reason})


def move_to_pending(tenant: str, suggestion: str, *, reason: str = "") -> Operation[Query]:
    """Put a rejected suggestion back among those to be decided on."""
    path = at(tenant, "queries", suggestion, "move-to-pending")
    return changing("queries.move_to_pending", "POST", path, Query, reason=reason)


def _left(changed: Collection[str]) -> Sequence[str]:
    """Return the fields of a query that a change of these leaves as they are."""
    names = [name for name in CHANGEABLE if name not in changed]
    return names if "sql" in changed else [*names, "allows_modification"]


def _at(tenant: str, datasource: str, *parts: str) -> str:
    return at(tenant, "datasources", datasource, "queries", *parts)


def _trial(sql: str, parameters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"sql": sql, "parameters": [dict(each) for each in parameters]}

"""The record of a project's data: statements, calls, decisions and changes."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import msgspec

from remit.client.data_changes import Change
from remit.client.in_project import at, changing, reading
from remit.client.operations import Operation, Page


class Execution(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A statement that ran, or was refused.

    Attributes:
        query: Id of the approved query, or None for one of the caller's own.
        sql: Literals are blanked.
        user: In SUBJECT spelling.
        source: `mcp` or `api`.
        code: Of what went wrong, or None.
        flags: Such as `injection` or `sensitive`.
    """

    id: str
    datasource: str
    query: str | None
    tool: str
    sql: str
    parameters: dict[str, Any]
    user: str
    source: str
    started: datetime
    ms: float
    row_count: int
    rows_affected: int | None
    is_modifying: bool
    success: bool
    code: str | None
    error: str | None
    flags: tuple[str, ...]
    tables: tuple[str, ...]


class Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A call of a tool, or a change by the API, as it ended.

    Attributes:
        id: Of the request.
        source: `mcp` or `api`.
        operation: The tool, or the operation of the API.
        decision: `allow` or `deny`.
        arguments: JSON, redacted and cut to the cap.
        result_size: Bytes.
    """

    id: str
    time: datetime
    user: str
    agent: str | None
    source: str
    operation: str
    decision: str
    layer: str | None
    rule: str | None
    outcome: str
    code: str | None
    error: str | None
    ms: float
    revision: int
    arguments: str
    result_size: int


class Summary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What happened in a time, in numbers.

    Attributes:
        users: Executions of each caller.
        codes: Failures of each code.
        is_partial: Whether older executions of the time are left out.
    """

    since: datetime
    until: datetime
    executions: int
    failed: int
    modifying: int
    flagged: int
    rows: int
    users: dict[str, int]
    codes: dict[str, int]
    is_partial: bool
    pending_queries: int
    pending_changes: int


class Retention(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long the record is kept; None for no such bound."""

    days: int | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What an entry must be like; what is None may be anything.

    Attributes:
        user: In SUBJECT spelling.
        since: From it on.
        until: Before it.
    """

    user: str | None = None
    since: datetime | None = None
    until: datetime | None = None


ANY = Filter()
"""Every entry."""


def executions(
    tenant: str,
    wanted: Filter = ANY,
    *,
    query: str | None = None,
    datasource: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Page[Execution]]:
    """What ran and what was refused, newest first; of one approved *query*, if one is named."""
    return reading(
        "data_audit.executions",
        _at(tenant, "query-executions"),
        Page[Execution],
        query=query,
        datasource=datasource,
        limit=limit,
        cursor=cursor,
        **asdict(wanted),
    )


def approvals(
    tenant: str, wanted: Filter = ANY, *, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[Event]]:
    """Decisions on suggested queries, newest first."""
    path = _at(tenant, "query-approvals")
    return _events("data_audit.approvals", path, wanted, limit=limit, cursor=cursor)


def ontology_changes(
    tenant: str, wanted: Filter = ANY, *, limit: int | None = None, cursor: str | None = None
) -> Operation[Page[Event]]:
    """Who changed what something means, newest first."""
    path = _at(tenant, "ontology-changes")
    return _events("data_audit.ontology_changes", path, wanted, limit=limit, cursor=cursor)


def mcp_events(
    tenant: str,
    wanted: Filter = ANY,
    *,
    tool: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Page[Event]]:
    """Every call of a tool of the `data` server, or of one *tool*, newest first."""
    path = _at(tenant, "mcp-events")
    return _events("data_audit.mcp_events", path, wanted, tool=tool, limit=limit, cursor=cursor)


def schema_changes(
    tenant: str,
    wanted: Filter = ANY,
    *,
    status: str | None = None,
    datasource: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Page[Change]]:
    """What databases were found to hold that was not known, newest first."""
    return reading(
        "data_audit.schema_changes",
        _at(tenant, "schema-changes"),
        Page[Change],
        status=status,
        datasource=datasource,
        limit=limit,
        cursor=cursor,
        **asdict(wanted),
    )


def summary(
    tenant: str, *, since: datetime | None = None, until: datetime | None = None
) -> Operation[Summary]:
    """What happened, in numbers: in the last day, if nobody says since when."""
    path = _at(tenant, "summary")
    return reading("data_audit.summary", path, Summary, since=since, until=until)


def retention(tenant: str) -> Operation[Retention]:
    """How long the record of the project is kept."""
    return reading("data_audit.retention", _at(tenant, "retention"), Retention)


def retain(
    tenant: str, *, days: int | None, rows: int | None, if_match: str = "", reason: str = ""
) -> Operation[Retention]:
    """Say how long the record is kept.

    Args:
        tenant: Whose.
        days: Rows that are older go; None for no such bound.
        rows: How many stay at most; likewise.
        if_match: The tag of what this is made for; empty for whatever is declared.
        reason: Why, for the record.
    """
    return changing(
        "data_audit.retain",
        "PUT",
        _at(tenant, "retention"),
        Retention,
        body={"days": days, "rows": rows},
        if_match=if_match,
        reason=reason,
    )


def _events(name: str, path: str, wanted: Filter, **asked: Any) -> Operation[Page[Event]]:
    return reading(name, path, Page[Event], **asdict(wanted), **asked)


def _at(tenant: str, what: str) -> str:
    return at(tenant, "audit", what)

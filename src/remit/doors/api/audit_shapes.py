"""What the record of a project's data shows: statements, calls, changes (S2.38, S2.46, S2.48)."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from remit.admin.schema import MOST_OF_ANYTHING
from remit.doors.api.camel import CamelBody, CamelShape
from remit.model.calls import OutcomeKind
from remit.model.data import Execution
from remit.model.events import ADMINISTRATION, AuditEvent
from remit.model.ontology import ChangeSource, ChangeStatus, ChangeType, PendingChange
from remit.model.retention import LONGEST_RETENTION, Retention


class ExecutionShape(CamelShape):
    """A statement that ran, or was refused."""

    id: str
    datasource: str = Field(description="Its id.")
    query: str | None = Field(description="Id of the approved query; null for one of one's own.")
    tool: str
    sql: str = Field(description="Cut at 10 KB; literals are blanked.")
    parameters: dict[str, Any] = Field(description="Values of sensitive names are replaced.")
    user: str = Field(description="In SUBJECT spelling.")
    source: str = Field(description="`mcp` or `api`.")
    started: datetime
    ms: float
    row_count: int
    rows_affected: int | None
    is_modifying: bool
    success: bool
    code: str | None = Field(description="Of what went wrong.")
    error: str | None
    flags: list[str] = Field(description="Such as `injection` or `sensitive`.")
    tables: list[str]

    @classmethod
    def of(cls, ran: Execution) -> "ExecutionShape":
        """Show an execution."""
        return cls(
            id=ran.id,
            datasource=ran.datasource,
            query=ran.query or None,
            tool=ran.tool,
            sql=ran.sql,
            parameters=dict(ran.parameters),
            user=ran.user,
            source=ran.source,
            started=ran.started,
            ms=ran.ms,
            row_count=ran.row_count,
            rows_affected=ran.rows_affected,
            is_modifying=ran.is_modifying,
            success=not ran.code,
            code=ran.code or None,
            error=ran.error or None,
            flags=list(ran.flags),
            tables=list(ran.tables),
        )


class EventShape(CamelShape):
    """A call of a tool, or a change by the API, as it ended."""

    id: str = Field(description="The request id that the caller was given.")
    time: datetime
    user: str = Field(description="In SUBJECT spelling.")
    agent: str | None
    source: Literal["mcp", "api"]
    operation: str = Field(description="The tool, or the operation of the API.")
    decision: Literal["allow", "deny"]
    layer: str | None = Field(description="That denied.")
    rule: str | None = Field(description="That denied, or allowed.")
    outcome: OutcomeKind
    code: str | None
    error: str | None
    ms: float
    revision: int
    arguments: str = Field(description="JSON, redacted and cut to the cap.")
    result_size: int = Field(description="Bytes.")

    @classmethod
    def of(cls, event: AuditEvent) -> "EventShape":
        """Show an event."""
        return cls(
            id=event.call_id,
            time=event.time,
            user=event.principal,
            agent=event.agent,
            source="api" if event.server == ADMINISTRATION else "mcp",
            operation=event.tool,
            decision="deny" if event.decision == "deny" else "allow",
            layer=event.layer or None,
            rule=event.rule or None,
            outcome=OutcomeKind(event.outcome),
            code=event.code or None,
            error=event.error,
            ms=event.ms,
            revision=event.revision,
            arguments=event.arguments,
            result_size=event.result_size,
        )


class ChangeShape(CamelShape):
    """Something that differs from what is known of the data (S2.44)."""

    id: str
    datasource: str = Field(description="Its id.")
    type: ChangeType
    source: ChangeSource
    table: str = Field(description="`schema.table`.")
    column: str | None
    old: Any = Field(description="Any JSON.")
    new: Any = Field(description="Any JSON.")
    action: str = Field(description="What applying it does.")
    payload: dict[str, Any]
    status: ChangeStatus
    created: datetime
    decided: datetime | None
    decided_by: str | None
    version: int

    @classmethod
    def of(cls, change: PendingChange) -> "ChangeShape":
        """Show a change."""
        return cls(
            id=change.id,
            datasource=change.datasource,
            type=change.type,
            source=change.source,
            table=change.table,
            column=change.column or None,
            old=change.old,
            new=change.new,
            action=change.action,
            payload=dict(change.payload),
            status=change.status,
            created=change.created,
            decided=change.decided,
            decided_by=change.decided_by or None,
            version=change.version,
        )


class SummaryShape(CamelShape):
    """What happened since a moment, in numbers."""

    since: datetime
    until: datetime
    executions: int
    failed: int = Field(description="Of them: refused, or failed in the database.")
    modifying: int = Field(description="Of them: those that change something.")
    flagged: int = Field(description="Of them: those that the screen or an alert wants known.")
    rows: int = Field(description="That all of them gave.")
    users: dict[str, int] = Field(description="Executions of each caller.")
    codes: dict[str, int] = Field(description="Failures of each code.")
    is_partial: bool = Field(description="Whether older executions of the time are left out.")
    pending_queries: int = Field(description="Suggestions that wait for a decision now.")
    pending_changes: int = Field(description="Changes of the data that wait for one now.")


Days = Annotated[int | None, Field(ge=1, le=LONGEST_RETENTION)]
Rows = Annotated[int | None, Field(ge=1, le=MOST_OF_ANYTHING)]


class RetentionShape(CamelBody):
    """How long the record of the project is kept; null for no such bound."""

    days: Days = Field(default=None, description="Rows that are older go.")
    rows: Rows = Field(default=None, description="How many stay at most.")

    @classmethod
    def of(cls, retention: Retention) -> "RetentionShape":
        """Show what is declared."""
        return cls(days=retention.days, rows=retention.rows)

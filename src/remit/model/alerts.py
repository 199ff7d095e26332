"""Alerts: what somebody should look at in what callers do with data (S2.48).

What raises them is read as two streams: statements, as executions have them (S2.38), and ended
calls of the `data` server, as the record has them (R28).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class AlertType(StrEnum):
    """What an alert is raised for."""

    SQL_INJECTION_DETECTED = "sql_injection_detected"
    UNUSUAL_QUERY_VOLUME = "unusual_query_volume"
    SENSITIVE_TABLE_ACCESS = "sensitive_table_access"
    LARGE_DATA_EXPORT = "large_data_export"
    AFTER_HOURS_ACCESS = "after_hours_access"
    NEW_USER_HIGH_VOLUME = "new_user_high_volume"
    REPEATED_ERRORS = "repeated_errors"


class Severity(StrEnum):
    """How much it matters."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class AlertStatus(StrEnum):
    """Where it stands."""

    OPEN = "open"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert; one is open for each user and type in an hour.

    Attributes:
        user: In SUBJECT spelling.
        about: Id of the execution or the call that it was raised for, which never raises it again.
        title: One line, without any value that a caller sent.
        details: What it was raised for, such as `executions`, `rows`, `threshold`.
        closed_by: In SUBJECT spelling, or empty.
        note: What whoever closed it had to say.
    """

    id: str
    tenant: str
    type: AlertType
    user: str
    about: str
    severity: Severity
    title: str
    details: Mapping[str, object] = field(default_factory=dict[str, object])
    status: AlertStatus = AlertStatus.OPEN
    opened: datetime
    closed: datetime | None = None
    closed_by: str = ""
    note: str = ""
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What alerts want to know of a statement that ran, or was refused.

    Attributes:
        seq: Its number in the stream of all of them.
        id: The execution's.
        at: When it was begun.
        rows: In the answer.
        source: By which it came, `mcp` or `api`.
    """

    seq: int
    id: str
    tenant: str
    user: str
    tool: str
    at: datetime
    rows: int
    source: str = "mcp"
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCall:
    """What alerts want to know of a call of a `data` server.

    Attributes:
        seq: Its number in the record.
        id: By which the caller and an administrator find it (R14).
        error: A code of ours, or empty where the call went well.
    """

    seq: int
    id: str
    tenant: str
    user: str
    at: datetime
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """How far both streams have been read: the numbers up to which everything is dealt with."""

    statements: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What happened after some places; lowest numbers first.

    Attributes:
        read: How far this goes.
        settled: Up to where nothing can come any more, which is where to begin the next time.
        has_more: Whether there is more than what was asked for.
    """

    before: Places
    read: Places
    settled: Places
    statements: Sequence[Statement] = ()
    calls: Sequence[EndedCall] = ()
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LookBack:
    """How far back rules look at what one caller did.

    Attributes:
        first_since: If the caller's first statement is not older, all of them are looked at.
        failed_since: None where no call failed.
        most: Statements, and failed calls.
        most_answers: Answers with rows.
    """

    statements_since: datetime
    first_since: datetime
    failed_since: datetime | None
    most: int
    most_answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a caller did before, as far as any rule looks back.

    Attributes:
        first: When its first statement was begun; None where it has had none.
        statements: Newest last, those of the news among them.
        answers: When those with rows in their answer were begun, and how many rows; newest last,
            and further back than *statements* where those are many.
        failed: Calls that failed, newest last, those of the news among them.
        alerts: The latest of each type.
    """

    first: datetime | None = None
    statements: Sequence[Statement] = ()
    answers: Sequence[tuple[datetime, int]] = ()
    failed: Sequence[EndedCall] = ()
    alerts: Mapping[AlertType, Alert] = field(default_factory=dict[AlertType, Alert])

"""The nouns of the `data` server: datasources, approved queries, and what ran (S2.29-S2.38).

A query, and what is suggested for it:

    suggested ──▶ PENDING ──approve──▶ APPROVED  (a new one)
                   │  ▲  └─approve──▶ merged into its parent, and gone  (an update)
            reject │  │ move to pending
                   ▼  │
                 REJECTED

Every value that changes has a version: who writes it says which one it has seen, so that of two who
change one thing at once the second looks again (`storage/queries.py`). Version 0 is of a new one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal
from uuid import UUID

MOST_ROWS: Final = 1000
"""Rows that any reading statement gives at most (S2.37)."""

MOST_SECONDS: Final = 30.0
"""How long any statement may run (S2.10)."""

Screening = Literal["refuse", "alert"]
"""What becomes of a value that looks like an injection (R35)."""

Bound = str | int | float | bool | Decimal | date | datetime | UUID | None | Sequence[str | int]
"""A value that is bound to a statement, never spliced into it."""


class EngineKind(StrEnum):
    """What a datasource is."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"
    DUCKDB = "duckdb"


class DataCode(StrEnum):
    """What a data tool says went wrong (S2.45), in one case; permanent."""

    AUTHENTICATION_REQUIRED = "authentication_required"
    INVALID_PARAMETERS = "invalid_parameters"
    VALIDATION_ERROR = "validation_error"
    INVALID_SQL = "invalid_sql"
    INVALID_SQL_TYPE = "invalid_sql_type"
    NOT_FOUND = "not_found"
    INVALID_STATE = "invalid_state"
    RESOURCE_CONFLICT = "resource_conflict"
    PRECEDENCE_BLOCKED = "precedence_blocked"
    PARAMETER_VALIDATION = "parameter_validation"
    TYPE_VALIDATION = "type_validation"
    QUERY_ERROR = "query_error"
    SECURITY_VIOLATION = "security_violation"
    APPROVAL_FAILED = "approval_failed"
    REJECTION_FAILED = "rejection_failed"
    SERVICE_UNAVAILABLE = "service_unavailable"
    NO_DATASOURCE = "no_datasource"
    TABLE_NOT_SELECTED = "table_not_selected"
    QUERY_NOT_FOUND = "query_not_found"
    QUERY_NOT_APPROVED = "query_not_approved"
    QUERY_NOT_AUTHORIZED = "query_not_authorized"
    QUERY_ACCESS_DENIED = "query_access_denied"
    ENTITY_NOT_FOUND = "entity_not_found"
    COLUMN_NOT_FOUND = "column_not_found"
    TABLE_NOT_FOUND = "table_not_found"
    FACT_NOT_FOUND = "fact_not_found"
    TERM_NOT_FOUND = "term_not_found"
    QUESTION_NOT_FOUND = "question_not_found"
    RELATIONSHIP_NOT_FOUND = "relationship_not_found"
    # what the database says of a statement
    SYNTAX_ERROR = "syntax_error"
    UNDEFINED_COLUMN = "undefined_column"
    UNDEFINED_TABLE = "undefined_table"
    UNIQUE_VIOLATION = "unique_violation"
    FOREIGN_KEY_VIOLATION = "foreign_key_violation"
    NOT_NULL_VIOLATION = "not_null_violation"
    CHECK_VIOLATION = "check_violation"
    VALUE_TOO_LONG = "value_too_long"
    NUMERIC_OUT_OF_RANGE = "numeric_out_of_range"
    INVALID_DATETIME = "invalid_datetime"
    DIVISION_BY_ZERO = "division_by_zero"
    INVALID_INPUT = "invalid_input"
    DATA_EXCEPTION = "data_exception"
    CONSTRAINT_VIOLATION = "constraint_violation"
    SQL_ERROR = "sql_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Datasource:
    """A database that the tools work on.

    Attributes:
        name: Unique in the tenant.
        location: Where it is, without any password, as it is shown: a path, or a URL.
        reader: The URL that is read with, encrypted; empty where there is no secret in it.
        writer: The URL that is written with, encrypted; empty where nothing may be.
        is_writable: Whether approved queries that modify, and `execute`, may run on it.
        schemas: Schemas that may be used; empty for the engine's usual one.
        tables: Tables that may be used, as `table` or `schema.table` with `*` for any run of
            characters; None for every one of the schemas, and an empty one for none (R8).
        sensitive: Tables, spelled likewise, whose use raises an alert (S2.48).
        row_limit: Most rows of an answer.
        time_limit: Seconds that a statement may run.
        concurrency: How many statements run on it at once, in one process.
        is_default: Whether it is meant where a call names none.
    """

    id: str
    tenant: str
    name: str
    engine: EngineKind
    location: str
    reader: str = field(default="", repr=False)
    writer: str = field(default="", repr=False)
    is_writable: bool = False
    schemas: tuple[str, ...] = ()
    tables: tuple[str, ...] | None = None
    sensitive: tuple[str, ...] = ()
    row_limit: int = MOST_ROWS
    time_limit: float = MOST_SECONDS
    concurrency: int = 60
    is_default: bool = False
    created: datetime
    updated: datetime
    version: int = 0


class ParameterType(StrEnum):
    """What a parameter's values are (S2.32)."""

    STRING = "string"
    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    UUID = "uuid"
    STRINGS = "string[]"
    INTEGERS = "integer[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of an approved query (S2.32).

    Attributes:
        default: As JSON has it; None for none.
        example: As JSON has it, for the dry run alone; None for none.
    """

    name: str
    type: ParameterType
    description: str = ""
    required: bool = True
    default: object = None
    example: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a result.

    Attributes:
        type: In the engine's words, lower case; empty where the engine does not say.
    """

    name: str
    type: str = ""
    description: str = ""


class QueryStatus(StrEnum):
    """Where a query stands (S2.30)."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


CHANGEABLE: Final = (
    "name",
    "description",
    "sql",
    "parameters",
    "output_columns",
    "constraints",
    "tags",
    "is_enabled",
)
"""Fields of a query that a change may give another value, as `changed` names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """An approved query, or a suggestion of one or of a change of one (S2.30).

    Attributes:
        datasource: Id of the datasource it runs on.
        sql: With placeholders `{{name}}`.
        constraints: What whoever uses it has to know.
        suggested_by: In SUBJECT spelling.
        suggestion_context: Why it was suggested.
        changed: For an update, the fields that it changes.
        reviewed_by: In SUBJECT spelling, or empty.
        parent: Id of the query that it would change, or empty.
        deleted: When it was taken away, or None.
    """

    id: str
    tenant: str
    datasource: str
    name: str
    description: str
    sql: str
    dialect: EngineKind
    is_enabled: bool = False
    usage_count: int = 0
    last_used: datetime | None = None
    parameters: tuple[Parameter, ...] = ()
    output_columns: tuple[Column, ...] = ()
    constraints: str = ""
    status: QueryStatus = QueryStatus.PENDING
    suggested_by: str
    suggestion_context: str = ""
    changed: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    allows_modification: bool = False
    reviewed_by: str = ""
    reviewed: datetime | None = None
    rejection_reason: str = ""
    parent: str = ""
    deleted: datetime | None = None
    created: datetime
    updated: datetime
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What a statement gave.

    Attributes:
        rows: Values as JSON has them, one list a row.
        truncated: Whether there were more rows than were asked for.
        rows_affected: Of a statement that modifies; None for one that reads.
        ms: Milliseconds that it ran.
    """

    columns: tuple[Column, ...] = ()
    rows: Sequence[Sequence[object]] = ()
    truncated: bool = False
    rows_affected: int | None = None
    ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """A statement that a caller had run, or that was refused (S2.38).

    Attributes:
        query: Id of the approved query, or empty for one of the caller's own.
        tool: Such as `execute_approved_query`.
        sql: As given, cut at 10 KB, literals blanked where they may hold secrets (S2.47).
        parameters: As JSON, values of sensitive names replaced.
        user: In SUBJECT spelling.
        source: `mcp` or `api`.
        row_count: Rows in the answer.
        code: A `DataCode`, or empty for success.
        flags: What the screen or an alert wants to know of it, such as `injection` or `sensitive`.
    """

    id: str
    tenant: str
    datasource: str
    query: str = ""
    tool: str
    sql: str
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    user: str
    source: str = "mcp"
    started: datetime
    ms: float = 0.0
    row_count: int = 0
    rows_affected: int | None = None
    is_modifying: bool = False
    code: str = ""
    error: str = ""
    flags: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

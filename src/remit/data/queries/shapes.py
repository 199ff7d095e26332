"""What the tools on queries give, with its schemas: snake_case, times in ISO 8601."""

from datetime import datetime
from typing import Final

from remit.data.desk import Desk, Result
from remit.data.queries.checks import Validation
from remit.data.queries.execution import Executed
from remit.data.queries.history import Entry
from remit.data.queries.suggestions import Suggestion, Written
from remit.model.data import Column, Parameter, Query, QueryStatus, Rows
from remit.policy.toolsets import Audience
from remit.servers.shapes import (
    ANY,
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    NUMBER,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    list_of,
    one_of,
    record,
)

_STATUS: Final = one_of(*QueryStatus)
_COLUMN: Final = record(name=TEXT, type=TEXT, description=TEXT)
_RESULT_COLUMN: Final = record(name=TEXT, type=TEXT)
_ROWS: Final = list_of({"type": "array", "items": ANY})
_VALUES: Final[Schema] = {"type": "object"}
_PARAMETER: Final = record(
    ("default", "example"),
    name=TEXT,
    type=TEXT,
    description=TEXT,
    required=FLAG,
    default=ANY,
    example=ANY,
)
VALIDATION: Final = record(
    sql_valid=FLAG, dry_run_rows=COUNT_OR_NULL, detected_output_columns=list_of(_COLUMN)
)

ROWS: Final = record(
    columns=list_of(_RESULT_COLUMN),
    rows=_ROWS,
    row_count=COUNT,
    truncated=FLAG,
    execution_time_ms=NUMBER,
)
CHANGED: Final = record(
    columns=list_of(_RESULT_COLUMN),
    rows=_ROWS,
    row_count=COUNT,
    truncated=FLAG,
    rows_affected=COUNT_OR_NULL,
    execution_time_ms=NUMBER,
)
EXECUTED: Final = record(
    ("rows_affected", "modified_data"),
    query_id=TEXT,
    query_name=TEXT,
    parameters_used=_VALUES,
    columns=list_of(_RESULT_COLUMN),
    rows=_ROWS,
    row_count=COUNT,
    truncated=FLAG,
    execution_time_ms=NUMBER,
    rows_affected=COUNT_OR_NULL,
    modified_data=FLAG,
)
QUERY: Final = record(
    ("sql",),
    query_id=TEXT,
    name=TEXT,
    description=TEXT,
    sql=TEXT,
    parameters=list_of(_PARAMETER),
    output_columns=list_of(_COLUMN),
    constraints=TEXT,
    tags=list_of(TEXT),
    dialect=TEXT,
    datasource_id=TEXT,
    allows_modification=FLAG,
)
SUGGESTED: Final = record(suggestion_id=TEXT, status=_STATUS, validation=VALIDATION, message=TEXT)
WRITTEN: Final = record(
    query_id=TEXT_OR_NULL,
    suggestion_id=TEXT_OR_NULL,
    status=_STATUS,
    validation=VALIDATION,
    message=TEXT,
)
_FIELDS: Final = record(
    name=TEXT,
    description=TEXT,
    sql=TEXT,
    parameters=list_of(_PARAMETER),
    output_columns=list_of(_COLUMN),
    constraints=TEXT,
    tags=list_of(TEXT),
    is_enabled=FLAG,
)
SUGGESTION: Final = record(
    ("original",),
    suggestion_id=TEXT,
    type=one_of("new", "update"),
    status=_STATUS,
    query_id=TEXT_OR_NULL,
    datasource_id=TEXT,
    suggested_by=TEXT,
    context=TEXT,
    changed_fields=list_of(TEXT),
    suggested=_FIELDS,
    original=_FIELDS,
    original_changed_since=FLAG,
    allows_modification=FLAG,
    rejection_reason=TEXT,
    created_at=TEXT,
    reviewed_by=TEXT,
)
DECIDED: Final = record(
    suggestion_id=TEXT, query_id=TEXT, status=_STATUS, is_enabled=FLAG, message=TEXT
)
DELETED: Final = record(query_id=TEXT, rejected_suggestions=COUNT, message=TEXT)
ENTRY: Final = record(
    execution_id=TEXT,
    query_id=TEXT_OR_NULL,
    natural_language=TEXT,
    tool=TEXT,
    sql=TEXT,
    query_type=one_of("read", "modify"),
    tables_used=list_of(TEXT),
    parameters=_VALUES,
    user=TEXT,
    executed_at=TEXT,
    execution_time_ms=NUMBER,
    row_count=COUNT,
    rows_affected=COUNT_OR_NULL,
    success=FLAG,
    error_code=TEXT,
    error_message=TEXT,
)


def rows_result(rows: Rows) -> Result:
    """Return what a statement gave."""
    return {
        "columns": [{"name": each.name, "type": each.type} for each in rows.columns],
        "rows": [list(row) for row in rows.rows],
        "row_count": len(rows.rows),
        "truncated": rows.truncated,
        "execution_time_ms": round(rows.ms, 3),
    }


def executed_result(executed: Executed) -> Result:
    """Return what an approved query gave (S2.37)."""
    result = {
        "query_id": executed.query.id,
        "query_name": executed.query.name,
        "parameters_used": dict(executed.parameters),
        **rows_result(executed.rows),
    }
    if executed.query.allows_modification:
        result |= {"rows_affected": executed.rows.rows_affected, "modified_data": True}
    return result


def query_result(desk: Desk, query: Query) -> Result:
    """Return an approved query as its callers see it; a service key does not see its SQL."""
    shown: Result = {
        "query_id": query.id,
        "name": query.name,
        "description": query.description,
        "parameters": [_parameter(each) for each in query.parameters],
        "output_columns": [_column(each) for each in query.output_columns],
        "constraints": query.constraints,
        "tags": list(query.tags),
        "dialect": query.dialect.value,
        "datasource_id": query.datasource,
        "allows_modification": query.allows_modification,
    }
    return shown if desk.audience is Audience.SERVICE else {**shown, "sql": query.sql}


def suggested_result(written: Written) -> Result:
    """Return what was suggested (S2.35)."""
    return {
        "suggestion_id": written.query.id,
        "status": written.query.status.value,
        "validation": _validation(written.validation),
        "message": "suggested; it counts once somebody with the role admin, data or developer"
        " approves it",
    }


def written_result(written: Written) -> Result:
    """Return what was written directly, or became a suggestion and says so (R13)."""
    if written.query.status is QueryStatus.PENDING:
        return {**suggested_result(written), "query_id": written.query.parent or None}
    return {
        "query_id": written.query.id,
        "suggestion_id": None,
        "status": written.query.status.value,
        "validation": _validation(written.validation),
        "message": "in force",
    }


def suggestion_result(suggestion: Suggestion) -> Result:
    """Return a suggestion as reviewers see it."""
    query = suggestion.query
    shown: Result = {
        "suggestion_id": query.id,
        "type": "update" if query.parent else "new",
        "status": query.status.value,
        "query_id": query.parent or None,
        "datasource_id": query.datasource,
        "suggested_by": query.suggested_by,
        "context": query.suggestion_context,
        "changed_fields": list(query.changed),
        "suggested": _fields(query),
        "original_changed_since": suggestion.is_outdated,
        "allows_modification": query.allows_modification,
        "rejection_reason": query.rejection_reason,
        "created_at": _iso(query.created),
        "reviewed_by": query.reviewed_by,
    }
    if suggestion.original is not None:
        shown["original"] = _fields(suggestion.original)
    return shown


def decided_result(suggestion_id: str, query: Query, message: str) -> Result:
    """Return what was decided on a suggestion."""
    return {
        "suggestion_id": suggestion_id,
        "query_id": query.parent or query.id,
        "status": query.status.value,
        "is_enabled": query.is_enabled,
        "message": message,
    }


def entry_result(entry: Entry) -> Result:
    """Return a statement that ran."""
    ran = entry.execution
    return {
        "execution_id": ran.id,
        "query_id": ran.query or None,
        "natural_language": entry.name,
        "tool": ran.tool,
        "sql": ran.sql,
        "query_type": "modify" if ran.is_modifying else "read",
        "tables_used": list(ran.tables),
        "parameters": dict(ran.parameters),
        "user": ran.user,
        "executed_at": _iso(ran.started),
        "execution_time_ms": round(ran.ms, 3),
        "row_count": ran.row_count,
        "rows_affected": ran.rows_affected,
        "success": not ran.code,
        "error_code": ran.code,
        "error_message": ran.error,
    }


def _validation(validation: Validation) -> Result:
    return {
        "sql_valid": True,
        "dry_run_rows": validation.dry_run_rows,
        "detected_output_columns": [_column(each) for each in validation.output_columns],
    }


def _fields(query: Query) -> Result:
    return {
        "name": query.name,
        "description": query.description,
        "sql": query.sql,
        "parameters": [_parameter(each) for each in query.parameters],
        "output_columns": [_column(each) for each in query.output_columns],
        "constraints": query.constraints,
        "tags": list(query.tags),
        "is_enabled": query.is_enabled,
    }


def _parameter(parameter: Parameter) -> Result:
    shown: Result = {
        "name": parameter.name,
        "type": parameter.type.value,
        "description": parameter.description,
        "required": parameter.required,
    }
    if parameter.default is not None:
        shown["default"] = parameter.default
    if parameter.example is not None:
        shown["example"] = parameter.example
    return shown


def _column(column: Column) -> Result:
    return {"name": column.name, "type": column.type, "description": column.description}


def _iso(time: datetime) -> str:
    return time.isoformat()

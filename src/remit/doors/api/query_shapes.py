"""Approved queries and suggestions as `/api/projects` shows and takes them (S2.30-S2.37)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from remit.data.queries.drafts import (
    LONGEST_TAG,
    MOST_PARAMETERS,
    MOST_TAGS,
    Draft,
    Edit,
    parameters_of,
)
from remit.data.queries.execution import USUAL_ROWS, Executed
from remit.doors.api.bodies import storable
from remit.doors.api.camel import CamelBody, CamelShape
from remit.model.data import (
    MOST_ROWS,
    Column,
    EngineKind,
    Parameter,
    ParameterType,
    Query,
    QueryStatus,
    Rows,
)
from remit.servers.shapes import LONGEST_NAME, LONGEST_TEXT

MOST_COLUMNS: Final = 1000

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Sql = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
Tag = Annotated[str, Field(min_length=1, max_length=LONGEST_TAG)]
Tags = Annotated[list[Tag], Field(max_length=MOST_TAGS)]
Values = Annotated[dict[str, Any], AfterValidator(storable)]
Descriptions = Annotated[
    dict[str, str],
    Field(max_length=MOST_COLUMNS, description="Column to what it means."),
    AfterValidator(storable),
]


class ParameterShape(CamelBody):
    """A parameter of a query (S2.32)."""

    name: Name
    type: Annotated[ParameterType, Field(strict=False)]
    description: Text = ""
    required: bool = True
    default: Any = Field(default=None, description="Any JSON; null for none.")
    example: Any = Field(default=None, description="For the dry run alone; null for none.")

    @classmethod
    def of(cls, parameter: Parameter) -> "ParameterShape":
        """Show a parameter."""
        return cls(
            name=parameter.name,
            type=parameter.type,
            description=parameter.description,
            required=parameter.required,
            default=parameter.default,
            example=parameter.example,
        )


Parameters = Annotated[list[ParameterShape], Field(max_length=MOST_PARAMETERS)]


class ColumnShape(CamelShape):
    """A column of a result."""

    name: str
    type: str = Field(description="In the engine's words; empty where it does not say.")
    description: str

    @classmethod
    def of(cls, column: Column) -> "ColumnShape":
        """Show a column."""
        return cls(name=column.name, type=column.type, description=column.description)


class QueryShape(CamelShape):
    """An approved query, or a suggestion of one or of a change of one."""

    id: str
    datasource: str = Field(description="Id of the datasource that it runs on.")
    name: str
    description: str
    sql: str = Field(description="With placeholders `{{name}}`.")
    dialect: EngineKind
    is_enabled: bool
    usage_count: int
    last_used: datetime | None
    parameters: list[ParameterShape]
    output_columns: list[ColumnShape]
    constraints: str
    status: QueryStatus
    suggested_by: str = Field(description="In SUBJECT spelling, such as `user:ann`.")
    suggestion_context: str
    changed: list[str] = Field(description="For an update, the fields that it changes.")
    tags: list[str]
    allows_modification: bool
    reviewed_by: str | None
    reviewed: datetime | None
    rejection_reason: str | None
    parent: str | None = Field(description="Id of the query that it would change.")
    created: datetime
    updated: datetime
    version: int = Field(description="Of the `ETag`, too: `v` and this number.")

    @classmethod
    def of(cls, query: Query) -> "QueryShape":
        """Show a query."""
        return cls(
            id=query.id,
            datasource=query.datasource,
            name=query.name,
            description=query.description,
            sql=query.sql,
            dialect=query.dialect,
            is_enabled=query.is_enabled,
            usage_count=query.usage_count,
            last_used=query.last_used,
            parameters=[ParameterShape.of(each) for each in query.parameters],
            output_columns=[ColumnShape.of(each) for each in query.output_columns],
            constraints=query.constraints,
            status=query.status,
            suggested_by=query.suggested_by,
            suggestion_context=query.suggestion_context,
            changed=list(query.changed),
            tags=list(query.tags),
            allows_modification=query.allows_modification,
            reviewed_by=query.reviewed_by or None,
            reviewed=query.reviewed,
            rejection_reason=query.rejection_reason or None,
            parent=query.parent or None,
            created=query.created,
            updated=query.updated,
            version=query.version,
        )


class NewQuery(CamelBody):
    """A query that is to be; sent to change one, the whole of it."""

    name: Name
    description: Text
    sql: Sql = Field(description="One statement, with placeholders `{{name}}`.")
    parameters: Parameters = Field(default=[])
    output_columns: Descriptions = Field(default={})
    constraints: Text = Field(default="", description="What whoever uses it has to know.")
    tags: Tags = Field(default=[])

    def draft(self, datasource: str) -> Draft:
        """Return it as what is asked for.

        Raises:
            DataFailure: `parameter_validation`.
        """
        return Draft(
            name=self.name,
            description=self.description,
            sql=self.sql,
            datasource=datasource,
            parameters=_parameters(self.parameters),
            output_columns=self.output_columns,
            constraints=self.constraints,
            tags=tuple(self.tags),
        )

    def edit(self) -> Edit:
        """Return it as a change of everything that can be changed.

        Raises:
            DataFailure: `parameter_validation`.
        """
        return Edit(
            name=self.name,
            description=self.description,
            sql=self.sql,
            parameters=_parameters(self.parameters),
            output_columns=self.output_columns,
            constraints=self.constraints,
            tags=tuple(self.tags),
        )


class QueryPatch(CamelBody):
    """What to change of a query; what is not sent, or null, stays as it is."""

    name: Name | None = None
    description: Text | None = None
    sql: Sql | None = None
    parameters: Parameters | None = None
    output_columns: Descriptions | None = None
    constraints: Text | None = None
    tags: Tags | None = None
    is_enabled: bool | None = None

    def edit(self) -> Edit:
        """Return it as what is asked for.

        Raises:
            DataFailure: `parameter_validation`.
        """
        return Edit(
            name=self.name,
            description=self.description,
            sql=self.sql,
            parameters=None if self.parameters is None else _parameters(self.parameters),
            output_columns=self.output_columns,
            constraints=self.constraints,
            tags=None if self.tags is None else tuple(self.tags),
            is_enabled=self.is_enabled,
        )


class Trial(CamelBody):
    """A statement and its parameters, to be tried and not kept."""

    sql: Sql
    parameters: Parameters = Field(default=[])

    def draft(self, datasource: str) -> Draft:
        """Return it as a query that is to be.

        Raises:
            DataFailure: `parameter_validation`.
        """
        return Draft(
            name="trial",
            description="trial",
            sql=self.sql,
            datasource=datasource,
            parameters=_parameters(self.parameters),
        )


class Statement(CamelBody):
    """A statement alone."""

    sql: Sql


class Switch(CamelBody):
    """Whether a query may be run."""

    is_enabled: bool


class Execute(CamelBody):
    """What an approved query is run with."""

    parameters: Values = Field(default={}, description="Values by name.")
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = USUAL_ROWS


class Rejection(CamelBody):
    """Why a suggestion is rejected."""

    reason: Name


class DeletedShape(CamelShape):
    """A query that was deleted."""

    id: str
    rejected_updates: int = Field(description="Pending updates of it that were rejected with it.")


class ResultShape(CamelShape):
    """What an approved query gave (S2.37)."""

    query_name: str
    parameters_used: dict[str, Any] = Field(description="As they were bound, defaults included.")
    columns: list[ColumnShape]
    rows: list[list[Any]] = Field(description="One list of JSON values a row.")
    row_count: int
    truncated: bool
    execution_time_ms: float
    rows_affected: int | None = Field(description="Null for one that reads.")
    modified_data: bool

    @classmethod
    def of(cls, ran: Executed) -> "ResultShape":
        """Show what was given."""
        rows = ran.rows
        return cls(
            query_name=ran.query.name,
            parameters_used=dict(ran.parameters),
            columns=columns_of(rows),
            rows=[list(row) for row in rows.rows],
            row_count=len(rows.rows),
            truncated=rows.truncated,
            execution_time_ms=rows.ms,
            rows_affected=rows.rows_affected,
            modified_data=rows.rows_affected is not None,
        )


class VerdictShape(CamelShape):
    """Whether something would do."""

    valid: bool
    code: str | None = Field(default=None, description="Of what is wrong.")
    error: str | None = None


class TrialShape(CamelShape):
    """What a dry run found (S2.35)."""

    dry_run_rows: int | None = Field(description="None or one; null where it was only explained.")
    output_columns: list[ColumnShape]
    allows_modification: bool


def columns_of(rows: Rows) -> list[ColumnShape]:
    """Show the columns of rows."""
    return [ColumnShape.of(column) for column in rows.columns]


def _parameters(given: Sequence[ParameterShape]) -> tuple[Parameter, ...]:
    return parameters_of([each.model_dump(mode="json") for each in given])

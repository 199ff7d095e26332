"""The nouns of the ontology: what tables, columns and words of a datasource mean (S2.41-S2.44)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final


class Source(StrEnum):
    """Where a statement about the data comes from; a later one outweighs an earlier (S2.43)."""

    INFERRED = "inferred"
    MCP = "mcp"
    MANUAL = "manual"


PRECEDENCE: Final[Mapping[Source, int]] = {Source.INFERRED: 0, Source.MCP: 1, Source.MANUAL: 2}


class ItemKind(StrEnum):
    """The kinds of things that the ontology of a datasource holds."""

    ENTITY = "entity"
    COLUMN = "column"
    RELATIONSHIP = "relationship"
    TERM = "term"
    FACT = "fact"
    QUESTION = "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who stated something first and last, and when (S2.43)."""

    created_source: Source
    created_by: str
    created: datetime
    edited_source: Source
    edited_by: str
    edited: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing of the ontology, as it is stored; `data/ontology/` gives bodies their types.

    Attributes:
        key: Unique in its kind and datasource: an entity's name, `schema.table.column`,
            `from->to`, a term, or an id.
        body: JSON object with the kind's own fields.
        version: 0 for one that is new; who writes says which one it has seen.
    """

    tenant: str
    datasource: str
    kind: ItemKind
    key: str
    body: Mapping[str, object]
    provenance: Provenance
    version: int = 0


class ColumnRole(StrEnum):
    """What a column is for (S2.10)."""

    DIMENSION = "dimension"
    MEASURE = "measure"
    IDENTIFIER = "identifier"
    ATTRIBUTE = "attribute"


class Cardinality(StrEnum):
    """How many of one stand to how many of the other."""

    ONE_TO_ONE = "1:1"
    ONE_TO_MANY = "1:N"
    MANY_TO_ONE = "N:1"
    MANY_TO_MANY = "N:M"
    UNKNOWN = "unknown"


class QuestionStatus(StrEnum):
    """Where a question about the data stands (S2.42)."""

    PENDING = "pending"
    ANSWERED = "answered"
    SKIPPED = "skipped"
    ESCALATED = "escalated"
    DISMISSED = "dismissed"
    DELETED = "deleted"


class QuestionCategory(StrEnum):
    """What a question is about (S2.42)."""

    BUSINESS_RULES = "business_rules"
    RELATIONSHIP = "relationship"
    TERMINOLOGY = "terminology"
    ENUMERATION = "enumeration"
    TEMPORAL = "temporal"
    DATA_QUALITY = "data_quality"


class FactCategory(StrEnum):
    """What a fact is (S2.10, `update_project_knowledge`)."""

    TERMINOLOGY = "terminology"
    BUSINESS_RULE = "business_rule"
    ENUMERATION = "enumeration"
    CONVENTION = "convention"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaColumn:
    """A column of a table, as the database has it.

    Attributes:
        type: In the engine's words, lower case.
    """

    name: str
    type: str
    nullable: bool = True
    is_primary_key: bool = False
    default: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """A foreign key of one column, as the database has it."""

    column: str
    to_schema: str
    to_table: str
    to_column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaTable:
    """A table or view, as the database has it.

    Attributes:
        schema: Such as `public` (PostgreSQL) or `main` (SQLite, DuckDB).
        rows: How many, as the database estimates it; None where it does not.
        is_selected: Whether tools may use it; a new one may wait for approval (S2.44).
    """

    schema: str
    name: str
    columns: tuple[SchemaColumn, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    is_view: bool = False
    rows: int | None = None
    is_selected: bool = True

    @property
    def full_name(self) -> str:
        """`schema.table`."""
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What a datasource was seen to hold.

    Attributes:
        version: 0 for one that is new; who writes says which one it has seen.
    """

    tenant: str
    datasource: str
    tables: Sequence[SchemaTable] = ()
    refreshed: datetime
    version: int = 0


class ChangeType(StrEnum):
    """What a pending change is about (S2.44)."""

    NEW_TABLE = "new_table"
    DROPPED_TABLE = "dropped_table"
    NEW_COLUMN = "new_column"
    DROPPED_COLUMN = "dropped_column"
    MODIFIED_COLUMN = "modified_column"
    NEW_ENUM_VALUE = "new_enum_value"
    CARDINALITY_CHANGE = "cardinality_change"
    NEW_FK_PATTERN = "new_fk_pattern"


class ChangeSource(StrEnum):
    """What found it."""

    SCHEMA_REFRESH = "schema_refresh"
    DATA_SCAN = "data_scan"
    MANUAL = "manual"


class ChangeStatus(StrEnum):
    """Where a pending change stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    AUTO_APPLIED = "auto_applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingChange:
    """Something that differs from what is known of the data, and waits for a decision (S2.44).

    Attributes:
        table: `schema.table`.
        column: Empty where it is about the table.
        action: What applying it does, such as `select_table` or `update_column`.
        payload: What with.
        decided_by: In SUBJECT spelling, or empty.
    """

    id: str
    tenant: str
    datasource: str
    type: ChangeType
    source: ChangeSource
    table: str
    column: str = ""
    old: object = None
    new: object = None
    action: str
    payload: Mapping[str, object] = field(default_factory=dict[str, object])
    status: ChangeStatus = ChangeStatus.PENDING
    created: datetime
    decided: datetime | None = None
    decided_by: str = ""
    version: int = 0

"""What the data means, as `/api/projects` shows and takes it (S2.41, S2.42)."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from remit.data.ontology.columns import ColumnMeaning
from remit.data.ontology.entities import Entity
from remit.data.ontology.facts import Fact
from remit.data.ontology.glossary import Enrichment, Term
from remit.data.ontology.questions import Question
from remit.data.ontology.relationships import Detection, Relationship
from remit.data.ontology.writing import LONGEST_TEXT, MOST_NAMES, MOST_VALUES
from remit.doors.api.camel import CamelBody, CamelShape
from remit.doors.api.query_shapes import ColumnShape, Name, Sql, Text
from remit.model.ontology import (
    Cardinality,
    ColumnRole,
    FactCategory,
    Item,
    QuestionCategory,
    QuestionStatus,
    Source,
)

Names = Annotated[list[Name], Field(max_length=MOST_NAMES)]


class ItemShape(CamelShape):
    """What all things of the ontology have: who stated them (S2.43), and a version."""

    created_source: Source
    created_by: str = Field(description="In SUBJECT spelling.")
    created: datetime
    edited_source: Source = Field(description="What weighs less than it cannot overwrite this.")
    edited_by: str
    edited: datetime
    version: int = Field(description="Of the `ETag`, too: `v` and this number.")


def stated(item: Item) -> dict[str, Any]:
    """Return the fields that all shapes have."""
    by = item.provenance
    return {
        "created_source": by.created_source,
        "created_by": by.created_by,
        "created": by.created,
        "edited_source": by.edited_source,
        "edited_by": by.edited_by,
        "edited": by.edited,
        "version": item.version,
    }


class KeyColumnShape(CamelShape):
    """A column that says which one of an entity is meant."""

    name: str
    synonyms: list[str]


class EntityShape(ItemShape):
    """An entity."""

    name: str
    description: str
    domain: str
    table: str | None = Field(description="Its primary table, as `schema.table`.")
    column: str | None = Field(description="Of that table: what tells one from another.")
    aliases: list[str]
    key_columns: list[KeyColumnShape]

    @classmethod
    def of(cls, entity: Entity, item: Item) -> "EntityShape":
        """Show an entity."""
        return cls(
            **stated(item),
            name=entity.name,
            description=entity.description,
            domain=entity.domain,
            table=f"{entity.schema}.{entity.table}" if entity.table else None,
            column=entity.column or None,
            aliases=list(entity.aliases),
            key_columns=[
                KeyColumnShape(name=each.name, synonyms=list(each.synonyms))
                for each in entity.key_columns
            ],
        )


class EnumShape(CamelShape):
    """One of the few values that a column holds."""

    value: str
    label: str


class ColumnMeaningShape(ItemShape):
    """What a column means."""

    table: str = Field(description="`schema.table`.")
    column: str
    description: str
    entity: str | None = Field(description="That its values name.")
    role: ColumnRole | None
    enum_values: list[EnumShape]

    @classmethod
    def of(cls, meaning: ColumnMeaning, item: Item) -> "ColumnMeaningShape":
        """Show what a column means."""
        return cls(
            **stated(item),
            table=f"{meaning.schema}.{meaning.table}",
            column=meaning.column,
            description=meaning.description,
            entity=meaning.entity or None,
            role=meaning.role,
            enum_values=[EnumShape(value=v.value, label=v.label) for v in meaning.enum_values],
        )


class JoinShape(CamelShape):
    """Two columns whose values are the same."""

    from_table: str = Field(description="`schema.table`, as `toTable` is.")
    from_column: str
    to_table: str
    to_column: str


class RelationshipShape(ItemShape):
    """How one entity belongs to another."""

    from_entity: str
    to_entity: str
    description: str
    label: str
    cardinality: Cardinality
    joins: list[JoinShape]
    detection: Detection
    confidence: float = Field(description="0 to 1.")

    @classmethod
    def of(cls, between: Relationship, item: Item) -> "RelationshipShape":
        """Show a relationship."""
        return cls(
            **stated(item),
            from_entity=between.from_entity,
            to_entity=between.to_entity,
            description=between.description,
            label=between.label,
            cardinality=between.cardinality,
            joins=[
                JoinShape(
                    from_table=f"{join.from_schema}.{join.from_table}",
                    from_column=join.from_column,
                    to_table=f"{join.to_schema}.{join.to_table}",
                    to_column=join.to_column,
                )
                for join in between.joins
            ],
            detection=between.detection,
            confidence=between.confidence,
        )


class TermShape(ItemShape):
    """A term of the glossary."""

    term: str
    definition: str
    sql: str
    base_table: str | None
    output_columns: list[ColumnShape]
    aliases: list[str]
    enrichment_status: Enrichment

    @classmethod
    def of(cls, term: Term, item: Item) -> "TermShape":
        """Show a term."""
        return cls(
            **stated(item),
            term=term.term,
            definition=term.definition,
            sql=term.sql,
            base_table=term.base_table or None,
            output_columns=[ColumnShape.of(column) for column in term.output_columns],
            aliases=list(term.aliases),
            enrichment_status=term.enrichment,
        )


class FactShape(ItemShape):
    """What one has to know of a project."""

    id: str
    fact: str
    context: str
    category: FactCategory

    @classmethod
    def of(cls, fact: Fact, item: Item) -> "FactShape":
        """Show a fact."""
        return cls(
            **stated(item),
            id=fact.id,
            fact=fact.fact,
            context=fact.context,
            category=fact.category,
        )


class QuestionShape(ItemShape):
    """What somebody should be asked about the data."""

    id: str
    text: str
    reasoning: str
    category: QuestionCategory
    priority: int = Field(description="1 (high) to 5.")
    is_required: bool
    tables: list[str]
    columns: list[str]
    status: QuestionStatus
    status_reason: str | None
    answer: str | None

    @classmethod
    def of(cls, question: Question, item: Item) -> "QuestionShape":
        """Show a question."""
        return cls(
            **stated(item),
            id=question.id,
            text=question.text,
            reasoning=question.reasoning,
            category=question.category,
            priority=question.priority,
            is_required=question.is_required,
            tables=list(question.tables),
            columns=list(question.columns),
            status=question.status,
            status_reason=question.status_reason or None,
            answer=question.answer or None,
        )


class KeyColumnBody(CamelBody):
    """A column that says which one of an entity is meant."""

    name: Name
    synonyms: Names = Field(default=[])


class EnumBody(CamelBody):
    """One of the few values that a column holds."""

    value: Name
    label: Text = Field(default="", description="What it stands for.")


class EntityBody(CamelBody):
    """What to say of an entity; what is not sent, or null, stays as it is."""

    description: Text | None = None
    aliases: Names | None = None
    key_columns: Annotated[list[KeyColumnBody], Field(max_length=MOST_NAMES)] | None = None


class ColumnBody(CamelBody):
    """What to say of a column; likewise."""

    description: Text | None = None
    entity: Name | None = None
    role: Annotated[ColumnRole | None, Field(strict=False)] = None
    enum_values: Annotated[list[EnumBody], Field(max_length=MOST_VALUES)] | None = None


class RelationshipBody(CamelBody):
    """What to say of a relationship; likewise."""

    description: Text | None = None
    label: Text | None = None
    cardinality: Annotated[Cardinality | None, Field(strict=False)] = None


class TermBody(CamelBody):
    """What to say of a term; likewise. SQL is tried before it is taken."""

    definition: Text | None = None
    sql: Sql | None = None
    aliases: Names | None = None


class FactBody(CamelBody):
    """A fact."""

    fact: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
    context: Text | None = None
    category: Annotated[FactCategory | None, Field(strict=False)] = None


class Why(CamelBody):
    """Why a question is put off, handed on or dropped."""

    reason: Name


class Resolution(CamelBody):
    """The answer to a question."""

    notes: Text | None = None

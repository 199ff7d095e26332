"""What the tools that change the ontology answer with, and the schemas of that."""

from collections.abc import Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar

from remit.data.desk import Result
from remit.data.ontology.columns import ColumnMeaning, EnumValue
from remit.data.ontology.entities import Entity
from remit.data.ontology.facts import Fact
from remit.data.ontology.glossary import Enrichment, Term
from remit.data.ontology.questions import Question
from remit.data.ontology.relationships import Detection, Relationship
from remit.model.ontology import (
    Cardinality,
    ColumnRole,
    FactCategory,
    PendingChange,
    Provenance,
    QuestionCategory,
    QuestionStatus,
    Source,
)
from remit.servers.shapes import (
    ANY,
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    list_of,
    one_of,
    or_null,
    record,
)

LABEL: Final = record(value=TEXT, label=TEXT)

PROVENANCE: Final = record(
    created_source=one_of(*Source),
    created_by=TEXT,
    created=TEXT,
    edited_source=one_of(*Source),
    edited_by=TEXT,
    edited=TEXT,
)

_WRITTEN: Final[dict[str, Schema]] = {"created": FLAG, "provenance": PROVENANCE}

COLUMN: Final = record(
    **_WRITTEN,
    table=TEXT,
    column=TEXT,
    description=TEXT,
    entity=TEXT_OR_NULL,
    role=or_null(one_of(*ColumnRole)),
    enum_values=list_of(LABEL),
)
ENTITY_FIELDS: Final[dict[str, Schema]] = {
    "name": TEXT,
    "description": TEXT,
    "domain": TEXT,
    "table": TEXT_OR_NULL,
    "column": TEXT_OR_NULL,
    "aliases": list_of(TEXT),
    "key_columns": list_of(record(name=TEXT, synonyms=list_of(TEXT))),
}
ENTITY: Final = record(**_WRITTEN, **ENTITY_FIELDS)
RELATIONSHIP: Final = record(
    **_WRITTEN,
    from_entity=TEXT,
    to_entity=TEXT,
    description=TEXT,
    label=TEXT,
    cardinality=one_of(*Cardinality),
    detection=one_of(*Detection),
    confidence=NUMBER,
)
TERM: Final = record(
    **_WRITTEN,
    term=TEXT,
    definition=TEXT,
    sql=TEXT,
    base_table=TEXT_OR_NULL,
    output_columns=list_of(record(name=TEXT, type=TEXT, description=TEXT)),
    aliases=list_of(TEXT),
    enrichment_status=one_of(*Enrichment),
)
FACT: Final = record(
    **_WRITTEN, fact_id=TEXT, fact=TEXT, context=TEXT, category=one_of(*FactCategory)
)
_QUESTION_FIELDS: Final[dict[str, Schema]] = {
    "question_id": TEXT,
    "text": TEXT,
    "reasoning": TEXT,
    "category": one_of(*QuestionCategory),
    "priority": COUNT,
    "is_required": FLAG,
    "affects": record(tables=list_of(TEXT), columns=list_of(TEXT)),
    "status": one_of(*QuestionStatus),
    "status_reason": TEXT,
    "answer": TEXT,
}
QUESTION: Final = record(**_QUESTION_FIELDS)
QUESTION_MOVED: Final = record(**_QUESTION_FIELDS, provenance=PROVENANCE)

CHANGE: Final = record(
    change_id=TEXT,
    type=TEXT,
    source=TEXT,
    table=TEXT,
    column=TEXT_OR_NULL,
    old=ANY,
    new=ANY,
    action=TEXT,
    payload={"type": "object"},
    status=TEXT,
    created=TEXT,
    decided=TEXT_OR_NULL,
    decided_by=TEXT_OR_NULL,
)

Value_co = TypeVar("Value_co", covariant=True)


class Written(Protocol, Generic[Value_co]):
    """What was written, by whom."""

    @property
    def value(self) -> Value_co:
        """What it says."""
        ...

    @property
    def provenance(self) -> Provenance:
        """Who said it."""
        ...

    @property
    def created(self) -> bool:
        """Whether there was none before."""
        ...


def shown_provenance(said: Provenance) -> Mapping[str, object]:
    """Show who stated something first and last."""
    return {
        "created_source": said.created_source.value,
        "created_by": said.created_by,
        "created": said.created.isoformat(),
        "edited_source": said.edited_source.value,
        "edited_by": said.edited_by,
        "edited": said.edited.isoformat(),
    }


def _written(written: Written[object]) -> Result:
    return {"created": written.created, "provenance": shown_provenance(written.provenance)}


def shown_labels(values: Sequence[EnumValue]) -> Sequence[Result]:
    """Return what the values of a column mean, each as `LABEL` describes it."""
    return [{"value": each.value, "label": each.label} for each in values]


def shown_column(written: Written[ColumnMeaning]) -> Result:
    """Show what a column means."""
    value = written.value
    return {
        **_written(written),
        "table": f"{value.schema}.{value.table}",
        "column": value.column,
        "description": value.description,
        "entity": value.entity or None,
        "role": value.role.value if value.role is not None else None,
        "enum_values": shown_labels(value.enum_values),
    }


def shown_entity(written: Written[Entity]) -> Result:
    """Show an entity that was written."""
    return _written(written) | entity_fields(written.value)


def entity_fields(entity: Entity) -> Result:
    """Return an entity as `ENTITY_FIELDS` describe it."""
    return {
        "name": entity.name,
        "description": entity.description,
        "domain": entity.domain,
        "table": f"{entity.schema}.{entity.table}" if entity.table else None,
        "column": entity.column or None,
        "aliases": list(entity.aliases),
        "key_columns": [
            {"name": each.name, "synonyms": list(each.synonyms)} for each in entity.key_columns
        ],
    }


def shown_relationship(written: Written[Relationship]) -> Result:
    """Show how two entities belong together."""
    value = written.value
    return {
        **_written(written),
        "from_entity": value.from_entity,
        "to_entity": value.to_entity,
        "description": value.description,
        "label": value.label,
        "cardinality": value.cardinality.value,
        "detection": value.detection.value,
        "confidence": value.confidence,
    }


def shown_term(written: Written[Term]) -> Result:
    """Show a term."""
    value = written.value
    return {
        **_written(written),
        "term": value.term,
        "definition": value.definition,
        "sql": value.sql,
        "base_table": value.base_table or None,
        "output_columns": [
            {"name": each.name, "type": each.type, "description": each.description}
            for each in value.output_columns
        ],
        "aliases": list(value.aliases),
        "enrichment_status": value.enrichment.value,
    }


def shown_fact(written: Written[Fact]) -> Result:
    """Show a fact."""
    value = written.value
    return {
        **_written(written),
        "fact_id": value.id,
        "fact": value.fact,
        "context": value.context,
        "category": value.category.value,
    }


def shown_question(question: Question) -> Result:
    """Show a question."""
    return {
        "question_id": question.id,
        "text": question.text,
        "reasoning": question.reasoning,
        "category": question.category.value,
        "priority": question.priority,
        "is_required": question.is_required,
        "affects": {"tables": list(question.tables), "columns": list(question.columns)},
        "status": question.status.value,
        "status_reason": question.status_reason,
        "answer": question.answer,
    }


def shown_change(change: PendingChange) -> Result:
    """Show a change that waits, or waited, for a decision."""
    return {
        "change_id": change.id,
        "type": change.type.value,
        "source": change.source.value,
        "table": change.table,
        "column": change.column or None,
        "old": change.old,
        "new": change.new,
        "action": change.action,
        "payload": dict(change.payload),
        "status": change.status.value,
        "created": change.created.isoformat(),
        "decided": change.decided.isoformat() if change.decided is not None else None,
        "decided_by": change.decided_by or None,
    }

"""What is known of tables, columns and entities, as tools and API show it, and its schemas."""

from collections.abc import Iterable, Sequence
from typing import Final

from remit.data.desk import Result
from remit.data.known import Known
from remit.data.ontology.columns import ColumnMeaning
from remit.data.ontology.glossary import Enrichment, Term
from remit.data.ontology.relationships import Detection, Relationship
from remit.data.ontology.shown import ENTITY_FIELDS, LABEL, shown_labels
from remit.model.ontology import Cardinality, ColumnRole, SchemaColumn, SchemaTable
from remit.servers.shapes import (
    ANY,
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    NUMBER,
    TEXT,
    TEXT_OR_NULL,
    list_of,
    one_of,
    or_null,
    record,
)

MEANING: Final = record(
    description=TEXT,
    entity=TEXT_OR_NULL,
    role=or_null(one_of(*ColumnRole)),
    enum_values=list_of(LABEL),
)

STATISTICS: Final = record(
    row_count=COUNT,
    distinct_count=COUNT,
    null_rate=NUMBER,
    min=ANY,
    max=ANY,
    is_estimate=FLAG,
)

COLUMN: Final = record(
    ("meaning", "statistics", "sample_values"),
    name=TEXT,
    type=TEXT,
    nullable=FLAG,
    is_primary_key=FLAG,
    references=TEXT_OR_NULL,
    meaning=or_null(MEANING),
    statistics=STATISTICS,
    sample_values=list_of(ANY),
)

TABLE: Final = record(
    ("entity", "description", "columns", "is_selected"),
    name=TEXT,
    is_view=FLAG,
    is_selected=FLAG,
    row_estimate=COUNT_OR_NULL,
    column_count=COUNT,
    entity=TEXT_OR_NULL,
    description=TEXT,
    columns=list_of(COLUMN),
)

ENTITY: Final = record(**ENTITY_FIELDS)

RELATIONSHIP: Final = record(
    from_entity=TEXT,
    to_entity=TEXT,
    label=TEXT,
    description=TEXT,
    cardinality=one_of(*Cardinality),
    detection=one_of(*Detection),
    confidence=NUMBER,
    joins=list_of(record(from_column=TEXT, to_column=TEXT)),
)

TERM: Final = record(
    term=TEXT,
    definition=TEXT,
    aliases=list_of(TEXT),
    has_sql=FLAG,
    enrichment_status=one_of(*Enrichment),
)


def shown_column(
    known: Known, table: SchemaTable, column: SchemaColumn, *, meaning: bool = True
) -> Result:
    """Return a column as `COLUMN` describes it.

    Args:
        known: What may be known.
        table: Its table.
        column: The column.
        meaning: Whether what the ontology says of it belongs to it.
    """
    references = (
        f"{key.to_schema}.{key.to_table}.{key.to_column}"
        for key in known.foreign_keys(table)
        if key.column == column.name
    )
    shown: Result = {
        "name": column.name,
        "type": column.type,
        "nullable": column.nullable,
        "is_primary_key": column.is_primary_key,
        "references": next(references, None),
    }
    if meaning:
        said = known.knowledge.meaning(table, column)
        shown["meaning"] = None if said is None else shown_meaning(known, said)
    return shown


def shown_meaning(known: Known, meaning: ColumnMeaning) -> Result:
    """Return what a column means as `MEANING` describes it."""
    entity = known.knowledge.entities.get(meaning.entity)
    return {
        "description": meaning.description,
        "entity": None if entity is None else entity.name,
        "role": None if meaning.role is None else meaning.role.value,
        "enum_values": shown_labels(meaning.enum_values),
    }


def shown_table(known: Known, table: SchemaTable, *, meaning: bool = True) -> Result:
    """Return a table as `TABLE` describes it, without its columns."""
    shown: Result = {
        "name": table.full_name,
        "is_view": table.is_view,
        "row_estimate": table.rows,
        "column_count": len(table.columns),
    }
    if meaning:
        entity = known.knowledge.entity_of(table)
        shown["entity"] = None if entity is None else entity.name
        shown["description"] = "" if entity is None else entity.description
    return shown


def shown_relationships(known: Known, relationships: Iterable[Relationship]) -> Sequence[Result]:
    """Return relationships as `RELATIONSHIP` describes them; of joins, those that may be used."""
    entities = known.knowledge.entities
    return [
        {
            "from_entity": entities[each.from_entity].name,
            "to_entity": entities[each.to_entity].name,
            "label": each.label,
            "description": each.description,
            "cardinality": each.cardinality.value,
            "detection": each.detection.value,
            "confidence": each.confidence,
            "joins": [
                {
                    "from_column": f"{join.from_schema}.{join.from_table}.{join.from_column}",
                    "to_column": f"{join.to_schema}.{join.to_table}.{join.to_column}",
                }
                for join in each.joins
                if known.find_place(join.from_schema, join.from_table)
                and known.find_place(join.to_schema, join.to_table)
            ],
        }
        for each in relationships
    ]


def shown_term(term: Term) -> Result:
    """Return a term as `TERM` describes it, without its SQL."""
    return {
        "term": term.term,
        "definition": term.definition,
        "aliases": list(term.aliases),
        "has_sql": bool(term.sql),
        "enrichment_status": term.enrichment.value,
    }

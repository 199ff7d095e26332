"""What nobody but people can tell of a table: the questions that it raises (S2.42)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from remit.data.ontology.inference import entity_name, is_key_like, looks_enumerated
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.names import column_key, folded
from remit.data.ontology.questions import Question, content_hash
from remit.data.probes.families import Family, family_of
from remit.model.ontology import ItemKind, QuestionCategory, SchemaColumn, SchemaTable

MOST_QUESTIONS: Final = 200
"""Questions that one look at a schema raises; the most urgent ones, the others next time."""

_SHORT: Final = 3
_PLAIN: Final = frozenset(
    {"id", "key", "day", "age", "sku", "vat", "tax", "zip", "url", "no", "nr"}
)
_KEY_ENDING: Final = re.compile(r"[_\s]?(id|uuid|guid|key)$", flags=re.IGNORECASE)


def questions_about(known: Knowledge, tables: Iterable[SchemaTable]) -> Sequence[Question]:
    """Return what should be asked of tables, most urgent first, and was never asked before.

    A question's id is made of what it asks, so that two who look at once ask it once.
    """
    asked = {Question.from_item(item).content_hash for item in known.of_kind(ItemKind.QUESTION)}
    fresh = {each.content_hash: each for table in tables for each in _wonder(known, table)}
    left = [each for key, each in fresh.items() if key not in asked]
    return sorted(left, key=lambda each: each.priority)[:MOST_QUESTIONS]


def _wonder(known: Knowledge, table: SchemaTable) -> Iterator[Question]:
    keys = [column.name for column in table.columns if column.is_primary_key]
    if not keys and not table.is_view:
        yield _ask(
            f"Which columns tell one row of {table.full_name} from another?",
            "The table has no primary key.",
            QuestionCategory.DATA_QUALITY,
            table,
            priority=2,
        )
    foreign = {key.column for key in table.foreign_keys}
    for column in table.columns:
        if column.name not in foreign and column.name not in keys:
            yield from _wonder_at(known, table, column)


def _wonder_at(known: Knowledge, table: SchemaTable, column: SchemaColumn) -> Iterator[Question]:
    name = f"{table.full_name}.{column.name}"
    family = family_of(known.datasource.engine, column.type)
    if is_key_like(column.name) and folded(column.name) not in _PLAIN:
        thing = entity_name(_KEY_ENDING.sub("", column.name))
        there = known.find_entity(thing)
        yield _ask(
            f"What does {name} point to?"
            if there is None
            else f"Does {name} point to {there.name}?",
            "It is named like a key of another table, and is no foreign key.",
            QuestionCategory.RELATIONSHIP,
            table,
            column,
            priority=3 if there is None else 2,
        )
    elif looks_enumerated(column.name) and family in {Family.TEXT, Family.NUMBER}:
        yield _ask(
            f"What do the values of {name} stand for?",
            "It is named like a column of few values, and what they stand for is not written down.",
            QuestionCategory.ENUMERATION,
            table,
            column,
        )
    elif "timestamp" in column.type and "zone" not in column.type.replace("without time zone", ""):
        yield _ask(
            f"In which time zone is {name}?",
            "Its type has no time zone.",
            QuestionCategory.TEMPORAL,
            table,
            column,
            priority=4,
        )
    elif len(column.name) <= _SHORT and folded(column.name) not in _PLAIN:
        yield _ask(
            f"What is {name}?",
            "Its name is too short to tell.",
            QuestionCategory.TERMINOLOGY,
            table,
            column,
            priority=4,
        )


def _ask(
    text: str,
    reasoning: str,
    category: QuestionCategory,
    table: SchemaTable,
    column: SchemaColumn | None = None,
    *,
    priority: int = 3,
) -> Question:
    columns = () if column is None else (column_key(table.schema, table.name, column.name),)
    tables = (table.full_name,)
    digest = content_hash(text, category, tables, columns)
    return Question(
        id=f"q-{digest[:24]}",
        text=text,
        reasoning=reasoning,
        category=category,
        priority=priority,
        tables=tables,
        columns=columns,
        content_hash=digest,
    )

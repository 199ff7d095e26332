"""What can be told of tables by their names, types and keys alone; no row is looked at.

Whatever is inferred is of source `inferred`: anybody's word outweighs it (S2.43), and nothing that
is there already is inferred again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from remit.data.ontology.columns import ColumnMeaning
from remit.data.ontology.entities import Entity, KeyColumn
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.names import ARROW, folded
from remit.data.ontology.relationships import Detection, Join, Relationship
from remit.data.probes.families import Family, family_of
from remit.model.data import EngineKind
from remit.model.ontology import (
    Cardinality,
    ColumnRole,
    ForeignKey,
    ItemKind,
    SchemaColumn,
    SchemaTable,
)

_KEY_LIKE: Final = re.compile(r"(^|.*[_\s])(id|uuid|guid|key)$|.*[a-z]I[dD]$")
_GROUPING: Final = re.compile(
    r".*(status|state|type|kind|category|class|level|tier|stage|gender|country|region|city"
    r"|currency|language|locale|channel|segment|group|year|month|quarter|week|code|flag)$"
)
_LABELLING: Final = re.compile(r".*(number|no|nr|zip|postcode|phone|version|rank|position)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """What was inferred, none of it known before."""

    entities: Mapping[str, Entity] = field(default_factory=dict[str, Entity])
    columns: Sequence[ColumnMeaning] = ()
    relationships: Sequence[Relationship] = ()


def infer(known: Knowledge, tables: Sequence[SchemaTable]) -> Inferred:
    """Infer entities, roles of columns, and relationships from foreign keys.

    Args:
        known: What is known already, with every table that may be used among its tables.
        tables: What to look at; relationships of others with them are inferred, too.
    """
    entities = dict(_entities(known, tables))
    by_table = {(each.schema, each.table): each for each in entities.values()}
    by_table |= {(each.schema, each.table): each for each in known.entities.values() if each.table}
    return Inferred(
        entities=entities,
        columns=tuple(
            meaning
            for table in tables
            for column in table.columns
            for meaning in (column_meaning(known.datasource.engine, table, column, by_table),)
            if known.item(ItemKind.COLUMN, meaning.key) is None
        ),
        relationships=tuple(_relationships(known, tables, by_table)),
    )


def _entities(known: Knowledge, tables: Iterable[SchemaTable]) -> Iterator[tuple[str, Entity]]:
    stored = [Entity.from_item(item) for item in known.of_kind(ItemKind.ENTITY)]
    placed = {(each.schema, each.table) for each in stored}
    taken = {folded(name) for each in stored for name in (each.name, *each.aliases)}
    for table in tables:
        if (table.schema, table.name) in placed:
            continue  # what was taken away stays away
        name = entity_name(table.name)
        if folded(name) in taken:
            name = entity_name(f"{table.schema} {table.name}")
        if not folded(name) or folded(name) in taken:
            continue
        taken.add(folded(name))
        keys = [column.name for column in table.columns if column.is_primary_key]
        yield (
            folded(name),
            Entity(
                name=name,
                schema=table.schema,
                table=table.name,
                column=keys[0] if len(keys) == 1 else "",
                key_columns=tuple(KeyColumn(name=key) for key in keys),
            ),
        )


def entity_name(table: str) -> str:
    """Return the name of what the rows of a table are: `order_items` is of `Order Item`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", table).replace(ARROW, " ")
    words = re.split(r"[_\s.-]+", spaced.strip("_ ."))
    *before, last = words or [""]
    whole = [*before, singular(last)]
    return " ".join(word if word.isupper() else word.capitalize() for word in whole).strip()


def singular(word: str) -> str:
    """Return the singular of an English plural, and any other word as it is."""
    lower = word.lower()
    if lower.endswith("ies") and len(word) > len("pies"):
        return f"{word[:-3]}y"
    if lower.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if lower.endswith("s") and not lower.endswith(("ss", "us", "is", "news")):
        return word[:-1]
    return word


def column_meaning(
    engine: EngineKind,
    table: SchemaTable,
    column: SchemaColumn,
    entities: Mapping[tuple[str, str], Entity],
) -> ColumnMeaning:
    """Return what a column may mean.

    Args:
        engine: Whose types these are.
        table: The column's.
        column: What to look at.
        entities: By schema and name of their tables.
    """
    foreign = next((key for key in table.foreign_keys if key.column == column.name), None)
    other = None
    if foreign is not None:
        other = entities.get((foreign.to_schema, foreign.to_table))
    elif [each.name for each in table.columns if each.is_primary_key] == [column.name]:
        other = entities.get((table.schema, table.name))
    return ColumnMeaning(
        schema=table.schema,
        table=table.name,
        column=column.name,
        entity=other.key if other is not None else "",
        role=column_role(engine, column, is_foreign=foreign is not None),
    )


def column_role(engine: EngineKind, column: SchemaColumn, *, is_foreign: bool) -> ColumnRole:
    """Return what a column may be for, by its name, type and keys."""
    family = family_of(engine, column.type)
    lower = column.name.lower()
    if column.is_primary_key or is_foreign or is_key_like(column.name) or column.type == "uuid":
        return ColumnRole.IDENTIFIER
    if family in {Family.TIME, Family.BOOLEAN} or _GROUPING.fullmatch(lower):
        return ColumnRole.DIMENSION
    if family is Family.NUMBER and not _LABELLING.fullmatch(lower):
        return ColumnRole.MEASURE
    return ColumnRole.ATTRIBUTE


def is_key_like(name: str) -> bool:
    """Say whether a column's name is one that keys have, such as `customer_id`."""
    return _KEY_LIKE.fullmatch(name if name != name.upper() else name.lower()) is not None


def looks_enumerated(name: str) -> bool:
    """Say whether a column's name is one of few values, such as `status`."""
    return _GROUPING.fullmatch(name.lower()) is not None


def _relationships(
    known: Knowledge,
    tables: Iterable[SchemaTable],
    entities: Mapping[tuple[str, str], Entity],
) -> Iterator[Relationship]:
    fresh_tables = {(table.schema, table.name) for table in tables}
    found: dict[str, Relationship] = {}
    for table in known.tables:
        is_fresh = (table.schema, table.name) in fresh_tables
        for key in table.foreign_keys:
            if not is_fresh and (key.to_schema, key.to_table) not in fresh_tables:
                continue
            here = entities.get((table.schema, table.name))
            there = entities.get((key.to_schema, key.to_table))
            if here is None or there is None:
                continue
            fresh = Relationship(
                from_entity=here.key,
                to_entity=there.key,
                cardinality=_cardinality(table, key),
                joins=(_join(table, key),),
                detection=Detection.FOREIGN_KEY,
            )
            before = found.get(fresh.key)
            found[fresh.key] = (
                replace(before, joins=(*before.joins, *fresh.joins)) if before else fresh
            )
    for key, relationship in found.items():
        if known.item(ItemKind.RELATIONSHIP, key) is None:
            yield relationship


def _join(table: SchemaTable, key: ForeignKey) -> Join:
    return Join(
        from_schema=table.schema,
        from_table=table.name,
        from_column=key.column,
        to_schema=key.to_schema,
        to_table=key.to_table,
        to_column=key.to_column,
    )


def _cardinality(table: SchemaTable, key: ForeignKey) -> Cardinality:
    keys = [column.name for column in table.columns if column.is_primary_key]
    return Cardinality.ONE_TO_ONE if keys == [key.column] else Cardinality.MANY_TO_ONE

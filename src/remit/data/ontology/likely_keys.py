"""Columns that may point to another table, by their names and types, and those that do."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from remit.data.ontology.inference import singular
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.names import folded
from remit.data.ontology.relationships import Relationship
from remit.data.probes.families import family_of
from remit.model.ontology import Cardinality, SchemaColumn, SchemaTable

_KEY_ENDING: Final = re.compile(r"[_\s]?(id|uuid|guid|key|code|no|nr|number)$", re.IGNORECASE)
_EVERYWHERE: Final = frozenset({"id", "key", "name", "code", "uuid", "guid", "no", "nr", "number"})
"""Names of columns that say nothing of which table they are about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A column, and the key of another table that it may point to."""

    table: SchemaTable
    column: SchemaColumn
    to_table: SchemaTable
    to_column: SchemaColumn


def candidates(known: Knowledge, table: SchemaTable) -> Iterator[Candidate]:
    """Return what columns of a table may point to, but for what is known to be joined."""
    joined = {
        (f"{join.from_schema}.{join.from_table}", join.from_column)
        for relationship in known.relationships.values()
        for join in relationship.joins
    }
    foreign = {key.column for key in table.foreign_keys}
    for column in table.columns:
        if column.name in foreign or (table.full_name, column.name) in joined:
            continue
        for other in known.tables:
            key = _key_of(other)
            if key is not None and _fits(known, table, column, other, key):
                yield Candidate(table=table, column=column, to_table=other, to_column=key)


def known_keys(known: Knowledge, table: SchemaTable) -> Iterator[tuple[Candidate, Relationship]]:
    """Return columns of a table that are known to point to another's key, each with as what."""
    columns = {column.name: column for column in table.columns}
    for relationship in known.relationships.values():
        for join in relationship.joins:
            other = known.find_table(f"{join.to_schema}.{join.to_table}")
            column = columns.get(join.from_column)
            is_here = f"{join.from_schema}.{join.from_table}" == table.full_name
            if not is_here or column is None or other is None:
                continue
            ends = [known.entity_of(each) for each in (table, other)]
            is_theirs = [each and each.key for each in ends] == [
                relationship.from_entity,
                relationship.to_entity,
            ]
            key = _key_of(other)
            if is_theirs and key is not None and key.name == join.to_column:
                candidate = Candidate(table=table, column=column, to_table=other, to_column=key)
                yield candidate, relationship


def is_refuted(stated: Cardinality) -> bool:
    """Say whether many rows that point to one row of another table prove something else than this.

    Rows that each point to one of their own prove nothing: there may be no more of them so far.
    """
    return stated in {Cardinality.ONE_TO_ONE, Cardinality.ONE_TO_MANY, Cardinality.UNKNOWN}


def cardinality_of(distinct: int, total: int) -> Cardinality:
    """Return how many rows stand to one row of the other table, by values that were examined."""
    return Cardinality.ONE_TO_ONE if distinct == total else Cardinality.MANY_TO_ONE


def _key_of(table: SchemaTable) -> SchemaColumn | None:
    keys = [column for column in table.columns if column.is_primary_key]
    return keys[0] if len(keys) == 1 else None


def _fits(
    known: Knowledge,
    table: SchemaTable,
    column: SchemaColumn,
    other: SchemaTable,
    key: SchemaColumn,
) -> bool:
    engine = known.datasource.engine
    if (table, column) == (other, key) or family_of(engine, column.type) is not family_of(
        engine, key.type
    ):
        return False
    name = folded(column.name)
    if name == folded(key.name):
        return name not in _EVERYWHERE and not column.is_primary_key
    thing = folded(_KEY_ENDING.sub("", column.name)).replace("_", "").replace(" ", "")
    entity = known.entity_of(other)
    words = {singular(other.name), other.name, *((entity.name,) if entity is not None else ())}
    called = {folded(word).replace("_", "").replace(" ", "") for word in words}
    return thing in called

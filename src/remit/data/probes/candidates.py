"""What may join two entities: joins that are stated, foreign keys, and names that look like it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from remit.data.known import Known
from remit.data.ontology.entities import Entity
from remit.data.ontology.names import folded
from remit.data.ontology.relationships import Relationship
from remit.data.probes.pairs import Key
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import SchemaTable

_EVERYWHERE: Final = frozenset({"id", "key", "name", "code", "uuid"})
"""Names of columns that say nothing of which table they are about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end of a relationship: an entity, or a table that no entity stands for.

    Attributes:
        key: The entity's key, or empty.
        column: The column that tells one of it from another, where the ontology says so.
    """

    name: str
    key: str
    table: SchemaTable
    column: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Two columns that may join two ends.

    Attributes:
        origin: `ontology`, `foreign_key`, or `name` for what only looks like it.
    """

    source: End
    target: End
    one: Key
    other: Key
    origin: str
    stated: Relationship | None = None


def end_of(known: Known, name: str) -> End:
    """Return the entity, or the table, that is meant.

    Raises:
        DataFailure: `entity_not_found`.
    """
    knowledge = known.knowledge
    entity = knowledge.find_entity(name)
    table = None if entity is not None else knowledge.find_table(name)
    if table is not None:
        return _end_of_table(known, table)
    entity = entity or knowledge.entity(name)
    end = _end_of_entity(known, entity)
    if end is None:
        raise DataFailure(
            DataCode.ENTITY_NOT_FOUND,
            f"entity {entity.name!r} has no table that could be looked at; `update_entity` gives it"
            " key columns",
            details={"entity": entity.name},
        )
    return end


def _end_of_entity(known: Known, entity: Entity) -> End | None:
    table = known.find_place(entity.schema, entity.table)
    if table is None:
        return None
    return End(name=entity.name, key=entity.key, table=table, column=entity.column)


def _end_of_table(known: Known, table: SchemaTable) -> End:
    entity = known.knowledge.entity_of(table)
    if entity is None:
        return End(name=table.full_name, key="", table=table)
    return End(name=entity.name, key=entity.key, table=table, column=entity.column)


def candidates_between(known: Known, source: End | None, target: End | None) -> Sequence[Candidate]:
    """Return what may join two ends; None is for any. Two columns are one candidate.

    Columns that are only named after the other end are looked for where both ends are given.
    """
    every: dict[tuple[str, str], Candidate] = {}
    for candidate in _candidates(known, source, target):
        every.setdefault((candidate.one.name, candidate.other.name), candidate)
    return list(every.values())


def _candidates(known: Known, source: End | None, target: End | None) -> Iterator[Candidate]:
    for relationship in known.knowledge.relationships.values():
        is_of_source = source is None or relationship.from_entity == source.key
        is_of_target = target is None or relationship.to_entity == target.key
        if is_of_source and is_of_target:
            yield from _stated(known, relationship)
    tables = known.knowledge.tables if source is None else (source.table,)
    for table in tables:
        yield from _by_foreign_keys(known, table, target)
    if source is not None and target is not None:
        yield from _by_names(source, target)


def _stated(known: Known, relationship: Relationship) -> Iterator[Candidate]:
    entities = known.knowledge.entities
    source = _end_of_entity(known, entities[relationship.from_entity])
    target = _end_of_entity(known, entities[relationship.to_entity])
    if source is None or target is None:
        return
    for join in relationship.joins:
        one = _find_key(known, join.from_schema, join.from_table, join.from_column)
        other = _find_key(known, join.to_schema, join.to_table, join.to_column)
        if one is not None and other is not None:
            yield Candidate(
                source=source,
                target=target,
                one=one,
                other=other,
                origin="ontology",
                stated=relationship,
            )


def _by_foreign_keys(known: Known, table: SchemaTable, target: End | None) -> Iterator[Candidate]:
    for foreign in known.foreign_keys(table):
        one = _find_key(known, table.schema, table.name, foreign.column)
        other = _find_key(known, foreign.to_schema, foreign.to_table, foreign.to_column)
        if one is None or other is None:
            continue
        if target is None or target.table == other.table:
            yield Candidate(
                source=_end_of_table(known, table),
                target=target or _end_of_table(known, other.table),
                one=one,
                other=other,
                origin="foreign_key",
            )


def _by_names(source: End, target: End) -> Iterator[Candidate]:
    key = _key_of(target)
    if key is None:
        return
    words = {_singular(folded(name).replace(" ", "_")) for name in (target.name, target.table.name)}
    name = key.column.name.lower()
    likely = {f"{word}{mark}{name}" for word in words for mark in ("_", "")} | words
    if name not in _EVERYWHERE:
        likely.add(name)
    for column in source.table.columns:
        one = Key(table=source.table, column=column)
        if column.name.lower() in likely and one != key:
            yield Candidate(source=source, target=target, one=one, other=key, origin="name")


def _key_of(end: End) -> Key | None:
    """Return the column that tells one row of an end from another, where it is one column."""
    columns = [each for each in end.table.columns if each.is_primary_key]
    if end.column:
        columns = [each for each in end.table.columns if each.name == end.column]
    return Key(table=end.table, column=columns[0]) if len(columns) == 1 else None


def _find_key(known: Known, schema: str, table: str, column: str) -> Key | None:
    found = known.find_place(schema, table)
    if found is None:
        return None
    columns = (each for each in found.columns if each.name == column)
    return next((Key(table=found, column=each) for each in columns), None)


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word

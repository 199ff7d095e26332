"""What there is to know of a datasource, as deep as is asked for (S2.10, 19 and 22).

domain      what it is about: domains with their entities, facts, words
entities    … and every entity, and how they belong together
tables      … and the tables
columns     … and their columns
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import anyio

from remit.data.desk import Desk, Result
from remit.data.known import Known, look_up
from remit.data.ontology.entities import Entity
from remit.data.ontology.shown import entity_fields
from remit.data.probes.columns import FEW, ColumnProfile
from remit.data.probes.probing import MOST_PROBED, Prober
from remit.data.reading.schema import MOST_COLUMNS, MOST_TABLES
from remit.data.reading.shown import (
    ENTITY,
    RELATIONSHIP,
    TABLE,
    TERM,
    shown_column,
    shown_relationships,
    shown_table,
    shown_term,
)
from remit.errors import DataFailure
from remit.model.ontology import FactCategory, SchemaTable
from remit.servers.shapes import COUNT, FLAG, TEXT, Schema, list_of, one_of, record


class Depth(StrEnum):
    """How much is told."""

    DOMAIN = "domain"
    ENTITIES = "entities"
    TABLES = "tables"
    COLUMNS = "columns"


class Extra(StrEnum):
    """What is told of columns beside what they mean."""

    STATISTICS = "statistics"
    SAMPLE_VALUES = "sample_values"


MOST_WORDS: Final = 500
"""Terms, and facts, that one answer has."""

_BUDGET: Final = 15.0
"""Seconds after which no further column is looked at."""

_DIGITS: Final = 4

_FACT: Final = record(fact_id=TEXT, fact=TEXT, context=TEXT, category=one_of(*FactCategory))
_DOMAIN: Final = record(name=TEXT, entities=list_of(TEXT))

_DEEPER: Final[Mapping[str, Schema]] = {
    "domains": list_of(_DOMAIN),
    "entities": list_of(ENTITY),
    "relationships": list_of(RELATIONSHIP),
    "tables": list_of(TABLE),
    "truncated": FLAG,
    "next": TEXT,
}

ONTOLOGY: Final = record(
    ("entities", "relationships", "tables"),
    datasource=TEXT,
    depth=one_of(*Depth),
    entity_count=COUNT,
    **_DEEPER,
)

CONTEXT: Final = record(
    ("entities", "relationships", "tables"),
    datasource=TEXT,
    depth=one_of(*Depth),
    engine=TEXT,
    table_count=COUNT,
    entity_count=COUNT,
    facts=list_of(_FACT),
    glossary=list_of(TERM),
    **_DEEPER,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is asked for.

    Attributes:
        tables: As callers name them; empty for all.
        extras: Of columns, at depth `columns` alone.
    """

    depth: Depth
    tables: Sequence[str] = ()
    include_relationships: bool = True
    extras: frozenset[Extra] = frozenset()


async def get_context(desk: Desk, scope: Scope, *, datasource: str | None = None) -> Result:
    """Return ontology, schema, facts and glossary in one go.

    Values are shown of columns that hold few different ones, and never of sensitive ones.

    Raises:
        DataFailure: `table_not_found`, or `service_unavailable`.
    """
    known = await look_up(desk, datasource)
    view = _View(known, scope)
    terms = list(known.knowledge.terms.values())
    facts = list(known.knowledge.facts.values())
    if len(terms) > MOST_WORDS:
        view.cut("`list_glossary` has every term")
    if len(facts) > MOST_WORDS:
        view.cut(f"of {len(facts)} facts the first {MOST_WORDS} are shown")
    deeper = view.deeper()
    if scope.depth is Depth.COLUMNS:
        deeper["tables"] = await _with_columns(view)
    elif scope.depth is Depth.TABLES:
        deeper["tables"] = [shown_table(known, table) for table in view.first_tables()]
    return {
        "datasource": known.source.datasource.name,
        "depth": scope.depth.value,
        "engine": known.source.datasource.engine.value,
        "table_count": len(view.tables),
        "entity_count": len(view.entities),
        "facts": [
            {
                "fact_id": each.id,
                "fact": each.fact,
                "context": each.context,
                "category": each.category.value,
            }
            for each in facts[:MOST_WORDS]
        ],
        "glossary": [shown_term(each) for each in terms[:MOST_WORDS]],
        **deeper,
        **view.told(),
    }


async def get_ontology(desk: Desk, scope: Scope, *, datasource: str | None = None) -> Result:
    """Return what the data means, and of tables and columns those that somebody has described.

    Raises:
        DataFailure: `table_not_found`, or `service_unavailable`.
    """
    known = await look_up(desk, datasource)
    view = _View(known, scope)
    deeper = view.deeper()
    if scope.depth in {Depth.TABLES, Depth.COLUMNS}:
        deeper["tables"] = [
            shown for table in view.first_tables() if (shown := _described(view, table))
        ]
    return {
        "datasource": known.source.datasource.name,
        "depth": scope.depth.value,
        "entity_count": len(view.entities),
        **deeper,
        **view.told(),
    }


class _View:
    """What is known, as far as it is asked for.

    Attributes:
        tables: Those that are asked for.
        entities: Those of these tables; or, where no table is named, all.
    """

    def __init__(self, known: Known, scope: Scope) -> None:
        self.known = known
        self.scope = scope
        knowledge = known.knowledge
        named = {table.full_name: table for table in map(knowledge.table, scope.tables)}
        self.tables: Sequence[SchemaTable] = list(named.values()) or knowledge.tables
        self.entities: Sequence[Entity] = [
            entity
            for entity in knowledge.entities.values()
            if not named or f"{entity.schema}.{entity.table}" in named
        ]
        self._cuts: list[str] = []

    def cut(self, what_next: str) -> None:
        """Note that something is left out, and what to do about it."""
        self._cuts.append(what_next)

    def told(self) -> Result:
        """Return whether something is left out, and what to do about it."""
        return {"truncated": bool(self._cuts), "next": "; ".join(self._cuts)}

    def first_tables(self) -> Sequence[SchemaTable]:
        """Return as many tables as one answer has."""
        if len(self.tables) > MOST_TABLES:
            self.cut("name the `tables` that you want to see; `search_schema` finds them")
        return self.tables[:MOST_TABLES]

    def deeper(self) -> Result:
        """Return domains and, unless only these are asked for, entities and relationships."""
        domains: dict[str, list[str]] = {}
        for entity in self.entities:
            domains.setdefault(entity.domain, []).append(entity.name)
        told: Result = {
            "domains": [
                {"name": name, "entities": names} for name, names in sorted(domains.items())
            ]
        }
        if self.scope.depth is Depth.DOMAIN:
            return told
        told["entities"] = [entity_fields(entity) for entity in self.entities]
        if self.scope.include_relationships:
            keys = {entity.key for entity in self.entities}
            told["relationships"] = shown_relationships(
                self.known,
                (
                    each
                    for each in self.known.knowledge.relationships.values()
                    if each.from_entity in keys or each.to_entity in keys
                ),
            )
        return told


def _described(view: _View, table: SchemaTable) -> Result | None:
    """Return a table of which something is said, or None."""
    known = view.known
    meant = [column for column in table.columns if known.knowledge.meaning(table, column)]
    if not meant and known.knowledge.entity_of(table) is None:
        return None
    shown = shown_table(known, table)
    if view.scope.depth is Depth.COLUMNS:
        shown["columns"] = [shown_column(known, table, column) for column in meant]
    return shown


async def _with_columns(view: _View) -> Sequence[Result]:
    """Return the tables with their columns, and with what was seen of these if that is asked."""
    known = view.known
    tables: list[Result] = []
    shown: list[tuple[SchemaTable, Result]] = []
    columns = 0
    for table in view.first_tables():
        one = shown_table(known, table)
        columns += len(table.columns)
        if columns <= MOST_COLUMNS:
            of_table = [shown_column(known, table, column) for column in table.columns]
            one["columns"] = of_table
            shown += [(table, column) for column in of_table]
        tables.append(one)
    if columns > MOST_COLUMNS:
        view.cut("tables without `columns` show them when you name these `tables`")
    if view.scope.extras:
        await _look_at(view, shown)
    return tables


async def _look_at(view: _View, columns: Sequence[tuple[SchemaTable, Result]]) -> None:
    """Add to shown columns what is seen of them, as far as that is done in time."""
    prober = Prober(view.known)
    end = anyio.current_time() + _BUDGET
    looked_at = 0
    for table, shown in columns[:MOST_PROBED]:
        if anyio.current_time() > end:
            break
        looked_at += 1
        try:
            seen = await prober.look(table, view.known.knowledge.column(table, str(shown["name"])))
        except DataFailure:
            view.cut(f"`probe_column` says why {table.full_name}.{shown['name']} was not looked at")
            continue
        shown.update(_extras(seen, view.scope.extras))
    if looked_at < len(columns):
        view.cut(
            f"the first {looked_at} columns were looked at: name fewer `tables`, or use"
            " `probe_columns`"
        )


def _extras(seen: ColumnProfile, extras: Iterable[Extra]) -> Result:
    told: Result = {}
    if Extra.STATISTICS in extras:
        told["statistics"] = {
            "row_count": seen.size.rows,
            "distinct_count": seen.distinct,
            "null_rate": round(seen.null_rate, _DIGITS),
            "min": seen.least,
            "max": seen.greatest,
            "is_estimate": seen.is_estimate or seen.size.is_estimate,
        }
    if Extra.SAMPLE_VALUES in extras and 0 < seen.distinct <= FEW and not seen.is_sensitive:
        told["sample_values"] = list(seen.samples)
    return told

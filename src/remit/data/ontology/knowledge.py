"""All that is known of a datasource, read in one go, as one immutable value."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from remit.data.desk import Desk
from remit.data.engines.engine import Allowed
from remit.data.ontology.columns import ColumnMeaning
from remit.data.ontology.entities import Entity
from remit.data.ontology.facts import Fact
from remit.data.ontology.glossary import Term
from remit.data.ontology.names import column_key, folded, nearest
from remit.data.ontology.questions import Question
from remit.data.ontology.relationships import Relationship
from remit.errors import DataFailure
from remit.model.data import DataCode, Datasource
from remit.model.ontology import Item, ItemKind, Schema, SchemaColumn, SchemaTable

_LONGEST_SHOWN = 80


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What is known of a datasource, as far as its tables may be used.

    What is about tables that may not be used is not in it at all, but for `items`.

    Attributes:
        schema: What it was seen to hold; None before the first look.
        tables: Those that may be used, by schema and name.
        items: Everything of the ontology as it is stored, by kind and key, with provenance and
            version, what may not be used and what was taken away included: for those who write.
    """

    datasource: Datasource
    schema: Schema | None
    tables: Sequence[SchemaTable]
    items: Mapping[tuple[ItemKind, str], Item]

    def item(self, kind: ItemKind, key: str) -> Item | None:
        """Return one as it is stored, or None."""
        return self.items.get((kind, key))

    def of_kind(self, kind: ItemKind) -> Iterable[Item]:
        """Return what is stored of a kind, by key, for those who write."""
        return (item for (each, _), item in self.items.items() if each is kind)

    @cached_property
    def entities(self) -> Mapping[str, Entity]:
        """Those that were not taken away, by key, in the order of keys."""
        every = (Entity.from_item(item) for item in self.of_kind(ItemKind.ENTITY))
        return {
            each.key: each
            for each in every
            if not each.is_deleted and (not each.table or self._may_use(each.schema, each.table))
        }

    @cached_property
    def columns(self) -> Mapping[str, ColumnMeaning]:
        """What columns mean, by key, in the order of keys."""
        every = (ColumnMeaning.from_item(item) for item in self.of_kind(ItemKind.COLUMN))
        return {each.key: each for each in every if self._may_use(each.schema, each.table)}

    @cached_property
    def relationships(self) -> Mapping[str, Relationship]:
        """Those between entities that are there, by key, in the order of keys."""
        every = (Relationship.from_item(item) for item in self.of_kind(ItemKind.RELATIONSHIP))
        there = self.entities
        return {
            each.key: each
            for each in every
            if each.from_entity in there and each.to_entity in there
        }

    @cached_property
    def terms(self) -> Mapping[str, Term]:
        """The glossary, by key, in the order of keys."""
        return {item.key: Term.from_item(item) for item in self.of_kind(ItemKind.TERM)}

    @cached_property
    def facts(self) -> Mapping[str, Fact]:
        """What one has to know, by id, oldest first."""
        items = sorted(self.of_kind(ItemKind.FACT), key=_age)
        return {item.key: Fact.from_item(item) for item in items}

    @cached_property
    def questions(self) -> Mapping[str, Question]:
        """Every question, whatever became of it, by id, oldest first."""
        items = sorted(self.of_kind(ItemKind.QUESTION), key=_age)
        every = (Question.from_item(item) for item in items)
        there = {table.full_name for table in self.tables}
        return {each.key: each for each in every if there.issuperset(each.tables)}

    def find_table(self, name: str) -> SchemaTable | None:
        """Return a table that may be used, by `table` or `schema.table`, or None.

        An exact name comes first, then the only one that differs in letter case alone. A name
        without a schema is one of the first schema of the datasource that has it.
        """
        return _named(name, self._tables_by_name) or _named(name, self._tables_folded, fold=True)

    def table(self, name: str) -> SchemaTable:
        """Return a table that may be used, by `table` or `schema.table`.

        Raises:
            DataFailure: `table_not_found`, in the same words whether it exists or not.
        """
        found = self.find_table(name)
        if found is None:
            names = [each.full_name if "." in name else each.name for each in self.tables]
            absent(DataCode.TABLE_NOT_FOUND, "table", name, names, remedy=self._look())
        return found

    def column(self, table: SchemaTable, name: str) -> SchemaColumn:
        """Return a column of a table.

        Raises:
            DataFailure: `column_not_found`.
        """
        exact = {each.name: each for each in table.columns}
        alike = [each for each in table.columns if folded(each.name) == folded(name)]
        found = exact.get(name) or (alike[0] if len(alike) == 1 else None)
        if found is None:
            absent(DataCode.COLUMN_NOT_FOUND, f"column of {table.full_name}", name, exact)
        return found

    def meaning(self, table: SchemaTable, column: SchemaColumn) -> ColumnMeaning | None:
        """Return what a column means, or None where nobody has said."""
        return self.columns.get(column_key(table.schema, table.name, column.name))

    def find_entity(self, name: str) -> Entity | None:
        """Return an entity by its name, or else by an alias, or None."""
        key = folded(name)
        found = self.entities.get(key)
        if found is not None:
            return found
        aliased = (each for each in self.entities.values() if key in map(folded, each.aliases))
        return next(aliased, None)

    def entity(self, name: str) -> Entity:
        """Return an entity by its name, or else by an alias.

        Raises:
            DataFailure: `entity_not_found`.
        """
        found = self.find_entity(name)
        if found is None:
            names = [each.name for each in self.entities.values()]
            absent(DataCode.ENTITY_NOT_FOUND, "entity", name, names)
        return found

    def entity_of(self, table: SchemaTable) -> Entity | None:
        """Return the entity whose primary table it is, or None."""
        return self._entities_by_table.get((table.schema, table.name))

    def term(self, name: str) -> Term:
        """Return a term by its name, or else by an alias.

        Raises:
            DataFailure: `term_not_found`.
        """
        key = folded(name)
        found = self.terms.get(key)
        if found is None:
            aliased = (each for each in self.terms.values() if key in map(folded, each.aliases))
            found = next(aliased, None)
        if found is None:
            names = [each.term for each in self.terms.values()]
            absent(DataCode.TERM_NOT_FOUND, "term", name, names)
        return found

    def _may_use(self, schema: str, table: str) -> bool:
        return (schema, table) in self._places

    def _look(self) -> str:
        if self.schema is None:
            return "the schema was not read yet: call refresh_schema first"
        return "see get_schema"

    @cached_property
    def _places(self) -> frozenset[tuple[str, str]]:
        return frozenset((each.schema, each.name) for each in self.tables)

    @cached_property
    def _entities_by_table(self) -> Mapping[tuple[str, str], Entity]:
        return {(each.schema, each.table): each for each in self.entities.values() if each.table}

    @cached_property
    def _tables_by_name(self) -> Mapping[str, Sequence[SchemaTable]]:
        return _by_name(self._usual_first)

    @cached_property
    def _tables_folded(self) -> Mapping[str, Sequence[SchemaTable]]:
        return _by_name(self._usual_first, fold=True)

    @cached_property
    def _usual_first(self) -> Sequence[SchemaTable]:
        places = {schema: place for place, schema in enumerate(self.datasource.schemas)}
        return sorted(self.tables, key=lambda table: places.get(table.schema, len(places)))


async def read_knowledge(desk: Desk, datasource: Datasource, allowed: Allowed) -> Knowledge:
    """Read all that is known of a datasource.

    Args:
        desk: Who asks.
        datasource: What of.
        allowed: Which of its tables may be used; those that are not selected are not in any case.
    """
    store = desk.stores.ontology
    # items first: what a refresh adds while we read is then lacking, and nothing is about a
    # table that is not there
    items = await store.items(desk.tenant, datasource.id)
    schema = await store.find_schema(desk.tenant, datasource.id)
    return Knowledge(
        datasource=datasource,
        schema=schema,
        tables=usable(schema, allowed),
        items={(item.kind, item.key): item for item in items},
    )


def usable(schema: Schema | None, allowed: Allowed) -> tuple[SchemaTable, ...]:
    """Return the tables of a schema that may be used: those that are selected and allowed."""
    return tuple(
        table
        for table in (schema.tables if schema is not None else ())
        if table.is_selected and allowed(table.schema, table.name)
    )


def absent(
    code: DataCode, what: str, name: str, names: Iterable[str], *, remedy: str = ""
) -> NoReturn:
    """Say that there is no such thing, and what is nearest to it.

    Raises:
        DataFailure: Always.
    """
    near = list(nearest(name, names))
    said = f"there is no {what} {name[:_LONGEST_SHOWN]!r}"
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else remedy
    raise DataFailure(
        code, f"{said}; {hint}" if hint else said, details={"nearest": near} if near else None
    )


def _age(item: Item) -> tuple[object, str]:
    return item.provenance.created, item.key


def _by_name(
    tables: Sequence[SchemaTable], *, fold: bool = False
) -> Mapping[str, Sequence[SchemaTable]]:
    named: dict[str, list[SchemaTable]] = {}
    for table in tables:
        for name in (table.full_name, table.name):
            named.setdefault(folded(name) if fold else name, []).append(table)
    return named


def _named(
    name: str, tables: Mapping[str, Sequence[SchemaTable]], *, fold: bool = False
) -> SchemaTable | None:
    found = tables.get(folded(name) if fold else name, ())
    if not fold or len(found) == 1:
        return found[0] if found else None
    return None

"""One entity, where it occurs, and what belongs to it (S2.10, 20)."""

from collections.abc import Iterator
from typing import Final

from remit.data.desk import Desk, Result
from remit.data.known import Known, look_up
from remit.data.ontology.entities import Entity
from remit.data.ontology.shown import PROVENANCE, entity_fields, shown_provenance
from remit.data.reading.shown import ENTITY, RELATIONSHIP, shown_relationships
from remit.model.ontology import ItemKind
from remit.servers.shapes import TEXT, list_of, one_of, record

_OCCURRENCE: Final = record(table=TEXT, column=TEXT, how=one_of("primary", "foreign_key", "stated"))

ENTITY_WHOLE: Final = record(
    entity=ENTITY,
    occurrences=list_of(_OCCURRENCE),
    relationships=list_of(RELATIONSHIP),
    provenance=PROVENANCE,
)


async def get_entity(desk: Desk, name: str, *, datasource: str | None = None) -> Result:
    """Return an entity by its name or an alias, with its occurrences and relationships.

    Raises:
        DataFailure: `entity_not_found`, with the nearest ones.
    """
    known = await look_up(desk, datasource)
    entity = known.knowledge.entity(name)
    item = known.knowledge.items[ItemKind.ENTITY, entity.key]
    occurrences = dict(_occurrences(known, entity))
    return {
        "entity": entity_fields(entity),
        "occurrences": [
            {"table": table, "column": column, "how": how}
            for (table, column), how in occurrences.items()
        ],
        "relationships": shown_relationships(
            known,
            (
                each
                for each in known.knowledge.relationships.values()
                if entity.key in {each.from_entity, each.to_entity}
            ),
        ),
        "provenance": shown_provenance(item.provenance),
    }


def _occurrences(known: Known, entity: Entity) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield columns whose values name the entity; what is yielded last of a column, holds."""
    for table in known.knowledge.tables:
        for column in table.columns:
            meaning = known.knowledge.meaning(table, column)
            if meaning is not None and meaning.entity == entity.key:
                yield (table.full_name, column.name), "stated"
        for key in known.foreign_keys(table):
            is_to_it = (key.to_schema, key.to_table) == (entity.schema, entity.table)
            if is_to_it and (not entity.column or key.to_column == entity.column):
                yield (table.full_name, key.column), "foreign_key"
        if entity.column and (table.schema, table.name) == (entity.schema, entity.table):
            yield (table.full_name, entity.column), "primary"

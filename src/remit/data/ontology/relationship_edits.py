"""Stating how two entities belong together, and taking that back."""

from dataclasses import dataclass, replace

from remit.data.desk import Desk
from remit.data.ontology.entities import Entity
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.names import folded, relationship_key
from remit.data.ontology.relationships import Detection, Relationship
from remit.data.ontology.writing import Stated, Wanted, state, unstate
from remit.model.ontology import Cardinality, ItemKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipEdit:
    """What is to be stated of two entities, by name or alias; None leaves a field as it is."""

    from_entity: str
    to_entity: str
    description: str | None = None
    label: str | None = None
    cardinality: Cardinality | None = None


async def update_relationship(
    desk: Desk, datasource: str | None, edit: RelationshipEdit
) -> Stated[Relationship]:
    """State how one entity belongs to another.

    Raises:
        DataFailure: `entity_not_found` or `precedence_blocked`.
    """
    return await state(
        desk,
        await desk.datasource(datasource),
        ItemKind.RELATIONSHIP,
        lambda known: _edited(known, edit),
    )


def _edited(known: Knowledge, edit: RelationshipEdit) -> Wanted[Relationship]:
    ends = known.entity(edit.from_entity), known.entity(edit.to_entity)
    relationship = known.relationships.get(relationship_key(ends[0].key, ends[1].key))
    if relationship is None:
        relationship = Relationship(
            from_entity=ends[0].key, to_entity=ends[1].key, detection=Detection.STATED
        )
    if edit.description is not None:
        relationship = replace(relationship, description=edit.description)
    if edit.label is not None:
        relationship = replace(relationship, label=edit.label)
    if edit.cardinality is not None:
        relationship = replace(relationship, cardinality=edit.cardinality)
    # an entity is not taken away while something is said of it
    keys = dict.fromkeys(end.key for end in ends)
    held = [known.items[ItemKind.ENTITY, key] for key in keys]
    return Wanted(value=relationship, held=held)


async def delete_relationship(
    desk: Desk, datasource: str | None, from_entity: str, to_entity: str
) -> bool:
    """Take back how two entities belong together, and say whether anything was known.

    Raises:
        DataFailure: `entity_not_found` where there never was such an entity, or
            `precedence_blocked`.
    """

    def find_key(known: Knowledge) -> str:
        return relationship_key(_key(known, from_entity), _key(known, to_entity))

    return await unstate(desk, await desk.datasource(datasource), ItemKind.RELATIONSHIP, find_key)


def _key(known: Knowledge, name: str) -> str:
    found: Entity | None = known.find_entity(name)
    if found is None and known.item(ItemKind.ENTITY, folded(name)) is not None:
        return folded(name)  # it was taken away
    return known.entity(name).key

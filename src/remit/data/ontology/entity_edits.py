"""Stating what an entity is, and taking one away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from remit.data.desk import Desk
from remit.data.ontology.columns import ColumnMeaning
from remit.data.ontology.entities import Entity, KeyColumn
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.names import ARROW, folded
from remit.data.ontology.writing import (
    Stated,
    Wanted,
    distinct,
    look,
    require_free,
    require_name,
    require_precedence,
    source_of,
    state,
    stated,
)
from remit.data.settling import settled
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import Item, ItemKind


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityEdit:
    """What is to be stated of an entity; None leaves a field as it is.

    Attributes:
        table: Its primary table, as `table` or `schema.table`; empty for none.
    """

    name: str
    description: str | None = None
    domain: str | None = None
    table: str | None = None
    aliases: Sequence[str] | None = None
    key_columns: Sequence[KeyColumn] | None = None


async def update_entity(desk: Desk, datasource: str | None, edit: EntityEdit) -> Stated[Entity]:
    """State what an entity is; one that was taken away is back.

    Raises:
        DataFailure: `validation_error`, `table_not_found`, `column_not_found`,
            `resource_conflict` where a name means another entity, or `precedence_blocked`.
    """
    return await state(
        desk,
        await desk.datasource(datasource),
        ItemKind.ENTITY,
        lambda known: Wanted(value=_edited(known, edit)),
    )


def _edited(known: Knowledge, edit: EntityEdit) -> Entity:
    name = require_name(edit.name, "the entity's name")
    entity = _before(known, name)
    if edit.description is not None:
        entity = replace(entity, description=edit.description)
    if edit.domain is not None:
        entity = replace(entity, domain=edit.domain)
    if edit.table is not None:
        entity = _placed(known, entity, edit.table)
    if edit.aliases is not None:
        entity = replace(entity, aliases=distinct(edit.aliases))
    if edit.key_columns is not None:
        entity = _keyed(known, entity, edit.key_columns)
    require_free([name, *(edit.aliases or ())], _taken(known, entity.key), "an entity")
    return entity


def _before(known: Knowledge, name: str) -> Entity:
    """Return what is to be edited: what is there, what was there, or a new one."""
    before = known.item(ItemKind.ENTITY, folded(name))
    entity = Entity.from_item(before) if before is not None else Entity(name=name)
    if before is None or entity.key in known.entities:
        return entity
    if not entity.is_deleted:  # it is about a table that may not be used
        raise DataFailure(
            DataCode.RESOURCE_CONFLICT, f"the name {name!r} is taken: choose another one"
        )
    entity = replace(entity, is_deleted=False, deletion_reason="")
    if known.find_table(f"{entity.schema}.{entity.table}") is None:
        return replace(entity, schema="", table="", column="", key_columns=())
    return entity


def _placed(known: Knowledge, entity: Entity, table_name: str) -> Entity:
    if not table_name:
        return replace(entity, schema="", table="", column="", key_columns=())
    table = known.table(table_name)
    other = known.entity_of(table)
    if other is not None and other.key != entity.key:
        require_free([table.name], {folded(table.name): other.name}, "the table of an entity")
    keys = [column.name for column in table.columns if column.is_primary_key]
    key = keys[0] if len(keys) == 1 else ""
    moved = (entity.schema, entity.table) != (table.schema, table.name)
    kept = () if moved else entity.key_columns
    return replace(entity, schema=table.schema, table=table.name, column=key, key_columns=kept)


def _keyed(known: Knowledge, entity: Entity, columns: Sequence[KeyColumn]) -> Entity:
    if not entity.table:
        return replace(entity, key_columns=tuple(columns))
    table = known.table(f"{entity.schema}.{entity.table}")
    return replace(
        entity,
        key_columns=tuple(
            replace(each, name=known.column(table, each.name).name) for each in columns
        ),
    )


def _taken(known: Knowledge, but: str) -> Mapping[str, str]:
    return {
        folded(name): entity.name
        for key, entity in known.entities.items()
        if key != but
        for name in (*entity.aliases, entity.name)
    }


async def delete_entity(
    desk: Desk, datasource: str | None, name: str, reason: str = ""
) -> Stated[Entity]:
    """Take an entity away; it is kept, marked as deleted, and no column names it any longer.

    Raises:
        DataFailure: `entity_not_found`, `resource_conflict` while relationships of it exist, or
            `precedence_blocked`.
    """
    where = await desk.datasource(datasource)

    async def attempt() -> Stated[Entity]:
        known = await look(desk, where)
        entity = known.entities.get(folded(name)) or known.entity(name)
        require_unrelated(known, entity)
        before = known.items[ItemKind.ENTITY, entity.key]
        desk.require_seen(before.version)
        require_precedence(before, source_of(desk), f"entity {entity.name!r}")
        gone = replace(entity, is_deleted=True, deletion_reason=reason)
        item = stated(desk, where, ItemKind.ENTITY, gone, before=before)
        await desk.stores.ontology.write(items=[item, *released(known, entity)])
        return Stated(value=gone, provenance=item.provenance)

    return await settled(attempt)


def require_unrelated(known: Knowledge, entity: Entity) -> None:
    """Let an entity go only where no relationship has it at one end.

    Raises:
        DataFailure: `resource_conflict`, with the keys of those that do.
    """
    left = [
        item.key
        for item in known.items.values()
        if item.kind is ItemKind.RELATIONSHIP and entity.key in item.key.split(ARROW)
    ]
    if left:
        raise DataFailure(
            DataCode.RESOURCE_CONFLICT,
            f"entity {entity.name!r} has {len(left)} relationships: take them away first, with"
            " delete_relationship",
            details={"relationships": left[:20]},
        )


def released(known: Knowledge, entity: Entity) -> Sequence[Item]:
    """Return what columns mean that name an entity, without it, by whoever said the rest."""
    every = (item for item in known.items.values() if item.kind is ItemKind.COLUMN)
    return [
        replace(item, body=replace(ColumnMeaning.from_item(item), entity="").to_body())
        for item in every
        if item.body.get("entity") == entity.key
    ]

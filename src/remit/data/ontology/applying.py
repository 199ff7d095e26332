"""What approving a change does to what is known, by its action and payload (S2.43, S2.44)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from remit.data.desk import Desk
from remit.data.engines.allowing import declared
from remit.data.ontology.columns import ColumnMeaning, EnumValue
from remit.data.ontology.comparison import Action
from remit.data.ontology.edits import Edits, find_there, over, refuse_outdated
from remit.data.ontology.entities import Entity
from remit.data.ontology.forgetting import forget_column, forget_table
from remit.data.ontology.inference import Inferred, infer
from remit.data.ontology.knowledge import Knowledge, usable
from remit.data.ontology.relationships import Detection, Join, Relationship
from remit.data.ontology.wondering import questions_about
from remit.data.ontology.writing import Stateable, stated
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import (
    Cardinality,
    ColumnRole,
    Item,
    ItemKind,
    PendingChange,
    SchemaTable,
    Source,
)


def edits_of(desk: Desk, known: Knowledge, change: PendingChange) -> Edits:
    """Return what approving *change* writes.

    Raises:
        DataFailure: `precedence_blocked`, `invalid_state` where it no longer fits what is there,
            or `entity_not_found`.
    """
    return _ACTIONS[Action(change.action)](desk, known, change)


def _select_table(desk: Desk, known: Knowledge, change: PendingChange) -> Edits:
    schema = known.schema
    table = find_there(known, change)
    if schema is None or table is None:
        refuse_outdated(change, "is not there any longer")
    chosen = replace(table, is_selected=True)
    tables = [chosen if each == table else each for each in schema.tables]
    after = replace(schema, tables=tables)
    known = replace(known, schema=after, tables=usable(after, declared(known.datasource)))
    return Edits(items=inferred_items(desk, known, [chosen]), schema=after)


def inferred_items(desk: Desk, known: Knowledge, tables: Sequence[SchemaTable]) -> Sequence[Item]:
    """Return what is inferred of tables, and what should be asked about them, as items to write."""
    inferred: Inferred = infer(known, tables)
    found: list[tuple[ItemKind, Stateable]] = [
        *((ItemKind.ENTITY, each) for each in inferred.entities.values()),
        *((ItemKind.COLUMN, each) for each in inferred.columns),
        *((ItemKind.RELATIONSHIP, each) for each in inferred.relationships),
        *((ItemKind.QUESTION, each) for each in questions_about(known, tables)),
    ]
    return [
        stated(desk, known.datasource, kind, value, before=None, source=Source.INFERRED)
        for kind, value in found
    ]


def _update_column(desk: Desk, known: Knowledge, change: PendingChange) -> Edits:
    meaning = _meaning(known, change)
    role = change.payload.get("role")
    if isinstance(role, str):
        meaning = replace(meaning, role=ColumnRole(role))
    entity = change.payload.get("entity")
    if isinstance(entity, str) and entity in known.entities:
        meaning = replace(meaning, entity=entity)
    return _stating(desk, known, ItemKind.COLUMN, meaning)


def _add_enum_values(desk: Desk, known: Knowledge, change: PendingChange) -> Edits:
    meaning = _meaning(known, change)
    there = {each.value for each in meaning.enum_values}
    values = cast("Sequence[object]", change.payload.get("values", []))
    fresh = (EnumValue(value=str(each)) for each in values if str(each) not in there)
    return _stating(
        desk,
        known,
        ItemKind.COLUMN,
        replace(meaning, enum_values=(*meaning.enum_values, *fresh)),
    )


def _meaning(known: Knowledge, change: PendingChange) -> ColumnMeaning:
    table = find_there(known, change)
    columns = table.columns if table is not None else ()
    column = next((each for each in columns if each.name == change.column), None)
    if table is None or column is None:
        refuse_outdated(change, "is not there any longer")
    return known.meaning(table, column) or ColumnMeaning(
        schema=table.schema, table=table.name, column=column.name
    )


def _update_relationship(desk: Desk, known: Knowledge, change: PendingChange) -> Edits:
    table = find_there(known, change)
    other = known.find_table(str(change.payload.get("to_table", "")))
    if table is None or other is None:
        refuse_outdated(change, "or the table that it points to is not there any longer")
    here, there = _entity_of(known, table), _entity_of(known, other)
    fresh = Relationship(from_entity=here.key, to_entity=there.key)
    relationship = known.relationships.get(fresh.key) or replace(
        fresh,
        detection=Detection(str(change.payload.get("detection", Detection.STATED))),
        confidence=float(cast("float", change.payload.get("confidence", 1.0))),
    )
    join = Join(
        from_schema=table.schema,
        from_table=table.name,
        from_column=change.column,
        to_schema=other.schema,
        to_table=other.name,
        to_column=str(change.payload.get("to_column", "")),
    )
    if join not in relationship.joins:
        relationship = replace(relationship, joins=(*relationship.joins, join))
    cardinality = change.payload.get("cardinality")
    if isinstance(cardinality, str):
        relationship = replace(relationship, cardinality=Cardinality(cardinality))
    held = [known.items[ItemKind.ENTITY, key] for key in {here.key, there.key}]
    edits = _stating(desk, known, ItemKind.RELATIONSHIP, relationship)
    return Edits(items=[*edits.items, *held])


def _entity_of(known: Knowledge, table: SchemaTable) -> Entity:
    found = known.entity_of(table)
    if found is None:
        raise DataFailure(
            DataCode.ENTITY_NOT_FOUND,
            f"no entity stands for {table.full_name}: make one with update_entity, then try again",
            details={"table": table.full_name},
        )
    return found


def _stating(desk: Desk, known: Knowledge, kind: ItemKind, value: Stateable) -> Edits:
    before = known.item(kind, value.key)
    if before is not None and before.body == value.to_body():
        return Edits()
    return Edits(items=[over(desk, known, kind, value, before)])


_ACTIONS: Final[Mapping[Action, Callable[[Desk, Knowledge, PendingChange], Edits]]] = {
    Action.SELECT_TABLE: _select_table,
    Action.FORGET_TABLE: forget_table,
    Action.UPDATE_COLUMN: _update_column,
    Action.FORGET_COLUMN: forget_column,
    Action.ADD_ENUM_VALUES: _add_enum_values,
    Action.UPDATE_RELATIONSHIP: _update_relationship,
}

"""Changes that wait for a decision: how they are made of what differs, and when they are void.

found ──┬──▶ PENDING ──┬─ approve ─▶ APPROVED      (what it says is done)
│              └─ reject ──▶ REJECTED      (nothing is done; also where it is void)
└──▶ AUTO_APPLIED                          (done as it was found)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from remit.data.desk import Desk
from remit.data.engines.allowing import declared
from remit.data.ontology.comparison import Action, Difference
from remit.data.ontology.inference import column_meaning
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.relationships import Relationship
from remit.model.data import Datasource
from remit.model.ontology import (
    ChangeSource,
    ChangeStatus,
    ChangeType,
    ItemKind,
    PendingChange,
    SchemaTable,
)

ACTIONS: Mapping[ChangeType, Action] = {
    ChangeType.NEW_TABLE: Action.SELECT_TABLE,
    ChangeType.DROPPED_TABLE: Action.FORGET_TABLE,
    ChangeType.NEW_COLUMN: Action.UPDATE_COLUMN,
    ChangeType.DROPPED_COLUMN: Action.FORGET_COLUMN,
    ChangeType.MODIFIED_COLUMN: Action.UPDATE_COLUMN,
    ChangeType.NEW_ENUM_VALUE: Action.ADD_ENUM_VALUES,
    ChangeType.CARDINALITY_CHANGE: Action.UPDATE_RELATIONSHIP,
    ChangeType.NEW_FK_PATTERN: Action.UPDATE_RELATIONSHIP,
}
"""What approving a change does."""


def changes_of(
    desk: Desk, known: Knowledge, differences: Iterable[Difference], source: ChangeSource
) -> Sequence[PendingChange]:
    """Return what is to be decided of what differs.

    A table that may be used at once is no more than told of; columns of tables that nobody may use
    are not told of at all, nor are keys that are a relationship's already.

    Args:
        desk: Who looked.
        known: What is known now, what was found included.
        differences: What was found.
        source: By what.
    """
    return [
        _change(desk, known, difference, source)
        for difference in differences
        if difference.column is None
        or (difference.table.is_selected and _is_open(known, difference))
    ]


def _is_open(known: Knowledge, difference: Difference) -> bool:
    """Say whether there is anything to decide: a key is not told of that is known, or hidden."""
    if difference.type is not ChangeType.NEW_FK_PATTERN or difference.column is None:
        return True
    one = (difference.table.full_name, difference.column.name)
    other = (difference.payload.get("to_table"), difference.payload.get("to_column"))
    is_known = any(
        one == (f"{join.from_schema}.{join.from_table}", join.from_column)
        and other == (f"{join.to_schema}.{join.to_table}", join.to_column)
        for item in known.of_kind(ItemKind.RELATIONSHIP)
        for join in Relationship.from_item(item).joins
    )
    return not is_known and any(each.full_name == other[0] for each in known.tables)


def _change(
    desk: Desk, known: Knowledge, difference: Difference, source: ChangeSource
) -> PendingChange:
    now = desk.clock()
    done = difference.type is ChangeType.NEW_TABLE and difference.table.is_selected
    return PendingChange(
        id=desk.new_id(),
        tenant=desk.tenant,
        datasource=known.datasource.id,
        type=difference.type,
        source=source,
        table=difference.table.full_name,
        column=difference.column.name if difference.column is not None else "",
        old=difference.old,
        new=difference.new,
        action=ACTIONS[difference.type].value,
        payload=_payload(known, difference),
        status=ChangeStatus.AUTO_APPLIED if done else ChangeStatus.PENDING,
        created=now,
        decided=now if done else None,
        decided_by=desk.user if done else "",
    )


def _payload(known: Knowledge, difference: Difference) -> Mapping[str, object]:
    column = difference.column
    if column is None or ACTIONS[difference.type] is not Action.UPDATE_COLUMN:
        return difference.payload
    by_table = {(each.schema, each.table): each for each in known.entities.values()}
    meaning = column_meaning(known.datasource.engine, difference.table, column, by_table)
    return {"role": meaning.role.value if meaning.role else None, "entity": meaning.entity}


def void_changes(
    desk: Desk,
    pending: Iterable[PendingChange],
    tables: Sequence[SchemaTable],
    fresh: Iterable[PendingChange],
) -> Iterator[PendingChange]:
    """Return pending changes that are void now, as rejected by nobody.

    Args:
        desk: Who looked.
        pending: Those that waited.
        tables: What is there now.
        fresh: What was found just now; a column that was modified again is decided on once.
    """
    there = {table.full_name: {column.name for column in table.columns} for table in tables}
    again = {(each.type, each.table, each.column) for each in fresh}
    for change in pending:
        columns = there.get(change.table)
        gone = columns is None or (bool(change.column) and change.column not in columns)
        about_gone = change.type in {ChangeType.DROPPED_TABLE, ChangeType.DROPPED_COLUMN}
        if gone is not about_gone or (change.type, change.table, change.column) in again:
            yield replace(
                change, status=ChangeStatus.REJECTED, decided=desk.clock(), decided_by="remit"
            )


def may_see(datasource: Datasource, change: PendingChange) -> bool:
    """Say whether a change is about a table that the datasource's declaration lets be used."""
    schema, _, table = change.table.partition(".")
    return declared(datasource)(schema, table)

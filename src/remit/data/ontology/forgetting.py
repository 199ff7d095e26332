"""Forgetting what was said of tables and columns that were dropped (S2.44)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from remit.data.desk import Desk
from remit.data.ontology.columns import ColumnMeaning
from remit.data.ontology.edits import Edits, find_there, is_of, over, refuse_outdated, require_over
from remit.data.ontology.entities import Entity
from remit.data.ontology.entity_edits import released
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.names import ARROW
from remit.data.ontology.questions import MOVES, Question
from remit.data.ontology.relationships import Detection, Join, Relationship
from remit.model.ontology import Item, ItemKind, PendingChange, QuestionStatus


def forget_table(desk: Desk, known: Knowledge, change: PendingChange) -> Edits:
    """Forget what was said of a table that was dropped, and ask nothing about it any longer.

    Raises:
        DataFailure: `invalid_state` or `precedence_blocked`.
    """
    if find_there(known, change) is not None:
        refuse_outdated(change, "is there again")
    removed = [
        item
        for item in known.of_kind(ItemKind.COLUMN)
        if is_of(change.table, ColumnMeaning.from_item(item))
    ]
    items: list[Item] = []
    for item in known.of_kind(ItemKind.ENTITY):
        entity = Entity.from_item(item)
        if entity.is_deleted or not is_of(change.table, entity):
            continue
        gone = replace(entity, is_deleted=True, deletion_reason=f"{change.table} was dropped")
        items.append(over(desk, known, ItemKind.ENTITY, gone, item))
        removed += [
            each
            for each in known.of_kind(ItemKind.RELATIONSHIP)
            if entity.key in each.key.split(ARROW)
        ]
        places = {_place(each) for each in removed}
        items += [each for each in released(known, entity) if _place(each) not in places]
    for item in removed:
        require_over(desk, item)
    items += [
        over(desk, known, ItemKind.QUESTION, question, item, blocked=False)
        for item, question in _questions_about(known, change.table)
    ]
    return Edits(items=items, removed=_once(removed))


def _place(item: Item) -> tuple[ItemKind, str]:
    return item.kind, item.key


def _once(items: Sequence[Item]) -> Sequence[Item]:
    return list({_place(item): item for item in items}.values())


def _questions_about(known: Knowledge, table: str) -> Iterator[tuple[Item, Question]]:
    for item in known.of_kind(ItemKind.QUESTION):
        question = Question.from_item(item)
        if table in question.tables and QuestionStatus.DELETED in MOVES[question.status]:
            yield (
                item,
                replace(
                    question, status=QuestionStatus.DELETED, status_reason=f"{table} was dropped"
                ),
            )


def forget_column(desk: Desk, known: Knowledge, change: PendingChange) -> Edits:
    """Forget what was said of a column that was dropped, and join nothing by it any longer.

    Raises:
        DataFailure: `invalid_state` or `precedence_blocked`.
    """
    table = find_there(known, change)
    if table is not None and any(each.name == change.column for each in table.columns):
        refuse_outdated(change, "is there again")
    items: list[Item] = []
    removed: list[Item] = []
    for item in known.of_kind(ItemKind.COLUMN):
        meaning = ColumnMeaning.from_item(item)
        if is_of(change.table, meaning) and meaning.column == change.column:
            removed.append(item)
    for item in known.of_kind(ItemKind.RELATIONSHIP):
        relationship = Relationship.from_item(item)
        left = tuple(each for each in relationship.joins if not _joins_by(each, change))
        if left == relationship.joins:
            continue
        if left or relationship.detection is Detection.STATED:
            kept = replace(relationship, joins=left)
            items.append(over(desk, known, ItemKind.RELATIONSHIP, kept, item))
        else:
            removed.append(item)
    for item in removed:
        require_over(desk, item)
    return Edits(items=items, removed=removed)


def _joins_by(join: Join, change: PendingChange) -> bool:
    column = (change.table, change.column)
    here = f"{join.from_schema}.{join.from_table}", join.from_column
    there = f"{join.to_schema}.{join.to_table}", join.to_column
    return column in {here, there}

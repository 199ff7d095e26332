"""Lists of the crew's rows that end before they are huge, whoever wrote what is in them."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, Table, func, or_, select

from remit.model.crew import MOST_LISTED_TEXT
from remit.storage.tables import crew_comments, crew_mail, crew_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a list is of.

    Attributes:
        place: By what rows are ordered, and by their ids where that is the same.
        size: Characters of a row.
        newest_first: Whether the list begins with the last of them.
    """

    table: Table
    place: ColumnElement[Any]
    size: ColumnElement[int]
    newest_first: bool = False


def _length(*columns: ColumnElement[Any]) -> ColumnElement[int]:
    lengths = [func.length(column, type_=Integer) for column in columns]
    return sum(lengths[1:], lengths[0])


_TASK = crew_tasks.c
_TASK_SIZE = _length(_TASK.title, _TASK.description, _TASK.failure_reason)

TASKS = Kind(table=crew_tasks, place=_TASK.created, size=_TASK_SIZE)
"""Tasks in the order in which they were made."""

SUBMISSIONS = Kind(
    table=crew_tasks, place=func.coalesce(_TASK.submitted, _TASK.updated), size=_TASK_SIZE
)
"""Tasks in the order in which they were put up for review."""

COMMENTS = Kind(
    table=crew_comments,
    place=crew_comments.c.created,
    size=_length(crew_comments.c.body),
    newest_first=True,
)

MAIL = Kind(
    table=crew_mail,
    place=crew_mail.c.created,
    size=_length(crew_mail.c.body),
    newest_first=True,
)


def bounded(kind: Kind, is_meant: ColumnElement[bool], limit: int) -> Select[Any]:
    """Return a query for the first rows that are meant, in order.

    Those are no more than *limit*, and no more than have MOST_LISTED_TEXT characters before the
    last of them. Each row says in `met` how many there are, counted up to one above the limit.

    Args:
        kind: What the list is of.
        is_meant: Which rows, of one tenant alone.
        limit: Most rows.
    """
    ids = kind.table.c.id
    asked = select(ids, kind.place.label("place"), kind.size.label("size")).where(is_meant)
    order = (kind.place.desc(), ids.desc()) if kind.newest_first else (kind.place, ids)
    met = asked.order_by(*order).limit(limit + 1).subquery()
    place = (met.c.place, met.c.id)
    again = [column.desc() for column in place] if kind.newest_first else place
    counted = select(
        met.c.id,
        (func.sum(met.c.size).over(order_by=again) - met.c.size).label("before"),
        func.row_number().over(order_by=again).label("number"),
        func.count().over().label("met"),
    ).subquery()
    return (
        select(kind.table, counted.c.met)
        .join(counted, ids == counted.c.id)
        .where(is_meant, counted.c.before < MOST_LISTED_TEXT, counted.c.number <= limit)
        .order_by(*order)
    )


def follows(kind: Kind, tenant: str, row_id: str) -> ColumnElement[bool]:
    """Return whether a row comes after the one of that id; none does where there is no such row.

    After is where the list goes on: before it in time, in one with the newest first.
    """
    columns = kind.table.c
    place = (
        select(kind.place).where(columns.tenant == tenant, columns.id == row_id).scalar_subquery()
    )
    if kind.newest_first:
        return or_(kind.place < place, (kind.place == place) & (columns.id < row_id))
    return or_(kind.place > place, (kind.place == place) & (columns.id > row_id))

"""What approving a change writes, and what it may overwrite."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from remit.data.desk import Desk
from remit.data.ontology.columns import ColumnMeaning
from remit.data.ontology.entities import Entity
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.writing import Stateable, require_precedence, source_of, stated
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import Item, ItemKind, PendingChange, Schema, SchemaTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """What is to be written, all of it or nothing."""

    items: Sequence[Item] = field(default_factory=list[Item])
    removed: Sequence[Item] = field(default_factory=list[Item])
    schema: Schema | None = None


def over(
    desk: Desk,
    known: Knowledge,
    kind: ItemKind,
    value: Stateable,
    before: Item | None,
    *,
    blocked: bool = True,
) -> Item:
    """Return the item to write for *value* over what is there.

    Raises:
        DataFailure: `precedence_blocked`, unless *blocked* is false.
    """
    if blocked and before is not None:
        require_over(desk, before)
    return stated(desk, known.datasource, kind, value, before=before)


def require_over(desk: Desk, before: Item) -> None:
    """Let what is there be overwritten or taken away, unless by a lower source.

    Raises:
        DataFailure: `precedence_blocked`.
    """
    require_precedence(before, source_of(desk), f"{before.kind.value} {before.key!r}")


def is_of(table: str, value: ColumnMeaning | Entity) -> bool:
    """Say whether something is about a table, given as `schema.table`."""
    return f"{value.schema}.{value.table}" == table


def find_there(known: Knowledge, change: PendingChange) -> SchemaTable | None:
    """Return the table that a change is about as it is there now, or None."""
    tables = known.schema.tables if known.schema is not None else ()
    return next((each for each in tables if each.full_name == change.table), None)


def refuse_outdated(change: PendingChange, why: str) -> NoReturn:
    """Say that a change no longer fits what is there.

    Raises:
        DataFailure: `invalid_state`, always.
    """
    what = f"{change.table}.{change.column}" if change.column else change.table
    raise DataFailure(
        DataCode.INVALID_STATE, f"{what} {why}: reject this change, and call refresh_schema"
    )

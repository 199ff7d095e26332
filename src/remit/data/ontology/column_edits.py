"""Stating what a column means, and taking that back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit.data.desk import Desk
from remit.data.ontology.columns import ColumnMeaning, EnumValue
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.names import column_key
from remit.data.ontology.writing import Stated, Wanted, state, unstate
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import ColumnRole, Item, ItemKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEdit:
    """What is to be stated of a column; None leaves a field as it is.

    Attributes:
        table: As `table` or `schema.table`.
        entity: Name of the entity that its values name; empty for none.
    """

    table: str
    column: str
    description: str | None = None
    enum_values: Sequence[EnumValue] | None = None
    entity: str | None = None
    role: ColumnRole | None = None


async def update_column(
    desk: Desk, datasource: str | None, edit: ColumnEdit
) -> Stated[ColumnMeaning]:
    """State what a column means.

    Raises:
        DataFailure: `table_not_found`, `column_not_found`, `entity_not_found`,
            `validation_error` where a value comes twice, or `precedence_blocked`.
    """
    return await state(
        desk,
        await desk.datasource(datasource),
        ItemKind.COLUMN,
        lambda known: _edited(known, edit),
    )


def _edited(known: Knowledge, edit: ColumnEdit) -> Wanted[ColumnMeaning]:
    table = known.table(edit.table)
    column = known.column(table, edit.column)
    meaning = known.meaning(table, column) or ColumnMeaning(
        schema=table.schema, table=table.name, column=column.name
    )
    held: list[Item] = []
    if edit.description is not None:
        meaning = replace(meaning, description=edit.description)
    if edit.enum_values is not None:
        meaning = replace(meaning, enum_values=_labelled(meaning, edit.enum_values))
    if edit.entity is not None:
        key = known.entity(edit.entity).key if edit.entity else ""
        meaning = replace(meaning, entity=key)
        held = [known.items[ItemKind.ENTITY, key]] if key else []
    if edit.role is not None:
        meaning = replace(meaning, role=edit.role)
    return Wanted(value=meaning, held=held)


def _labelled(meaning: ColumnMeaning, values: Sequence[EnumValue]) -> tuple[EnumValue, ...]:
    """Return the values; one that comes without its label keeps the label it has."""
    labels = {each.value: each.label for each in meaning.enum_values}
    if len({each.value for each in values}) != len(values):
        raise DataFailure(
            DataCode.VALIDATION_ERROR, "enum_values names a value twice: give each once"
        )
    return tuple(
        each if each.label else replace(each, label=labels.get(each.value, "")) for each in values
    )


async def delete_column_metadata(
    desk: Desk, datasource: str | None, table: str, column: str
) -> bool:
    """Forget what a column means, and say whether anything was known; the column itself stays.

    Raises:
        DataFailure: `table_not_found`, `column_not_found`, or `precedence_blocked`.
    """

    def find_key(known: Knowledge) -> str:
        found = known.table(table)
        left = column_key(found.schema, found.name, column)
        if known.item(ItemKind.COLUMN, left) is not None:
            return left  # be it of a column that the database has no longer
        return column_key(found.schema, found.name, known.column(found, column).name)

    return await unstate(desk, await desk.datasource(datasource), ItemKind.COLUMN, find_key)

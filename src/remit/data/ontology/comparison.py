"""What differs between what a datasource was seen to hold, and what it holds (S2.44)."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from enum import StrEnum

from remit.data.ontology.relationships import Detection
from remit.model.ontology import Cardinality, ChangeType, ForeignKey, SchemaColumn, SchemaTable

Place = tuple[str, str]
"""Schema and name of a table."""


class Action(StrEnum):
    """What applying a change does; `applying.py` says how."""

    SELECT_TABLE = "select_table"
    FORGET_TABLE = "forget_table"
    UPDATE_COLUMN = "update_column"
    FORGET_COLUMN = "forget_column"
    ADD_ENUM_VALUES = "add_enum_values"
    UPDATE_RELATIONSHIP = "update_relationship"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that differs.

    Attributes:
        table: As it is now; as it was, where it was dropped.
        column: Likewise; None where the difference is about the table.
        old: As JSON has it; None where there was none.
        new: As JSON has it; None where there is none.
        payload: What is to be done about it, where that does not follow from the rest.
    """

    type: ChangeType
    table: SchemaTable
    column: SchemaColumn | None = None
    old: object = None
    new: object = None
    payload: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What was found.

    Attributes:
        tables: What is there now, each selected as it was; new ones as it is said for them.
    """

    tables: Sequence[SchemaTable]
    differences: Sequence[Difference] = field(default_factory=list[Difference])


def compare(
    before: Sequence[SchemaTable], now: Sequence[SchemaTable], *, select_new: bool
) -> Comparison:
    """Compare what was seen with what is there.

    Args:
        before: What was seen.
        now: What is there.
        select_new: Whether a new table may be used at once.
    """
    old = {(table.schema, table.name): table for table in before}
    new = {(table.schema, table.name): table for table in now}
    tables = [
        replace(table, is_selected=old[place].is_selected if place in old else select_new)
        for place, table in new.items()
    ]
    differences = [difference for table in tables for difference in _table(old, table, {*new})]
    dropped = [
        Difference(type=ChangeType.DROPPED_TABLE, table=table, old=_described(table))
        for place, table in old.items()
        if place not in new
    ]
    return Comparison(tables=tables, differences=[*differences, *dropped])


def _table(
    old: Mapping[tuple[str, str], SchemaTable],
    table: SchemaTable,
    there_are: AbstractSet[tuple[str, str]],
) -> Iterator[Difference]:
    before = old.get((table.schema, table.name))
    if before is None:
        yield Difference(type=ChangeType.NEW_TABLE, table=table, new=_described(table))
        return
    there = {column.name: column for column in before.columns}
    for column in table.columns:
        known = there.pop(column.name, None)
        if known is None:
            yield Difference(
                type=ChangeType.NEW_COLUMN, table=table, column=column, new=_column(column)
            )
        elif _column(known) != _column(column):
            yield Difference(
                type=ChangeType.MODIFIED_COLUMN,
                table=table,
                column=column,
                old=_column(known),
                new=_column(column),
            )
    for key in table.foreign_keys:
        # a table that may not be used is not told of, not even as what another one points to
        if key not in before.foreign_keys and (key.to_schema, key.to_table) in there_are:
            yield from (
                _pointed(table, each, key) for each in table.columns if each.name == key.column
            )
    for column in there.values():
        yield Difference(
            type=ChangeType.DROPPED_COLUMN, table=table, column=column, old=_column(column)
        )


def _pointed(table: SchemaTable, column: SchemaColumn, key: ForeignKey) -> Difference:
    there = {"to_table": f"{key.to_schema}.{key.to_table}", "to_column": key.to_column}
    return Difference(
        type=ChangeType.NEW_FK_PATTERN,
        table=table,
        column=column,
        new=there,
        payload={
            **there,
            "cardinality": Cardinality.MANY_TO_ONE.value,
            "detection": Detection.FOREIGN_KEY.value,
            "confidence": 1.0,
        },
    )


def _described(table: SchemaTable) -> object:
    return {"is_view": table.is_view, "columns": [column.name for column in table.columns]}


def _column(column: SchemaColumn) -> object:
    return {
        "type": column.type,
        "nullable": column.nullable,
        "is_primary_key": column.is_primary_key,
    }

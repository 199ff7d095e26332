"""A reading statement of which DuckDB gives no row that is too large for the gateway.

DuckDB's memory limit is kept while it works; a list that fits in there takes ten times as much as
Python's, and so does every further column that shows it again.
"""

from collections.abc import Sequence
from typing import Final

from remit.data.engines.duckdb_values import Taken
from remit.data.engines.values import LARGEST_ROW, MOST_BYTES, MOST_CELL
from remit.model.data import Column

TOO_LARGE: Final = "remit: a value is too large"
"""How DuckDB is made to say so."""

_NESTED: Final = ("struct", "tuple", "map", "union", "json", "variant")


def bounded(sql: str, columns: Sequence[Column], how: Sequence[Taken], limit: int) -> str:
    """Return a statement of at most one row more than *limit*, none of which is too large.

    Its limit stands in it, so that DuckDB need not sort what nobody sees.

    Args:
        sql: One statement, parsed alone.
        columns: As DuckDB describes it.
        how: The values of each are taken.
        limit: Most rows that are wanted.
    """
    names = [f"c{number}" for number in range(len(columns))]
    nested = sum(_is_nested(each.type) for each in columns)
    picked = ", ".join(
        _value(name, each.type, nested or 1, len(columns), one)
        for name, each, one in zip(names, columns, how, strict=True)
    )
    source = f"({sql}\n) AS r({', '.join(names)})"
    return f"SELECT {picked} FROM {source} LIMIT {limit + 1}"  # noqa: S608 - as is said above


def _value(name: str, type_: str, nested: int, columns: int, how: Taken) -> str:
    value = f"CAST({name} AS {how.type})" if how.is_cast else name
    if type_ == "varchar":
        return f"left({name}, {min(MOST_CELL, LARGEST_ROW // columns) + 1})"
    if type_ == "blob":
        return _unless(f"octet_length({name}) > {LARGEST_ROW // columns}", name)
    if _is_nested(type_):
        return _unless(f"length(CAST({name} AS VARCHAR)) > {MOST_BYTES // nested}", value)
    return value


def _unless(too_large: str, name: str) -> str:
    return f"CASE WHEN {too_large} THEN error('{TOO_LARGE}') ELSE {name} END"


def _is_nested(type_: str) -> bool:
    return type_.endswith("]") or type_.startswith(_NESTED)

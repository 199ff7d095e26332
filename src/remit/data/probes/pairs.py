"""Whether one column's values are found in another: what a join of the two would give."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from remit.data.probes.columns import (
    attempts,
    measure,
    read_row,
    read_rows,
    whole,
)
from remit.data.probes.families import Family, family_of
from remit.data.probes.hiding import is_hidden
from remit.data.probes.statements import Sampling, orphaned, pairing
from remit.data.running import OpenSource
from remit.model.ontology import Cardinality, SchemaColumn, SchemaTable

_SHOWN: Final = 5

_SECONDS: Final = 8.0
"""Seconds that a statement over two tables may run, where the datasource allows as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A column that is joined by."""

    table: SchemaTable
    column: SchemaColumn

    @property
    def name(self) -> str:
        """`schema.table.column`."""
        return f"{self.table.full_name}.{self.column.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What was seen of two columns.

    Attributes:
        examined: Rows of the first table that were looked at.
        is_estimate: There are more; what is said holds for those that were examined.
        with_value: Examined rows that have a value.
        matched: Of those, rows whose value the second column has, too.
        distinct: Different values among the examined rows.
        orphan_values: Of those, how many the second column does not have.
        orphans: Some of these, the commonest first; none of a sensitive column's.
    """

    source: Key
    target: Key
    examined: int
    is_estimate: bool
    with_value: int
    matched: int
    distinct: int
    orphan_values: int
    orphans: Sequence[object]
    cardinality: Cardinality

    @property
    def match_rate(self) -> float:
        """Share of rows with a value whose value is found, 0 to 1."""
        return self.matched / self.with_value if self.with_value else 0.0


def is_comparable(source: OpenSource, one: Key, other: Key) -> bool:
    """Say whether two columns hold values of one kind."""
    engine = source.datasource.engine
    first, second = family_of(engine, one.column.type), family_of(engine, other.column.type)
    if Family.OTHER in {first, second}:
        return one.column.type.lower() == other.column.type.lower()
    return first is second


async def compare(source: OpenSource, one: Key, other: Key) -> Pair:
    """Look up the values of *one* in *other*.

    Raises:
        DataFailure: The database refuses, or takes too long.
    """
    size = await measure(source, one.table)

    sample, seen = await attempts(
        source,
        one.table,
        size,
        lambda sample: read_row(
            source, pairing(sample, one.column.name, other.table, other.column.name), _SECONDS
        ),
    )
    distinct, with_value, found, matched, most_here, most_there = map(whole, seen)
    orphans: Sequence[object] = ()
    hidden = any(is_hidden(source.datasource, key.table, key.column.name) for key in (one, other))
    if found < distinct and not hidden:
        prepared = orphaned(sample, one.column.name, other.table, other.column.name, _SHOWN)
        orphans = [row[0] for row in await read_rows(source, prepared, _SHOWN, _SECONDS)]
    return Pair(
        source=one,
        target=other,
        examined=sample.most,
        is_estimate=sample.sampling is not Sampling.ALL,
        with_value=with_value,
        matched=matched,
        distinct=distinct,
        orphan_values=distinct - found,
        orphans=orphans,
        cardinality=_cardinality(most_here, most_there),
    )


def _cardinality(here: int, there: int) -> Cardinality:
    """Return how many rows of one value there are on either side, where any are on both."""
    if not here or not there:
        return Cardinality.UNKNOWN
    match here > 1, there > 1:
        case False, False:
            return Cardinality.ONE_TO_ONE
        case False, True:
            return Cardinality.ONE_TO_MANY
        case True, False:
            return Cardinality.MANY_TO_ONE
        case _:
            return Cardinality.MANY_TO_MANY

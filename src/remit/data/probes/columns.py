"""What a column holds: how many values, how different, how long, and what they are used for.

What was not counted is said to be an estimate: the number of distinct values in a table of which
only some rows were examined is estimated from how many were seen just once (Haas and Stokes' Duj1,
as PostgreSQL's ANALYZE does).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from remit.data.engines.engine import Prepared
from remit.data.probes.families import Family, family_of
from remit.data.probes.hiding import is_hidden
from remit.data.probes.statements import (
    COUNTED,
    PREFIX,
    WHOLE,
    Sample,
    Sampling,
    commonest,
    counting,
    profiling,
)
from remit.data.running import OpenSource
from remit.errors import DataFailure
from remit.model.data import DataCode, EngineKind
from remit.model.ontology import SchemaColumn, SchemaTable

SECONDS: Final = 5.0
"""Seconds that one statement of a probe may run, where the datasource allows as many."""

FEW: Final = 50
"""Distinct values up to which a column is taken for a choice among them."""

Seen = TypeVar("Seen")

_FINAL: Final = frozenset({DataCode.SERVICE_UNAVAILABLE, DataCode.QUERY_ERROR})
"""Failures after which another way of looking would fail, too."""

_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many rows a table has.

    Attributes:
        is_estimate: It has more than were counted.
    """

    rows: int
    is_estimate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """What was seen of a column.

    Attributes:
        examined: Rows whose values were looked at.
        is_estimate: Not every row was, or long texts were told apart by their beginnings: what is
            said of values holds for those that were examined, and `distinct` is estimated.
        null_rate: Share of rows without a value, 0 to 1.
        least: None where the order of the values means nothing, or they are sensitive.
        shortest: Characters of a text, bytes of binary values.
        samples: The commonest values first, at most ten, or all of at most `FEW`; none of a
            sensitive column's.
        is_sensitive: Its values are not shown (`hiding.py`).
    """

    table: SchemaTable
    column: SchemaColumn
    family: Family
    size: Size
    sampling: Sampling
    examined: int
    is_estimate: bool
    distinct: int
    null_rate: float
    least: object
    greatest: object
    shortest: int | None
    longest: int | None
    samples: Sequence[object]
    is_sensitive: bool

    @property
    def cardinality_ratio(self) -> float:
        """Distinct values for each row that has one, 0 to 1."""
        rows = self.size.rows * (1 - self.null_rate)
        return min(self.distinct / rows, 1.0) if rows >= 1 else 0.0


async def read_row(
    source: OpenSource, prepared: Prepared, seconds: float = SECONDS
) -> Sequence[object]:
    """Return the one row of a statement.

    Raises:
        DataFailure: The database refuses, or takes too long.
    """
    return (await read_rows(source, prepared, 1, seconds))[0]


async def read_rows(
    source: OpenSource, prepared: Prepared, limit: int, seconds: float = SECONDS
) -> Sequence[Sequence[object]]:
    """Return the rows of a statement of ours.

    Raises:
        DataFailure: The database refuses, or takes too long.
    """
    most = min(seconds, source.datasource.time_limit)
    return (await source.engine.read(prepared, limit=limit, seconds=most)).rows


async def measure(source: OpenSource, table: SchemaTable) -> Size:
    """Return how many rows a table has, counted as far as that is cheap.

    Raises:
        DataFailure: The database refuses, or takes too long.
    """
    counted = whole((await read_row(source, counting(table)))[0])
    if counted <= COUNTED:
        return Size(rows=counted, is_estimate=False)
    return Size(rows=max(table.rows or 0, counted), is_estimate=True)


def samples_of(engine: EngineKind, table: SchemaTable, size: Size) -> Sequence[Sample]:
    """Return the ways to examine a table, best first: not every table has the better one."""
    if size.rows <= WHOLE:
        order = [Sampling.ALL]
    elif table.is_view:
        order = [Sampling.FIRST]
    else:
        order = [Sampling.SPREAD, Sampling.FIRST]
    return [
        Sample(engine=engine, table=table, sampling=sampling, total=size.rows) for sampling in order
    ]


async def attempts(
    source: OpenSource,
    table: SchemaTable,
    size: Size,
    look: Callable[[Sample], Awaitable[Seen]],
) -> tuple[Sample, Seen]:
    """Examine a table in the best way that it allows; return which that was, and what was seen.

    Raises:
        DataFailure: The database refuses, or takes too long.
    """
    best, *others = samples_of(source.datasource.engine, table, size)
    try:
        return best, await look(best)
    except DataFailure as failure:
        # A table without row ids, or one that is kept elsewhere, is looked at from its beginning.
        if not others or failure.code in _FINAL:
            raise
    return others[0], await look(others[0])


async def profile(
    source: OpenSource, table: SchemaTable, column: SchemaColumn, size: Size
) -> ColumnProfile:
    """Look at a column's values.

    Raises:
        DataFailure: The database refuses, or takes too long.
    """
    family = family_of(source.datasource.engine, column.type)
    sample, seen = await attempts(
        source,
        table,
        size,
        lambda sample: read_row(source, profiling(sample, column.name, family)),
    )
    examined, nulls, distinct, single = map(whole, seen[:4])
    hidden = is_hidden(source.datasource, table, column.name)
    samples: Sequence[object] = ()
    if distinct and not hidden and family is not Family.BINARY:
        most = FEW if distinct <= FEW else _SHOWN
        samples = [
            row[0]
            for row in await read_rows(source, commonest(sample, column.name, family, most), most)
        ]
    longest = _count(seen[7])
    clipped = family is Family.TEXT and longest is not None and longest > PREFIX
    null_rate = nulls / examined if examined else 0.0
    with_value = round(size.rows * (1 - null_rate))
    return ColumnProfile(
        table=table,
        column=column,
        family=family,
        size=size,
        sampling=sample.sampling,
        examined=examined,
        is_estimate=sample.sampling is not Sampling.ALL or clipped,
        distinct=estimated_distinct(examined - nulls, distinct, single, with_value),
        null_rate=null_rate,
        least=None if hidden else seen[4],
        greatest=None if hidden else seen[5],
        shortest=_count(seen[6]),
        longest=longest,
        samples=samples,
        is_sensitive=hidden,
    )


def estimated_distinct(examined: int, distinct: int, single: int, total: int) -> int:
    """Return how many distinct values there are among *total*, by those that were examined.

    Args:
        examined: Values that were looked at.
        distinct: Distinct ones among them.
        single: Those of them that occurred once.
        total: Values that there are; no more than *examined* where all were looked at.
    """
    if total <= examined or not examined:
        return distinct
    estimate = examined * distinct / (examined - single + single * examined / total)
    return min(max(round(estimate), distinct), total)


def whole(value: object) -> int:
    """Return a count that a database gave; none is nothing."""
    return 0 if value is None else int(cast("int", value))


def _count(value: object) -> int | None:
    return None if value is None else whole(value)

"""What tools and API ask of the data itself: samples of rows, and probes of columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from remit.data.desk import Desk
from remit.data.known import Known, look_up
from remit.data.ontology.columns import EnumValue
from remit.data.probes.columns import (
    ColumnProfile,
    Size,
    measure,
    profile,
)
from remit.data.probes.rows import Preview, preview
from remit.data.probes.uses import JOINABLE, inferred_role, joinability
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import ColumnRole, SchemaColumn, SchemaTable

USUAL_SAMPLED: Final = 10
"""Rows of a sample for a caller who does not say how many."""

MOST_PROBED: Final = 50
"""Columns that are probed at once."""

_BUDGET: Final = 15.0
"""Seconds after which no further column of a batch is begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A column, as it was seen and as it is meant.

    Attributes:
        reason: Why it is, or is not, fit to join by: `primary_key`, `foreign_key`,
            `unique_values`, `many_values`; or `type_excluded`, `no_values`, `nearly_all_null`,
            `too_long`, `few_values`.
        role: What the ontology says that it is for, or what it looks like.
        is_inferred: Whether it only looks like it.
        description: Of the ontology, or empty.
        labels: What single values mean, as the ontology has it.
    """

    seen: ColumnProfile
    is_joinable: bool
    reason: str
    role: ColumnRole
    is_inferred: bool
    description: str = ""
    labels: Sequence[EnumValue] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """A column of a batch: what was seen of it, or why nothing was.

    Attributes:
        table: As it was asked for.
        column: As it was asked for.
    """

    table: str
    column: str
    outcome: Probe | DataFailure


async def sample_rows(
    desk: Desk, table: str, *, limit: int = USUAL_SAMPLED, datasource: str | None = None
) -> Preview:
    """Return some rows of a table.

    Raises:
        DataFailure: `table_not_found`, or what the database says.
    """
    known = await look_up(desk, datasource)
    return await preview(desk, known.source, known.knowledge.table(table), limit)


async def probe_column(
    desk: Desk, table: str, column: str, *, datasource: str | None = None
) -> Probe:
    """Say what is in a column.

    Raises:
        DataFailure: `table_not_found`, `column_not_found`, or what the database says.
    """
    return await Prober(await look_up(desk, datasource)).probe(table, column)


async def probe_columns(
    desk: Desk, wanted: Sequence[tuple[str, str]], *, datasource: str | None = None
) -> Sequence[Probed]:
    """Say what is in several columns, each a table and a column; what fails, fails by itself.

    Raises:
        DataFailure: `no_datasource` or `service_unavailable`.
    """
    probing = Prober(await look_up(desk, datasource))
    end = anyio.current_time() + _BUDGET
    probed: list[Probed] = []
    for table, column in wanted:
        outcome: Probe | DataFailure = DataFailure(
            DataCode.QUERY_ERROR, "the time for all was used up; probe fewer columns at once"
        )
        if anyio.current_time() < end:
            try:
                outcome = await probing.probe(table, column)
            except DataFailure as failure:
                outcome = failure
        probed.append(Probed(table=table, column=column, outcome=outcome))
    return probed


class Prober:
    """Looks at columns of one datasource, and counts each table once.

    Args:
        known: The datasource, and what is known of it.
    """

    def __init__(self, known: Known) -> None:
        self._known = known
        self._sizes: dict[str, Size] = {}

    async def look(self, table: SchemaTable, column: SchemaColumn) -> ColumnProfile:
        """Return what is seen of a column.

        Raises:
            DataFailure: The database refuses, or takes too long.
        """
        size = self._sizes.get(table.full_name)
        if size is None:
            size = await measure(self._known.source, table)
            self._sizes[table.full_name] = size
        return await profile(self._known.source, table, column, size)

    async def probe(self, table_name: str, column_name: str) -> Probe:
        """Return what is seen of a column, and what it means.

        Raises:
            DataFailure: `table_not_found`, `column_not_found`, or what the database says.
        """
        known = self._known.knowledge
        table = known.table(table_name)
        column = known.column(table, column_name)
        seen = await self.look(table, column)
        reason = joinability(seen, self._known.foreign_keys(table))
        meaning = known.meaning(table, column)
        role = None if meaning is None else meaning.role
        return Probe(
            seen=seen,
            is_joinable=reason in JOINABLE,
            reason=reason,
            role=role or inferred_role(seen, reason),
            is_inferred=role is None,
            description="" if meaning is None else meaning.description,
            labels=() if meaning is None else meaning.enum_values,
        )

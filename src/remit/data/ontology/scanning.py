"""Looking at the data itself for what the schema does not say (S2.44).

Few values, likely keys, and how many rows stand to one where something else is known.

Everything is bounded: tables, columns, rows of each, seconds of each statement and of the whole.
Statements name tables and columns that the schema has, quoted, and numbers. Secrets, and tables
that are sensitive, are passed over (S2.48).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

import anyio

from remit.data.desk import Desk
from remit.data.engines.engine import Prepared
from remit.data.ontology.changes import changes_of
from remit.data.ontology.comparison import Difference
from remit.data.ontology.inference import is_key_like
from remit.data.ontology.knowledge import Knowledge
from remit.data.ontology.likely_keys import (
    candidates,
    cardinality_of,
    is_refuted,
    known_keys,
)
from remit.data.ontology.relationships import Detection
from remit.data.ontology.scan_statements import MOST_VALUES, match_sql, values_sql
from remit.data.ontology.writing import look
from remit.data.probes.families import Family, family_of
from remit.data.probes.hiding import is_hidden
from remit.data.running import OpenSource, open_source
from remit.data.settling import settled
from remit.errors import DataFailure
from remit.model.data import DataCode
from remit.model.ontology import (
    Cardinality,
    ChangeSource,
    ChangeStatus,
    ChangeType,
    PendingChange,
    SchemaColumn,
    SchemaTable,
)

LONGEST_VALUE: Final = 100
"""Characters of such a value."""

MOST_TABLES: Final = 100
"""Tables that one scan looks at."""

SECONDS: Final = 20.0
"""How long a scan may take."""

STATEMENT_SECONDS: Final = 5.0
"""How long one statement of it may run."""

LEAST_MATCH: Final = 0.9
"""Share of values that are found in the other table where a key is likely."""

LEAST_VALUES: Final = 3
"""Distinct values on which that is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What a scan found.

    Attributes:
        tables: What was looked at, as `schema.table`.
        changes: What was found and was not known, each of them pending.
        skipped: What could not be looked at, as `schema.table` or `schema.table.column`, and why.
    """

    tables: Sequence[str]
    changes: Sequence[PendingChange]
    skipped: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class _Scan:
    """One scan, while it runs."""

    source: OpenSource
    known: Knowledge
    until: float
    skipped: dict[str, str] = field(default_factory=dict[str, str])

    async def read(self, what: str, sql: str, limit: int) -> Sequence[Sequence[object]] | None:
        """Return what a statement gives, or None where it fails or the time is over."""
        left = self.until - anyio.current_time()
        if left <= 0:
            self.skipped[what] = "the time was over: scan fewer tables at once"
            return None
        try:
            rows = await self.source.engine.read(
                Prepared(sql=sql), limit=limit, seconds=min(left, STATEMENT_SECONDS)
            )
        except DataFailure as failed:
            if failed.code == DataCode.SERVICE_UNAVAILABLE:
                raise
            self.skipped[what] = failed.code
            return None
        return rows.rows


async def scan_data_changes(
    desk: Desk, datasource: str | None = None, tables: Sequence[str] = ()
) -> Scanned:
    """Look for new values of columns of few values, likely keys, and other cardinalities.

    Args:
        desk: Who looks.
        datasource: Name or id; None for the one that is meant.
        tables: What to look at; empty for every table that may be used.

    Raises:
        DataFailure: `table_not_found`, `no_datasource` or `service_unavailable`.
    """
    source = await open_source(desk, datasource)
    known = await look(desk, source.datasource)
    chosen = [known.table(name) for name in tables] or list(known.tables)
    scan = _Scan(source=source, known=known, until=anyio.current_time() + SECONDS)
    for table in chosen[MOST_TABLES:]:
        scan.skipped[table.full_name] = f"a scan looks at {MOST_TABLES} tables: name some"
    chosen = chosen[:MOST_TABLES]
    found: list[Difference] = []
    for table in chosen:
        found += await _few_values(scan, table)
        found += await _likely_keys(scan, table)
        found += await _other_cardinalities(scan, table)
    changes = await settled(lambda: _keep(desk, source, found))
    return Scanned(
        tables=[table.full_name for table in chosen], changes=changes, skipped=scan.skipped
    )


async def _few_values(scan: _Scan, table: SchemaTable) -> Sequence[Difference]:
    found: list[Difference] = []
    for column in table.columns:
        if not _may_be_few(scan, table, column):
            continue
        what = f"{table.full_name}.{column.name}"
        rows = await scan.read(what, values_sql(table, column), MOST_VALUES + 1)
        values = _few(rows) if rows is not None else ()
        meaning = scan.known.meaning(table, column)
        there = [each.value for each in meaning.enum_values] if meaning is not None else []
        if fresh := sorted(value for value in values if value not in there):
            found.append(
                Difference(
                    type=ChangeType.NEW_ENUM_VALUE,
                    table=table,
                    column=column,
                    old=there,
                    new=fresh,
                    payload={"values": fresh},
                )
            )
    return found


def _may_be_few(scan: _Scan, table: SchemaTable, column: SchemaColumn) -> bool:
    where = scan.source.datasource
    return (
        family_of(where.engine, column.type) is Family.TEXT
        and not column.is_primary_key
        and not is_key_like(column.name)
        and not is_hidden(where, table, column.name)
    )


def _few(rows: Sequence[Sequence[object]]) -> Sequence[str]:
    """Return values that come again and again, and none of what everybody has one of their own."""
    values = {str(value): int(cast("int", number)) for value, number in rows}
    is_few = 0 < len(values) <= MOST_VALUES and sum(values.values()) >= 2 * len(values)
    is_short = all(0 < len(value) <= LONGEST_VALUE for value in values)
    return tuple(values) if is_few and is_short else ()


async def _likely_keys(scan: _Scan, table: SchemaTable) -> Sequence[Difference]:
    found: list[Difference] = []
    for candidate in candidates(scan.known, table):
        what = f"{table.full_name}.{candidate.column.name}"
        rows = await scan.read(what, match_sql(candidate), 1)
        if not rows:
            continue
        distinct, matched, total = (int(cast("int", each or 0)) for each in rows[0])
        if distinct < LEAST_VALUES or matched / distinct < LEAST_MATCH:
            continue
        rate = round(matched / distinct, 4)
        there = {"to_table": candidate.to_table.full_name, "to_column": candidate.to_column.name}
        payload = {
            **there,
            "cardinality": cardinality_of(distinct, total).value,
            "detection": Detection.DATA_SCAN.value,
            "confidence": rate,
        }
        found.append(
            Difference(
                type=ChangeType.NEW_FK_PATTERN,
                table=table,
                column=candidate.column,
                new={**there, "match_rate": rate, "values_examined": distinct},
                payload=payload,
            )
        )
    return found


async def _other_cardinalities(scan: _Scan, table: SchemaTable) -> Sequence[Difference]:
    """Return relationships of one row to one, by what is known, that are of many rows to one."""
    found: list[Difference] = []
    for candidate, relationship in known_keys(scan.known, table):
        if not is_refuted(relationship.cardinality):
            continue
        what = f"{table.full_name}.{candidate.column.name}"
        rows = await scan.read(what, match_sql(candidate), 1)
        if not rows:
            continue
        distinct, _, total = (int(cast("int", each or 0)) for each in rows[0])
        there = cardinality_of(distinct, total)
        if there is not Cardinality.MANY_TO_ONE:
            continue
        to_table = candidate.to_table.full_name
        found.append(
            Difference(
                type=ChangeType.CARDINALITY_CHANGE,
                table=table,
                column=candidate.column,
                old=relationship.cardinality.value,
                new=there.value,
                payload={
                    "to_table": to_table,
                    "to_column": candidate.to_column.name,
                    "cardinality": there.value,
                },
            )
        )
    return found


async def _keep(
    desk: Desk, source: OpenSource, found: Sequence[Difference]
) -> Sequence[PendingChange]:
    """Write what was found, but for what waits already and what somebody has rejected."""
    where, store = source.datasource, desk.stores.ontology
    known = await look(desk, where)
    decided = [
        change
        for status in (ChangeStatus.PENDING, ChangeStatus.REJECTED)
        for change in await store.changes(desk.tenant, where.id, status=status)
    ]
    fresh = list(_unseen(found, decided))
    changes = changes_of(desk, known, fresh, ChangeSource.DATA_SCAN)
    if changes:
        # with the schema as it is, so that of two who scan at once the second looks again
        await store.write(changes=changes, schema=known.schema)
    return changes


def _unseen(found: Sequence[Difference], decided: Sequence[PendingChange]) -> Iterator[Difference]:
    seen: dict[tuple[ChangeType, str, str], list[PendingChange]] = {}
    for change in decided:
        seen.setdefault((change.type, change.table, change.column), []).append(change)
    for each in found:
        column = each.column.name if each.column is not None else ""
        before = seen.get((each.type, each.table.full_name, column), [])
        if each.type is not ChangeType.NEW_ENUM_VALUE:
            target = each.payload.get("to_table")
            if all(change.payload.get("to_table") != target for change in before):
                yield each
            continue
        known = {value for change in before for value in _values(change.payload)}
        left = [value for value in _values(each.payload) if value not in known]
        if left:
            yield replace(each, new=left, payload={"values": left})


def _values(payload: Mapping[str, object]) -> Sequence[str]:
    return [str(each) for each in cast("Sequence[object]", payload.get("values", []))]

"""Reading again what a datasource holds, and what follows from what differs (S2.44).

engine ──▶ what is there ──compare──▶ the stored schema follows
│────▶ changes, pending or told of
└────▶ of new tables: entities, columns, relationships, questions
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from remit.data.desk import Desk
from remit.data.engines.allowing import declared
from remit.data.ontology.applying import inferred_items
from remit.data.ontology.changes import changes_of, void_changes
from remit.data.ontology.comparison import compare
from remit.data.ontology.knowledge import usable
from remit.data.ontology.term_edits import retest_terms
from remit.data.ontology.writing import look
from remit.data.running import OpenSource, open_source
from remit.data.settling import settled
from remit.model.ontology import (
    ChangeSource,
    ChangeStatus,
    ChangeType,
    ItemKind,
    PendingChange,
    Schema,
    SchemaTable,
)

_BREAKING = {ChangeType.DROPPED_TABLE, ChangeType.DROPPED_COLUMN, ChangeType.MODIFIED_COLUMN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What a look at a datasource found.

    Attributes:
        schema: What is there.
        changes: What differs, pending or applied already.
        void: Pending changes that are none any longer.
        inferred: How many things were inferred, by kind.
        failed_terms: Terms whose SQL does not fit what is there.
    """

    schema: Schema
    changes: Sequence[PendingChange]
    void: Sequence[PendingChange]
    inferred: Mapping[ItemKind, int]
    failed_terms: Sequence[str] = ()


async def refresh_schema(
    desk: Desk, datasource: str | None = None, *, auto_select: bool = True
) -> Refreshed:
    """Read again what a datasource holds.

    Args:
        desk: Who looks.
        datasource: Name or id; None for the one that is meant.
        auto_select: Whether new tables may be used at once; they wait for approval otherwise.

    Raises:
        DataFailure: `no_datasource`, `service_unavailable`, or what the database says.
    """
    source = await open_source(desk, datasource)
    allowed = declared(source.datasource)
    seen = [table for table in await source.engine.schema() if allowed(table.schema, table.name)]
    refreshed = await settled(lambda: _follow(desk, source, seen, auto_select=auto_select))
    if any(change.type in _BREAKING for change in refreshed.changes):
        after = await open_source(desk, source.datasource.id)
        refreshed = replace(refreshed, failed_terms=await retest_terms(desk, after))
    return refreshed


async def _follow(
    desk: Desk, source: OpenSource, seen: Sequence[SchemaTable], *, auto_select: bool
) -> Refreshed:
    where, store = source.datasource, desk.stores.ontology
    known = await look(desk, where)
    before = known.schema
    compared = compare(before.tables if before is not None else (), seen, select_new=auto_select)
    schema = Schema(
        tenant=desk.tenant,
        datasource=where.id,
        tables=compared.tables,
        refreshed=desk.clock(),
        version=before.version if before is not None else 0,
    )
    known = replace(known, schema=schema, tables=usable(schema, declared(where)))
    fresh = {
        each.table.full_name for each in compared.differences if each.type is ChangeType.NEW_TABLE
    }
    items = inferred_items(desk, known, [each for each in known.tables if each.full_name in fresh])
    written = {(item.kind, item.key): item for item in items}
    known = replace(known, items={**known.items, **written})
    changes = changes_of(desk, known, compared.differences, ChangeSource.SCHEMA_REFRESH)
    pending = await store.changes(desk.tenant, where.id, status=ChangeStatus.PENDING)
    void = list(void_changes(desk, pending, compared.tables, changes))
    await store.write(items=items, schema=schema, changes=[*changes, *void])
    return Refreshed(
        schema=replace(schema, version=schema.version + 1),
        changes=changes,
        void=void,
        inferred=Counter(item.kind for item in items),
    )

"""The schema of a datasource, as far as its caller may use it (S2.10, 18)."""

from collections.abc import Sequence
from typing import Final

from remit.data.desk import Desk, Result
from remit.data.engines.allowing import declared
from remit.data.known import Known, look_up
from remit.data.reading.shown import TABLE, shown_column, shown_table
from remit.model.data import EngineKind
from remit.model.ontology import SchemaTable
from remit.servers.shapes import COUNT, FLAG, TEXT, TEXT_OR_NULL, list_of, one_of, record

MOST_COLUMNS: Final = 2000
"""Columns that one answer has; further tables come without theirs."""

MOST_TABLES: Final = 1000
"""Tables that one answer has."""

SCHEMA: Final = record(
    datasource=TEXT,
    engine=one_of(*EngineKind),
    refreshed=TEXT_OR_NULL,
    tables=list_of(TABLE),
    table_count=COUNT,
    truncated=FLAG,
    next=TEXT,
)

_NEXT: Final = (
    "not everything is shown: `search_schema` finds tables and columns by words, and `get_context`"
    " with depth `columns` and `tables` shows those that are named"
)


async def get_schema(
    desk: Desk,
    *,
    selected_only: bool = False,
    include_entities: bool = True,
    datasource: str | None = None,
) -> Result:
    """Return tables and columns, with what they mean unless that is turned off.

    Those who decide on changes of the schema also see tables that wait to be selected, unless
    *selected_only*; everybody else sees what may be used.

    Raises:
        DataFailure: `no_datasource` or `service_unavailable`.
    """
    known = await look_up(desk, datasource)
    waiting = () if selected_only or not desk.decides else _waiting(known)
    tables = sorted([*known.knowledge.tables, *waiting], key=lambda each: each.full_name)
    shown: list[Result] = []
    columns = 0
    for table in tables[:MOST_TABLES]:
        one = shown_table(known, table, meaning=include_entities)
        one["is_selected"] = table.is_selected
        columns += len(table.columns)
        if columns <= MOST_COLUMNS:
            one["columns"] = [
                shown_column(known, table, column, meaning=include_entities)
                for column in table.columns
            ]
        shown.append(one)
    truncated = columns > MOST_COLUMNS or len(tables) > MOST_TABLES
    schema = known.knowledge.schema
    return {
        "datasource": known.source.datasource.name,
        "engine": known.source.datasource.engine.value,
        "refreshed": None if schema is None else schema.refreshed.isoformat(),
        "tables": shown,
        "table_count": len(tables),
        "truncated": truncated,
        "next": _NEXT if truncated else "",
    }


def _waiting(known: Known) -> Sequence[SchemaTable]:
    """Return tables that are declared, and not selected yet."""
    schema = known.knowledge.schema
    may_use = declared(known.source.datasource)
    return [
        table
        for table in (() if schema is None else schema.tables)
        if not table.is_selected and may_use(table.schema, table.name)
    ]

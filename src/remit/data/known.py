"""What a caller may know of a datasource: the one view that reading tools and probes have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from remit.data.apart import apart
from remit.data.desk import Desk
from remit.data.engines.engine import Allowed
from remit.data.guard.statements import parse_statement
from remit.data.ontology.knowledge import Knowledge, read_knowledge
from remit.data.running import OpenSource, open_source
from remit.errors import DataFailure
from remit.model.data import EngineKind
from remit.model.ontology import ForeignKey, Item, ItemKind, SchemaTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A datasource, open, and what its caller may know of it."""

    source: OpenSource
    knowledge: Knowledge

    def find_place(self, schema: str, table: str) -> SchemaTable | None:
        """Return the table of just that name, if it may be used, or None."""
        found = (
            each for each in self.knowledge.tables if (each.schema, each.name) == (schema, table)
        )
        return next(found, None)

    def foreign_keys(self, table: SchemaTable) -> Sequence[ForeignKey]:
        """Return a table's foreign keys to tables that may be used, too."""
        places = {(each.schema, each.name) for each in self.knowledge.tables}
        return [key for key in table.foreign_keys if (key.to_schema, key.to_table) in places]


async def look_up(desk: Desk, datasource: str | None = None) -> Known:
    """Return what is known of the datasource that is named, or of the one that is meant.

    Before the first look at the schema, it is what the database says now. Terms whose SQL reads a
    table that may not be used are left out, as is everything else that tells of such a table.

    Raises:
        DataFailure: `no_datasource` or `service_unavailable`.
    """
    source = await open_source(desk, datasource)
    knowledge = await read_knowledge(desk, source.datasource, source.allowed)
    tables = knowledge.tables
    if knowledge.schema is None:
        tables = tuple(
            table
            for table in await source.engine.schema()
            if source.allowed(table.schema, table.name)
        )
    engine = source.datasource.engine
    items = {
        place: item
        for place, item in knowledge.items.items()
        if item.kind is not ItemKind.TERM or await _may_read(item, engine, source.allowed)
    }
    return Known(source=source, knowledge=replace(knowledge, tables=tables, items=items))


async def _may_read(term: Item, engine: EngineKind, allowed: Allowed) -> bool:
    sql, base = str(term.body.get("sql") or ""), str(term.body.get("base_table") or "")
    schema, _, table = base.rpartition(".")
    tables = await apart(len(sql), lambda: _tables_of(sql, engine)) if sql else ()
    if tables is None or (base and not allowed(schema, table)):
        return False
    return all(allowed(schema, name) for schema, name in tables)


@lru_cache(maxsize=4096)
def _tables_of(sql: str, engine: EngineKind) -> Sequence[tuple[str, str]] | None:
    """Return the tables that a statement names; None where it cannot be read."""
    try:
        return parse_statement(sql, engine).tables
    except DataFailure:
        return None

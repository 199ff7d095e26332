"""A few rows of a table, as they are."""

from dataclasses import dataclass

from remit.calls.redact import is_secret_name
from remit.data.desk import Desk
from remit.data.probes.statements import first_rows
from remit.data.running import OpenSource, run_reading
from remit.model.data import Rows
from remit.model.ontology import SchemaTable

MOST_SAMPLED = 100
"""Rows that a sample has at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Some rows of a table.

    Attributes:
        withheld: Columns that were not read, since their names are those that secrets have.
    """

    table: SchemaTable
    rows: Rows
    withheld: tuple[str, ...]


async def preview(desk: Desk, source: OpenSource, table: SchemaTable, limit: int) -> Preview:
    """Return the first rows of a table, in no order, without what looks like secrets.

    It is kept among what ran, as a query is.

    Raises:
        DataFailure: The database refuses, or takes too long.
    """
    withheld = tuple(column.name for column in table.columns if is_secret_name(column.name))
    names = tuple(column.name for column in table.columns if column.name not in withheld)
    if not names:
        return Preview(table=table, rows=Rows(), withheld=withheld)
    sql = first_rows(table, names, min(limit, MOST_SAMPLED) + 1)
    rows = await run_reading(desk, source, sql, limit=min(limit, MOST_SAMPLED))
    return Preview(table=table, rows=rows, withheld=withheld)

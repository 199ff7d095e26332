"""The statements with which a scan looks at tables.

Names are those of the schema, quoted; everything else in these texts is our own. Columns are named
with their table, since SQLite takes a quoted name that is no column's for a text.
"""

# ruff: noqa: S608 - see above

from typing import Final

from remit.data.engines.identifiers import quoted
from remit.data.ontology.likely_keys import Candidate
from remit.data.probes.statements import table_name
from remit.model.ontology import SchemaColumn, SchemaTable

MOST_VALUES: Final = 50
"""Distinct values up to which a column is taken for one of few values."""

EXAMINED: Final = 20_000
"""Rows of each table that are looked at."""


def values_sql(table: SchemaTable, column: SchemaColumn) -> str:
    """Return a statement that gives a column's values, and how often each occurs."""
    name = quoted(column.name)
    taken = f"SELECT t.{name} AS v FROM {table_name(table)} AS t LIMIT {EXAMINED}"
    counted = "SELECT v, count(*) AS n FROM"
    return f"{counted} ({taken}) AS taken WHERE v IS NOT NULL GROUP BY v LIMIT {MOST_VALUES + 1}"


def match_sql(candidate: Candidate) -> str:
    """Return a statement that looks a column's values up among the keys of another table.

    It gives one row: distinct values, how many of them are found, and rows that have one.
    """
    name, key = quoted(candidate.column.name), quoted(candidate.to_column.name)
    here, there = table_name(candidate.table), table_name(candidate.to_table)
    taken = f"SELECT t.{name} AS v FROM {here} AS t WHERE t.{name} IS NOT NULL LIMIT {EXAMINED}"
    grouped = f"SELECT v, count(*) AS n FROM ({taken}) AS taken GROUP BY v"
    # the other table's column is a key, so that no value is found there twice
    return (
        f"SELECT count(*), count(theirs.{key}), CAST(sum(ours.n) AS BIGINT)"
        f" FROM ({grouped}) AS ours LEFT JOIN {there} AS theirs ON theirs.{key} = ours.v"
    )

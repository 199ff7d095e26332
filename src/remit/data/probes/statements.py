"""The statements with which a table is looked at, cheap however large it is.

Every one of them names a table and columns that the schema has, quoted, and numbers; nothing of it
is text of a caller's. PostgreSQL, SQLite and DuckDB quote alike.

A table is counted up to a number (`COUNTED`). Its values are looked at in all of its rows where
these are few (`WHOLE`), else in `EXAMINED` of them: from everywhere in it (`Sampling.SPREAD`), or
its first ones where the engine cannot do better (`Sampling.FIRST`), such as in a view.
"""

# Names are quoted by `quoted`, and everything else in these texts is our own.
# ruff: noqa: S608

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.data.engines.engine import Prepared
from remit.data.engines.identifiers import quoted
from remit.data.probes.families import ORDERED, Family
from remit.model.data import EngineKind
from remit.model.ontology import SchemaTable

WHOLE: Final = 100_000
"""Rows of a table up to which all of them are looked at."""

EXAMINED: Final = 30_000
"""Rows of a larger one that are looked at, as many as PostgreSQL's ANALYZE takes."""

COUNTED: Final = 2_000_000
"""Rows up to which a table is counted exactly."""

PREFIX: Final = 200
"""Characters of a text by which it is told from others, together with its length."""


class Sampling(StrEnum):
    """Which rows were examined."""

    ALL = "all"
    SPREAD = "spread"
    FIRST = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Rows of a table that are examined.

    Attributes:
        total: How many rows the table has, as far as is known.
    """

    engine: EngineKind
    table: SchemaTable
    sampling: Sampling
    total: int

    @property
    def most(self) -> int:
        """How many rows it holds, at most."""
        return self.total if self.sampling is Sampling.ALL else EXAMINED

    @property
    def sql(self) -> str:
        """What stands behind FROM; a LIMIT of `most` goes with it."""
        name = table_name(self.table)
        if self.sampling is not Sampling.SPREAD:
            return name
        share = EXAMINED / self.total
        if self.engine is EngineKind.SQLITE:
            # squares of row ids, scattered: whatever rhythm the rows have, this has not
            row = "(rowid % 2147483647)"
            scattered = f"({row} * {row} % 998244353 * 2654435761) % 4294967296"
            return f"(SELECT * FROM {name} WHERE {scattered} < {int(share * 4294967296)}) AS spread"
        if self.engine is EngineKind.POSTGRESQL:
            return f"{name} TABLESAMPLE SYSTEM ({100 * share:.6f}) REPEATABLE (1)"
        # DuckDB takes rows in runs of 2,048 otherwise, which costs less, and tells less
        method = "BERNOULLI" if self.total <= COUNTED else "SYSTEM"
        return f"{name} TABLESAMPLE {method} ({100 * share:.6f}%) REPEATABLE (1)"


def table_name(table: SchemaTable) -> str:
    """Return a table's whole name, as identifiers."""
    return f"{quoted(table.schema)}.{quoted(table.name)}"


def counting(table: SchemaTable) -> Prepared:
    """Return a statement that counts rows, up to one more than `COUNTED`."""
    return Prepared(
        sql=f"SELECT count(*) FROM (SELECT 1 FROM {table_name(table)} LIMIT {COUNTED + 1}) AS taken"
    )


def first_rows(table: SchemaTable, columns: tuple[str, ...], limit: int) -> str:
    """Return a statement that gives some rows."""
    names = ", ".join(map(quoted, columns))
    return f"SELECT {names} FROM {table_name(table)} LIMIT {limit}"


def profiling(sample: Sample, column: str, family: Family) -> Prepared:
    """Return a statement that says of a column's values what can be said in one pass.

    It gives one row: rows, rows without a value, distinct values, values that occur once, least and
    greatest value, least and greatest length; the last four are null where they mean nothing.
    """
    ordered = "min(v), max(v)" if family in ORDERED else "NULL, NULL"
    # Texts of one length that begin alike count as one, so that long ones cost little.
    return Prepared(
        sql=(
            "SELECT CAST(sum(n) AS BIGINT),"
            " CAST(sum(CASE WHEN v IS NULL THEN n ELSE 0 END) AS BIGINT),"
            " count(v), CAST(sum(CASE WHEN n = 1 AND v IS NOT NULL THEN 1 ELSE 0 END) AS BIGINT),"
            f" {ordered}, min(l), max(l) FROM {_values(sample, column, family)}"
        )
    )


def commonest(sample: Sample, column: str, family: Family, limit: int) -> Prepared:
    """Return a statement that gives the values that occur most often, the commonest first."""
    return Prepared(
        sql=(
            f"SELECT v FROM {_values(sample, column, family)}"
            f" WHERE v IS NOT NULL ORDER BY n DESC, v LIMIT {limit}"
        )
    )


def _values(sample: Sample, column: str, family: Family) -> str:
    """Return a table of values (`v`), their lengths (`l`) and how often each occurs (`n`)."""
    name = quoted(column)
    value, length = name, "CAST(NULL AS INTEGER)"
    if family is Family.TEXT:
        value, length = f"substr({name}, 1, {PREFIX})", f"length({name})"
    elif family is Family.BINARY:
        bare = sample.engine is EngineKind.SQLITE
        length = f"length({name})" if bare else f"octet_length({name})"
    elif family is Family.OTHER and sample.engine is not EngineKind.SQLITE:
        # not everything that can be stored can be compared; its text can
        value = f"substr(CAST({name} AS VARCHAR), 1, {PREFIX})"
    return (
        "(SELECT v, l, count(*) AS n FROM"
        f" (SELECT {value} AS v, {length} AS l FROM {sample.sql} LIMIT {sample.most}) AS taken"
        " GROUP BY v, l) AS grouped"
    )


def pairing(sample: Sample, column: str, table: SchemaTable, key: str) -> Prepared:
    """Return a statement that looks a column's values up among those of another table's column.

    It gives one row: distinct values, rows that have one, distinct values found there, rows whose
    value was found, the most rows of one value here, and the most there.
    """
    return Prepared(
        sql=(
            f"{_pairs(sample, column, table, key)}"
            " SELECT count(*), CAST(sum(here.n) AS BIGINT), count(there.v),"
            " CAST(sum(CASE WHEN there.v IS NULL THEN 0 ELSE here.n END) AS BIGINT),"
            " max(here.n), max(there.n)"
            " FROM here LEFT JOIN there ON there.v = here.v"
        )
    )


def orphaned(sample: Sample, column: str, table: SchemaTable, key: str, limit: int) -> Prepared:
    """Return a statement that gives values that were not found, the commonest first."""
    return Prepared(
        sql=(
            f"{_pairs(sample, column, table, key)}"
            " SELECT here.v FROM here LEFT JOIN there ON there.v = here.v"
            f" WHERE there.v IS NULL ORDER BY here.n DESC, here.v LIMIT {limit}"
        )
    )


def _pairs(sample: Sample, column: str, table: SchemaTable, key: str) -> str:
    name, other = quoted(column), quoted(key)
    return (
        "WITH here AS MATERIALIZED (SELECT v, count(*) AS n FROM"
        f" (SELECT {name} AS v FROM {sample.sql} LIMIT {sample.most}) AS taken"
        " WHERE v IS NOT NULL GROUP BY v),"
        " there AS MATERIALIZED (SELECT v, count(*) AS n FROM"
        f" (SELECT {other} AS v FROM {table_name(table)}) AS theirs"
        " WHERE v IN (SELECT v FROM here) GROUP BY v)"
    )

"""What a PostgreSQL database has of its own that could run in the place of PostgreSQL's own things.

A statement calls functions of the database by more ways than their names before parentheses: as
`x.y` where y is no column, by operators and casts that were made for a type, and by functions that
fit an argument better than PostgreSQL's own. No role can be kept from all of that, so it is looked
up, in the transaction in which the statement is about to run. What belongs to an extension, or is
in `pg_catalog`, is not the database's own.

    SEEN ──▶ functions and operators ──▶ refused
      ├─ names of columns that functions have ──▶ COLUMNS ──▶ refused where a table has none
      └─ casts ──▶ CASTS ──▶ refused where a table has such values
"""

from collections.abc import Iterable, Sequence
from typing import Final

from psycopg import AsyncConnection

from remit.data.engines.engine import Claim, Relied
from remit.data.engines.failures import said
from remit.errors import DataFailure
from remit.model.data import DataCode

Connection = AsyncConnection[tuple[object, ...]]

LONGEST: Final = 63
"""Bytes after which PostgreSQL cuts a name."""

# Whatever is compared here has one type on both sides: such an operator is PostgreSQL's own, even
# if the database has others of its name. Objects from 16384 on were made after initdb. Three short
# statements are several times as fast as one that does it all, of which most would be planned only.
SEEN: Final = b"""
SELECT 'name', p.proname::text FROM pg_catalog.pg_proc p WHERE p.proname = ANY ($1::name[])
UNION ALL
SELECT 'function', p.proname::text
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname = ANY ($2::name[]) AND n.nspname = $3::name
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e'
                  AND d.classid = 'pg_catalog.pg_proc'::regclass::oid)
UNION ALL
SELECT 'operator', o.oprname::text
FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
WHERE o.oid >= 16384::oid AND n.nspname = $3::name
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = o.oid AND d.deptype = 'e'
                  AND d.classid = 'pg_catalog.pg_operator'::regclass::oid)
UNION ALL
SELECT 'cast', '' FROM pg_catalog.pg_cast k
WHERE k.castfunc >= 16384::oid AND (k.castcontext = 'i' OR $4::bool)
"""

COLUMNS: Final = b"""
SELECT n.nspname::text, c.relname::text, a.attname::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a
  ON a.attrelid = c.oid AND a.attname = ANY ($2::name[]) AND NOT a.attisdropped
WHERE c.relname = ANY ($1::name[])
"""

CASTS: Final = b"""
WITH RECURSIVE types (type) AS (
  SELECT a.atttypid
  FROM ROWS FROM (pg_catalog.unnest($1::name[]), pg_catalog.unnest($2::name[])) AS x (nsp, rel)
  JOIN pg_catalog.pg_namespace n ON n.nspname = x.nsp
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = x.rel
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0::int2
  UNION
  SELECT part.type FROM types
  JOIN pg_catalog.pg_type y ON y.oid = types.type
  CROSS JOIN LATERAL (
    SELECT y.typelem UNION ALL SELECT y.typbasetype
    UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
              WHERE a.attrelid = y.typrelid AND a.attnum > 0::int2
    UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE r.rngtypid = y.oid
  ) AS part (type)
  WHERE part.type <> 0::oid
)
SELECT pg_catalog.format_type(k.castsource, NULL), pg_catalog.format_type(k.casttarget, NULL)
FROM pg_catalog.pg_cast k JOIN pg_catalog.pg_proc p ON p.oid = k.castfunc
WHERE k.castfunc >= 16384::oid AND (k.castcontext = 'i' OR $3::bool)
  AND p.pronamespace <> 'pg_catalog'::regnamespace::oid
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e'
                  AND d.classid = 'pg_catalog.pg_proc'::regclass::oid)
  AND (k.castsource < 16384::oid OR k.castsource IN (SELECT type FROM types))
  AND (k.casttarget < 16384::oid OR k.casttarget IN (SELECT type FROM types))
LIMIT 1
"""


async def require_builtin(connection: Connection, relied: Relied, usual: str) -> None:
    """Let a statement run only where it calls nothing of the database's own.

    Args:
        connection: In the transaction in which it will run.
        relied: What the guard took for granted.
        usual: The schema of names without one.

    Raises:
        DataFailure: `security_violation`.
    """
    claimed = [_cut(claim.name) for claim in relied.claims if not claim.is_row]
    functions = [_cut(name) for name in relied.functions]
    found = await _rows(connection, SEEN, [claimed, functions, usual, relied.has_casts])
    names = {name for kind, name in found if kind == "name"}
    for kind, name in found:
        is_used = kind == "operator" and any(name in signs for signs in relied.operators)
        if is_used or kind == "function":
            raise _refused(f"the {kind} {name!r}")
    doubtful = [each for each in relied.claims if each.is_row or _cut(each.name) in names]
    if doubtful:
        await _require_columns(connection, doubtful, usual)
    if any(kind == "cast" for kind, _ in found):
        await _require_no_cast(connection, relied, usual)


async def _require_columns(connection: Connection, claims: Sequence[Claim], usual: str) -> None:
    """Let pass what is a column, and what no table of the database can have."""
    tables = {table for claim in claims for _, table in claim.tables}
    found = await _rows(
        connection, COLUMNS, [sorted(tables), sorted({_cut(claim.name) for claim in claims})]
    )
    there = {(schema, table) for schema, table, _ in found}
    columns = set(found)
    for claim in claims:
        named = [(schema or usual, table) for schema, table in claim.tables]
        is_column = any((*each, _cut(claim.name)) in columns for each in named)
        if is_column or not there.issuperset(named):
            continue  # a table that is not there is told of by the database
        if claim.is_row:
            raise said(
                DataCode.SECURITY_VIOLATION,
                f"{claim.name!r} is a whole row here, which is no value; name its columns",
            )
        raise said(
            DataCode.SECURITY_VIOLATION,
            f"{claim.name!r} is no column here, and would be called as a function",
        )


async def _require_no_cast(connection: Connection, relied: Relied, usual: str) -> None:
    schemas = [schema or usual for schema, _ in relied.tables]
    tables = [table for _, table in relied.tables]
    for source, target in await _rows(connection, CASTS, [schemas, tables, relied.has_casts]):
        raise _refused(f"the cast from {source} to {target}")


async def _rows(
    connection: Connection, statement: bytes, values: Sequence[object]
) -> list[tuple[str, ...]]:
    rows: Iterable[tuple[object, ...]]
    rows = await (await connection.execute(statement, values)).fetchall()
    return [tuple(str(each) for each in row) for row in rows]


def _refused(what: str) -> DataFailure:
    return said(
        DataCode.SECURITY_VIOLATION,
        f"the database has {what} of its own, which is not called here; do without it",
    )


def _cut(name: str) -> str:
    """Return a name as PostgreSQL cuts it."""
    return name.encode()[:LONGEST].decode(errors="ignore")

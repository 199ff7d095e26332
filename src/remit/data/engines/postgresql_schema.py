"""What is in a PostgreSQL database, and what a role may do to it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, cast

from psycopg import AsyncConnection

from remit.data.engines.engine import Allowed
from remit.model.ontology import ForeignKey, SchemaColumn, SchemaTable

Connection = AsyncConnection[tuple[object, ...]]

TABLES: Final = b"""
SELECT c.oid, n.nspname, c.relname, c.relkind IN ('v', 'm'),
       CASE WHEN c.relkind IN ('r', 'm', 'p') AND c.reltuples >= 0 THEN c.reltuples::bigint END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY($1) AND c.relkind IN ('r', 'v', 'm', 'f', 'p') AND NOT c.relispartition
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND (pg_catalog.has_table_privilege(c.oid, 'SELECT')
       OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))
ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
"""

COLUMNS: Final = b"""
SELECT a.attrelid, a.attname, lower(pg_catalog.format_type(a.atttypid, a.atttypmod)),
       a.attnotnull, coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), ''),
       coalesce(a.attnum = ANY(k.conkey), false)
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_catalog.pg_constraint k ON k.conrelid = a.attrelid AND k.contype = 'p'
WHERE a.attrelid = ANY($1) AND a.attnum > 0 AND NOT a.attisdropped
  AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
ORDER BY a.attrelid, a.attnum
"""

FOREIGN_KEYS: Final = b"""
SELECT k.conrelid, a.attname, n.nspname, c.relname, b.attname
FROM pg_catalog.pg_constraint k
CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS p (own, other, place)
JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = p.own
JOIN pg_catalog.pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = p.other
JOIN pg_catalog.pg_class c ON c.oid = k.confrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND k.conrelid = ANY($1)
ORDER BY k.conrelid, k.conname COLLATE "C", p.place
"""

POWERS: Final = b"""
SELECT r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, r.rolbypassrls,
       pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'),
       ARRAY(SELECT g.rolname FROM pg_catalog.pg_roles g
             WHERE g.rolname = ANY(ARRAY['pg_read_server_files', 'pg_write_server_files',
                   'pg_execute_server_program', 'pg_write_all_data', 'pg_signal_backend'])
               AND pg_catalog.pg_has_role(r.oid, g.oid, 'MEMBER') ORDER BY g.rolname)::text[],
       ARRAY(SELECT n.nspname FROM pg_catalog.pg_namespace n
             WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
               AND pg_catalog.has_schema_privilege(n.oid, 'CREATE')
             ORDER BY n.nspname LIMIT 5)::text[],
       ARRAY(SELECT n.nspname || '.' || c.relname
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname !~ '^pg_'
               AND n.nspname <> 'information_schema'
               AND (pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                    OR pg_catalog.has_any_column_privilege(c.oid, 'INSERT, UPDATE'))
             ORDER BY 1 LIMIT 5)::text[]
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
"""

PLAIN_POWERS: Final = (
    "is a superuser, whom nothing in the database restrains",
    "may make other roles",
    "may make databases",
    "may replicate the whole server",
    "passes by row-level security",
    "may make schemas in the database",
)


async def read_schema(
    connection: Connection, schemas: Sequence[str], allowed: Allowed
) -> Sequence[SchemaTable]:
    """Return the tables and views that may be used and that the role may read, by schema and name.

    Three queries, however many tables there are. A partition is no table of its own.
    """
    found = await (await connection.execute(TABLES, [list(schemas)])).fetchall()
    tables = [each for each in found if allowed(str(each[1]), str(each[2]))]
    oids = [each[0] for each in tables]
    columns = await _columns(connection, oids)
    keys = await _foreign_keys(connection, oids)
    return [
        SchemaTable(
            schema=str(schema),
            name=str(name),
            columns=tuple(columns.get(oid, ())),
            foreign_keys=tuple(keys.get(oid, ())),
            is_view=bool(is_view),
            rows=rows if isinstance(rows, int) else None,
        )
        for oid, schema, name, is_view, rows in tables
    ]


async def read_warnings(connection: Connection) -> Sequence[str]:
    """Return what the role may do beyond reading, a sentence each."""
    row = await (await connection.execute(POWERS)).fetchone()
    if row is None:
        return ()
    plain, (roles, schemas, tables) = row[: len(PLAIN_POWERS)], row[len(PLAIN_POWERS) :]
    warnings = [
        f"the reading role {power}"
        for has_it, power in zip(plain, PLAIN_POWERS, strict=True)
        if has_it
    ]
    lists = ((roles, "is a member of"), (schemas, "may make things in"), (tables, "may change"))
    warnings += [f"the reading role {what} {_listed(names)}" for names, what in lists if names]
    return warnings


def _listed(names: object) -> str:
    return ", ".join(cast("Sequence[str]", names))


async def _columns(
    connection: Connection, oids: Sequence[object]
) -> Mapping[object, Sequence[SchemaColumn]]:
    columns: dict[object, list[SchemaColumn]] = defaultdict(list)
    cursor = await connection.execute(COLUMNS, [list(oids)])
    for oid, name, kind, not_null, default, is_key in await cursor.fetchall():
        columns[oid].append(
            SchemaColumn(
                name=str(name),
                type=str(kind),
                nullable=not not_null,
                is_primary_key=bool(is_key),
                default=str(default),
            )
        )
    return columns


async def _foreign_keys(
    connection: Connection, oids: Sequence[object]
) -> Mapping[object, Sequence[ForeignKey]]:
    keys: dict[object, list[ForeignKey]] = defaultdict(list)
    cursor = await connection.execute(FOREIGN_KEYS, [list(oids)])
    for oid, column, schema, table, other in await cursor.fetchall():
        keys[oid].append(
            ForeignKey(
                column=str(column),
                to_schema=str(schema),
                to_table=str(table),
                to_column=str(other),
            )
        )
    return keys

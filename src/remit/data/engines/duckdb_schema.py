"""What is in a DuckDB database."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from remit.data.engines.duckdb_own import plain_cursor
from remit.data.engines.duckdb_values import type_name
from remit.data.engines.engine import Allowed
from remit.model.ontology import ForeignKey, SchemaColumn, SchemaTable

Key = tuple[str, str]


def read_schema(connection: DuckDBPyConnection, allowed: Allowed) -> Sequence[SchemaTable]:
    """Return the tables and views that may be used, by schema and name; three queries in all."""
    with plain_cursor(connection) as cursor:
        return _read_schema(cursor, allowed)


def _read_schema(connection: DuckDBPyConnection, allowed: Allowed) -> Sequence[SchemaTable]:
    rows = connection.execute(
        "SELECT schema_name, table_name, false, estimated_size FROM duckdb_tables() "
        "WHERE NOT internal AND database_name NOT IN ('system', 'temp') UNION ALL "
        "SELECT schema_name, view_name, true, NULL FROM duckdb_views() "
        "WHERE NOT internal AND database_name NOT IN ('system', 'temp') ORDER BY 1, 2"
    ).fetchall()
    primary, foreign = _keys(connection)
    columns = _columns(connection, primary)
    return [
        SchemaTable(
            schema=schema,
            name=name,
            columns=tuple(columns.get((schema, name), ())),
            foreign_keys=tuple(foreign.get((schema, name), ())),
            is_view=is_view,
            rows=size,
        )
        for schema, name, is_view, size in rows
        if allowed(schema, name)
    ]


def _columns(
    connection: DuckDBPyConnection, primary: Mapping[Key, frozenset[str]]
) -> Mapping[Key, Sequence[SchemaColumn]]:
    columns: dict[Key, list[SchemaColumn]] = defaultdict(list)
    rows = connection.execute(
        "SELECT schema_name, table_name, column_name, data_type, is_nullable, column_default "
        "FROM duckdb_columns() WHERE NOT internal AND database_name NOT IN ('system', 'temp') "
        "ORDER BY schema_name, table_name, column_index"
    ).fetchall()
    for schema, table, name, kind, nullable, default in rows:
        is_key = name in primary.get((schema, table), ())
        columns[schema, table].append(
            SchemaColumn(
                name=name,
                type=type_name(kind),
                nullable=bool(nullable) and not is_key,
                is_primary_key=is_key,
                default=str(default) if default is not None else "",
            )
        )
    return columns


def _keys(
    connection: DuckDBPyConnection,
) -> tuple[Mapping[Key, frozenset[str]], Mapping[Key, Sequence[ForeignKey]]]:
    """Return primary and foreign keys by table; a foreign key stays within its schema."""
    primary: dict[Key, frozenset[str]] = {}
    foreign: dict[Key, list[ForeignKey]] = defaultdict(list)
    rows = connection.execute(
        "SELECT schema_name, table_name, constraint_type, constraint_column_names, "
        "referenced_table, referenced_column_names FROM duckdb_constraints() "
        "WHERE database_name NOT IN ('system', 'temp') "
        "AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY') ORDER BY ALL"
    ).fetchall()
    for schema, table, kind, names, to_table, to_names in rows:
        if kind == "PRIMARY KEY":
            primary[schema, table] = frozenset(names)
            continue
        foreign[schema, table] += [
            ForeignKey(column=column, to_schema=schema, to_table=to_table, to_column=to_column)
            for column, to_column in zip(names, to_names, strict=True)
        ]
    return primary, foreign

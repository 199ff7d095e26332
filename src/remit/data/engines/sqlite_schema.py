"""What is in a SQLite file."""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from remit.data.engines.engine import Allowed
from remit.data.engines.identifiers import quoted
from remit.model.ontology import ForeignKey, SchemaColumn, SchemaTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What has a name in a file, lower case.

    Attributes:
        objects: Tables and views.
        modules: Tables that SQLite makes of its own, such as `dbstat`.
        keys: `(table, column)` at either end of foreign keys.
    """

    objects: frozenset[str]
    views: frozenset[str]
    triggers: frozenset[str]
    modules: frozenset[str]
    keys: frozenset[tuple[str, str]]


def read_names(connection: sqlite3.Connection, *, with_keys: bool = False) -> Names:
    """Return the names of a file, and have its virtual tables ready.

    SQLite asks an authorizer about its own tables when a virtual table is first used, so that it
    has to be before there is an authorizer.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for kind, name, sql in connection.execute("SELECT type, lower(name), sql FROM sqlite_schema"):
        named[kind].add(name)
        if kind == "table" and str(sql).upper().startswith("CREATE VIRTUAL"):
            with suppress(sqlite3.Error):  # it cannot be used without its module
                connection.execute(f"SELECT 1 FROM {quoted(name)} LIMIT 0")  # noqa: S608 - quoted
    connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")
    modules = connection.execute("SELECT lower(name) FROM pragma_module_list")
    return Names(
        objects=frozenset(named["table"] | named["view"]),
        views=frozenset(named["view"]),
        triggers=frozenset(named["trigger"]),
        modules=frozenset(name for (name,) in modules),
        keys=_keys(connection) if with_keys else frozenset(),
    )


def _keys(connection: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    rows = connection.execute(
        'SELECT lower(m.name), lower(f."from") FROM sqlite_schema m, '
        "pragma_foreign_key_list(m.name) f WHERE m.type = 'table' UNION "
        'SELECT lower(f."table"), lower(coalesce(f."to", x.name)) FROM sqlite_schema m, '
        'pragma_foreign_key_list(m.name) f, pragma_table_xinfo(f."table") x '
        "WHERE m.type = 'table' AND x.pk > 0"
    )
    return frozenset((table, column) for table, column in rows)


def read_types(connection: sqlite3.Connection, tables: Sequence[str]) -> Mapping[str, str]:
    """Return the declared types of the columns of *tables*, by names of columns, lower case.

    A name that stands for two types is left out.
    """
    types: dict[str, set[str]] = defaultdict(set)
    for table in tables:
        rows = connection.execute("SELECT name, type FROM pragma_table_xinfo(?)", (table,))
        for name, kind in rows:
            types[str(name).lower()].add(str(kind).lower())
    return {name: next(iter(kinds)) for name, kinds in types.items() if len(kinds) == 1}


def read_schema(connection: sqlite3.Connection, allowed: Allowed) -> Sequence[SchemaTable]:
    """Return the tables and views of a file that may be used, by name."""
    listed = connection.execute(
        "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' "
        "ORDER BY name"
    ).fetchall()
    estimates = _estimates(connection)
    tables = [
        SchemaTable(
            schema="main",
            name=name,
            columns=_columns(connection, name),
            foreign_keys=_foreign_keys(connection, name) if kind == "table" else (),
            is_view=kind == "view",
            rows=estimates.get(name),
        )
        for name, kind in listed
        if allowed("main", name)
    ]
    keys = {
        table.name.lower(): [each.name for each in table.columns if each.is_primary_key]
        for table in tables
    }
    return [replace(table, foreign_keys=_completed(table.foreign_keys, keys)) for table in tables]


def _columns(connection: sqlite3.Connection, table: str) -> tuple[SchemaColumn, ...]:
    with suppress(sqlite3.Error):  # a view of what is no longer there
        rows = connection.execute(
            'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?) '
            "WHERE hidden <> 1 ORDER BY cid",
            (table,),
        ).fetchall()
        return tuple(
            SchemaColumn(
                name=name,
                type=str(kind or "").lower(),
                nullable=not (not_null or key),
                is_primary_key=bool(key),
                default=str(default) if default is not None else "",
            )
            for name, kind, not_null, default, key in rows
        )
    return ()


def _foreign_keys(connection: sqlite3.Connection, table: str) -> tuple[ForeignKey, ...]:
    rows = connection.execute(
        'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (table,)
    )
    return tuple(
        ForeignKey(column=column, to_schema="main", to_table=to_table, to_column=to_column or "")
        for column, to_table, to_column in rows
    )


def _completed(
    keys: Sequence[ForeignKey], primary: Mapping[str, Sequence[str]]
) -> tuple[ForeignKey, ...]:
    """Name the column where a key names a table alone, which means its primary key."""
    return tuple(
        replace(key, to_column=key.to_column or _first(primary.get(key.to_table.lower(), ())))
        for key in keys
    )


def _first(names: Sequence[str]) -> str:
    return names[0] if names else ""


def _estimates(connection: sqlite3.Connection) -> Mapping[str, int]:
    """Return how many rows ANALYZE has counted, by table."""
    counted: dict[str, int] = {}
    with suppress(sqlite3.Error):  # nobody has had it counted
        for table, stat in connection.execute("SELECT tbl, stat FROM sqlite_stat1"):
            first = str(stat).split(" ", 1)[0]
            if first.isdigit():
                counted[table] = int(first)
    return counted

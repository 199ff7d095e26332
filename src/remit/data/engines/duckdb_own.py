"""Macros of a DuckDB database, which run in the place of DuckDB's own functions.

A macro goes before a function of its name, be that an operator's or one that brackets mean. So the
functions of the system are looked for first, and what names a macro all the same is refused. A view
means what it meant to whoever made it.
"""

from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

from duckdb import DuckDBPyConnection, StatementType

from remit.data.engines.engine import Prepared
from remit.data.engines.failures import not_reading, said
from remit.data.engines.identifiers import quoted
from remit.model.data import DataCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """The macros of a database; all names are lower case.

    Attributes:
        names: Of the macros.
        shadows: Those of them that functions of DuckDB's have as well.
        places: Schemas that hold macros, and the database; but `main`, which is the system's first.
    """

    names: frozenset[str] = frozenset()
    shadows: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()


@contextmanager
def plain_cursor(connection: DuckDBPyConnection) -> Generator[DuckDBPyConnection]:
    """Lend a cursor for statements of our own, in which no macro of the database has a part."""
    with closing(connection.cursor()) as cursor:
        cursor.execute("SET search_path = 'system.main'")
        yield cursor


def read_own(connection: DuckDBPyConnection) -> Own:
    """Return the macros of a database that was just opened."""
    with plain_cursor(connection) as cursor:
        rows = cursor.execute(
            "SELECT lower(database_name), lower(schema_name), lower(function_name) "
            "FROM duckdb_functions() WHERE NOT internal"
        ).fetchall()
        names = frozenset(name for _, _, name in rows)
        shadows = cursor.execute(
            "SELECT DISTINCT lower(function_name) FROM duckdb_functions() "
            "WHERE internal AND list_contains($1, lower(function_name))",
            [sorted(names)],
        ).fetchall()
    return Own(
        names=names,
        shadows=frozenset(name for (name,) in shadows),
        places=frozenset(place for *places, _ in rows for place in places) - {"main"},
    )


def look_for_builtin_first(connection: DuckDBPyConnection, *schemas: str) -> None:
    """Have names mean the system's functions first, then what is in schemas of the database.

    A table that is named with its schema is found if that is among them.
    """
    row = connection.execute("SELECT system.main.current_database()").fetchone()
    database = quoted(str(row[0]) if row else "")
    path = "".join(f",{database}.{quoted(each)}" for each in schemas)
    in_text = path.replace("'", "''")
    connection.execute(f"SET search_path = 'system.main{in_text}'")


def require_no_macro(node: Mapping[str, object], own: Own) -> None:
    """Refuse a function in DuckDB's tree of a statement, if it is a macro of the database.

    Raises:
        DataFailure: `security_violation`.
    """
    name = str(node.get("function_name") or "").lower()
    if name not in own.names:
        return
    before = {str(node.get(key) or "").lower() for key in ("catalog", "schema")}
    if name not in own.shadows or (before & own.places and "system" not in before):
        raise not_reading(f"the function {name} that the database has of its own")


def prepare_change(
    connection: DuckDBPyConnection, prepared: Prepared, kind: StatementType, usual: str
) -> None:
    """Let a statement that changes something mean DuckDB's own functions.

    There is no tree of it, and what is made is made in the first schema of a path: so what defines
    something is refused where a macro has the name of a function, and else what names a macro.

    Raises:
        DataFailure: `security_violation`.
    """
    own = read_own(connection)
    named = own.names.intersection(prepared.relied.functions if prepared.relied else ())
    for name in sorted(named):
        raise not_reading(f"the function {name}, which the database has of its own,")
    if kind not in {StatementType.CREATE, StatementType.ALTER, StatementType.DROP}:
        _look_for_builtin_first(connection, prepared, usual, own)
    elif own.shadows and kind is not StatementType.DROP:
        raise said(
            DataCode.SECURITY_VIOLATION,
            "nothing is defined in a database that has functions of its own with names of"
            f" DuckDB's, such as {min(own.shadows)!r}",
        )


def _look_for_builtin_first(
    connection: DuckDBPyConnection, prepared: Prepared, usual: str, own: Own
) -> None:
    """Do so where there is a macro at all; schemas that are named have to be looked in then.

    What is named without one has to be in the first: it is looked for in the others, too.
    """
    if not own.names:
        return
    with plain_cursor(connection) as cursor:
        rows = cursor.execute(
            "SELECT lower(schema_name), lower(table_name) FROM duckdb_tables() "
            "UNION SELECT lower(schema_name), lower(view_name) FROM duckdb_views()"
        ).fetchall()
    named = prepared.relied.tables if prepared.relied else ()
    is_plain = all((usual.lower(), name.lower()) in rows for schema, name in named if not schema)
    there = {schema for schema, _ in rows}.intersection(schema.lower() for schema, _ in named)
    look_for_builtin_first(connection, usual, *(sorted(there) if is_plain else ()))

"""DuckDB databases as they are opened: a file, or a folder of CSV and Parquet files.

Whatever is opened can reach no file but its own, load nothing, and change none of that.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb
import structlog
from duckdb import DuckDBPyConnection

from remit.data.engines.duckdb_own import plain_cursor
from remit.data.engines.engine import Allowed
from remit.data.engines.failures import unreachable
from remit.data.engines.identifiers import quoted

log = structlog.get_logger(__name__)

SETTINGS: Final[Mapping[str, str]] = {
    "memory_limit": "256MB",
    "threads": "2",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}

LOCKS: Final = (
    "SET GLOBAL TimeZone = 'UTC'",
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
"""After these nothing of it can be changed back."""

READERS: Final[Mapping[str, str]] = {".parquet": "read_parquet", ".csv": "read_csv"}

Signature = tuple[tuple[str, int, int], ...]


def open_file(path: Path, *, read_only: bool) -> DuckDBPyConnection:
    """Open a database file; a connection that reads shares it with others that do."""
    if not path.is_file():
        raise unreachable("its file is not there")
    connection = duckdb.connect(str(path), read_only=read_only, config=dict(SETTINGS))
    for lock in LOCKS:
        connection.execute(lock)
    return connection


def data_files(folder: Path, allowed: Allowed) -> Sequence[Path]:
    """Return the files of a folder that may be read, by name.

    A name that has both endings means Parquet. A link that leads elsewhere is none of them. Endings
    may be written in capitals, as other systems do.
    """
    home = folder.resolve()
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), key=lambda each: (_ending(each), each.name)):
        inside = _ending(path) in READERS and path.resolve().is_relative_to(home) and path.is_file()
        if inside and allowed("main", path.stem):
            found[path.stem.lower()] = path
    return [found[name] for name in sorted(found)]


def signature_of(files: Sequence[Path]) -> Signature:
    """Return what differs as soon as a file does."""
    stats = ((path, path.stat()) for path in files)
    return tuple((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in stats)


def open_folder(files: Sequence[Path]) -> DuckDBPyConnection:
    """Open a database in memory with a view of each file, which can reach these files alone."""
    connection = duckdb.connect(":memory:", config=dict(SETTINGS))
    paths = ", ".join(_literal(path) for path in files)
    connection.execute(f"SET allowed_paths = [{paths}]")
    for lock in LOCKS[:-1]:
        connection.execute(lock)
    for path in files:
        name = quoted(path.stem)
        source = f"{READERS[_ending(path)]}({_literal(path)})"
        try:
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {source}")  # noqa: S608 - quoted
        except duckdb.Error as error:  # the others can be read
            log.warning("file unreadable", file=path.name, reason=type(error).__name__)
    connection.execute(LOCKS[-1])
    return connection


def read_tables(connection: DuckDBPyConnection) -> frozenset[tuple[str, str]]:
    """Return `(schema, name)` of everything that can be read in a database, lower case."""
    with plain_cursor(connection) as cursor:
        rows = cursor.execute(
            "SELECT lower(schema_name), lower(table_name) FROM duckdb_tables() "
            "WHERE database_name NOT IN ('system', 'temp') "
            "UNION SELECT lower(schema_name), lower(view_name) FROM duckdb_views()"
        ).fetchall()
    return frozenset((schema, name) for schema, name in rows)


def _ending(path: Path) -> str:
    return path.suffix.lower()


def _literal(path: Path) -> str:
    text = str(path.resolve()).replace("'", "''")
    return f"'{text}'"

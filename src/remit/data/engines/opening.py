"""The one place that knows which engine a datasource is."""

from pathlib import Path

from remit.data.engines.allowing import declared, schemas_of
from remit.data.engines.engine import Engine
from remit.model.data import Datasource, EngineKind


def open_engine(datasource: Datasource, *, reader: str = "", writer: str = "") -> Engine:
    """Return the engine of a datasource; it connects when it is first used.

    Args:
        datasource: What it is, and its limits.
        reader: The URL that is read with, decrypted; the datasource's location without one. On
            SQLite a path, on DuckDB that of a file or of a folder of `.csv` and `.parquet` files,
            with or without `sqlite:///` or `duckdb:///` before it.
        writer: The URL that is written with, decrypted. PostgreSQL is not written without one;
            SQLite and DuckDB do without. Nothing is written where the datasource is not writable.

    Raises:
        ImportError: What the engine needs is not installed.
    """
    where = reader or datasource.location
    allowed = declared(datasource)
    # Deferred: each needs a library that other installations do without.
    match datasource.engine:
        case EngineKind.SQLITE:
            from remit.data.engines.sqlite import open_sqlite  # noqa: PLC0415 - see above

            return open_sqlite(
                _path(where),
                allowed=allowed,
                writable=datasource.is_writable,
                concurrency=datasource.concurrency,
            )
        case EngineKind.POSTGRESQL:
            from remit.data.engines.postgresql import open_postgresql  # noqa: PLC0415 - see above

            return open_postgresql(
                where,
                writer if datasource.is_writable else "",
                allowed=allowed,
                schemas=schemas_of(datasource),
                concurrency=datasource.concurrency,
            )
        case EngineKind.DUCKDB:
            from remit.data.engines.duckdb import open_duckdb  # noqa: PLC0415 - see above

            return open_duckdb(
                _path(where),
                allowed=allowed,
                schemas=schemas_of(datasource),
                writable=datasource.is_writable,
                concurrency=datasource.concurrency,
            )


def _path(where: str) -> Path:
    for prefix in ("sqlite:///", "duckdb:///"):
        where = where.removeprefix(prefix)
    return Path(where)

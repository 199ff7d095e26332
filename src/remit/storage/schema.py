"""Bring a database's tables to what this code knows."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from remit.errors import StartupError

VERSION_TABLE = "remit_version"
"""Its own name, since a PostgreSQL database may hold another program's alembic tables."""

_MIGRATIONS = Path(__file__).parent / "migrations"
_ONE_AT_A_TIME = 0x72656D6974  # any number that every remit agrees on: "remit"


def is_current(connection: Connection) -> bool:
    """Say whether the tables are what this code knows; takes no lock.

    Raises:
        StartupError: A newer remit wrote them.
    """
    steps = _steps()
    current = _version(connection)
    if current is not None and current not in steps:
        raise StartupError(
            f"the database was written by a newer remit (tables {current}): "
            "upgrade remit, or point REMIT_DATABASE_URL to another database"
        )
    return current == steps[-1]


def _steps() -> list[str]:
    """Return every revision of the tables, oldest first: each file's name begins with its own."""
    names = (path.name for path in (_MIGRATIONS / "versions").glob("[0-9]*_*.py"))
    return sorted(name.partition("_")[0] for name in names)


def _version(connection: Connection) -> str | None:
    """Return the revision of the tables that are there, or None where there are none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608 - ours


def migrate(connection: Connection, *, patience: float) -> None:
    """Take every step that is missing, in the transaction that *connection* is in.

    Whoever comes second waits for the first and then finds nothing to do: on SQLite the
    transaction is the only writer, on PostgreSQL an advisory lock sees to it.

    Args:
        connection: In a write transaction.
        patience: Seconds to wait for another process that migrates.

    Raises:
        StartupError: A newer remit wrote the tables.
    """
    if connection.dialect.name == "postgresql":
        milliseconds = max(1, round(patience * 1000))
        connection.execute(text(f"SET LOCAL lock_timeout = {milliseconds}"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ONE_AT_A_TIME})
    if is_current(connection):
        return
    # Deferred: alembic takes 12 MB and a tenth of a second, and a database is brought up to date
    # once, but opened by every command and every worker.
    from alembic import command  # noqa: PLC0415 - see above
    from alembic.config import Config  # noqa: PLC0415 - see above

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = VERSION_TABLE
    command.upgrade(config, "head")

"""Bring a database's tables to what this code knows."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

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
    script = ScriptDirectory(str(_MIGRATIONS))
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    current = set(context.get_current_heads())
    unknown = current - {step.revision for step in script.walk_revisions()}
    if unknown:
        raise StartupError(
            f"the database was written by a newer remit (tables {', '.join(sorted(unknown))}): "
            "upgrade remit, or point REMIT_DATABASE_URL to another database"
        )
    return current == set(script.get_heads())


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
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = VERSION_TABLE
    command.upgrade(config, "head")

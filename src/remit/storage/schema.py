"""Bring a database's tables to what this code knows."""

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from remit.errors import StartupError
from remit.model.principals import DEFAULT_TENANT
from remit.storage.tables import tenants

VERSION_TABLE = "remit_version"
"""Its own name, since a PostgreSQL database may hold another program's alembic tables."""

_MIGRATIONS = Path(__file__).parent / "migrations"
BEGINNING: Final = _MIGRATIONS / "sqlite.sql"
"""What a new SQLite file begins with."""

_BETWEEN: Final = ";\n\n"
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
    if connection.dialect.name == "sqlite" and not inspect(connection).get_table_names():
        _begin(connection)
    else:
        take_steps(connection)


def take_steps(connection: Connection) -> None:
    """Take every step that is missing, one after the other."""
    # Deferred: alembic takes 12 MB and half a second of processor for all steps, and a database is
    # brought up to date once, but opened by every command and every worker.
    from alembic import command  # noqa: PLC0415 - see above
    from alembic.config import Config  # noqa: PLC0415 - see above

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = VERSION_TABLE
    command.upgrade(config, "head")


def _begin(connection: Connection) -> None:
    """Make in an empty SQLite file what all steps together make, in a tenth of their time.

    The first start of nearly every installation waits for it. `scripts/tables` writes down what the
    steps make, and a test holds them to it.
    """
    for statement in BEGINNING.read_text(encoding="utf-8").split(_BETWEEN):
        if statement:
            connection.exec_driver_sql(statement)
    newest = {"number": _steps()[-1]}
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:number)"), newest)  # noqa: S608 - ours
    first = {"name": DEFAULT_TENANT, "uuid": str(uuid.uuid4()), "created": datetime.now(UTC)}
    connection.execute(tenants.insert(), first)


def tables_of(connection: Connection) -> str:
    """Return the statements that make the tables, indexes and views of a SQLite database.

    Indexes come by their names: alembic makes those of one table in any order.
    """
    made = text(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY"
        " CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END,"
        " CASE type WHEN 'index' THEN name END, rowid"
    )
    return "".join(
        f"{statement}{_BETWEEN}"
        for statement in connection.scalars(made)
        if not statement.startswith("CREATE TABLE sqlite_")
    )

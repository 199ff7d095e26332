"""The migrations make the tables that the code knows."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

from remit.errors import StartupError
from remit.storage import alert_tables, data_tables, migrations, schema, session_tables
from remit.storage.database import Database
from remit.storage.schema import VERSION_TABLE, is_current
from remit.storage.tables import metadata

_KNOWN = (
    alert_tables,
    data_tables,
    session_tables,
)  # importing them puts their tables into the metadata


async def test_the_migrations_make_exactly_the_tables_that_the_code_knows(
    database: Database,
) -> None:
    def differences(connection: Connection) -> list[object]:
        options = {"version_table": VERSION_TABLE, "compare_server_default": False}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    async with database.reading() as connection:
        assert await connection.run_sync(differences) == []
        assert await connection.run_sync(is_current)


def made(path: Path, make: Callable[[Connection], object]) -> list[str]:
    """Return everything in a SQLite file, but when the first tenant was made and its UUID."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        make(connection)
    engine.dispose()
    with closing(sqlite3.connect(path)) as plain:
        (tenant,) = plain.execute("SELECT name FROM tenants")
        lines = [line for line in plain.iterdump() if not line.startswith('INSERT INTO "tenants"')]
    return sorted([*lines, *tenant])


def test_a_new_sqlite_file_has_what_all_steps_make(tmp_path: Path) -> None:
    """Another migration wants `scripts/tables`."""
    stepped = made(tmp_path / "stepped.db", schema.take_steps)
    begun = made(tmp_path / "begun.db", lambda new: schema.migrate(new, patience=1))

    assert begun == stepped
    with create_engine(f"sqlite:///{tmp_path / 'stepped.db'}").connect() as connection:
        assert schema.BEGINNING.read_text() == schema.tables_of(connection)


def test_tables_of_others_in_the_same_file_stay(tmp_path: Path) -> None:
    def migrate_beside(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE theirs (id INTEGER)"))
        schema.migrate(connection, patience=1)

    beside = made(tmp_path / "beside.db", migrate_beside)

    assert "CREATE TABLE theirs (id INTEGER);" in beside
    assert set(made(tmp_path / "own.db", schema.take_steps)) <= set(beside)


async def test_remit_keeps_its_version_apart_from_other_programs(database: Database) -> None:
    async with database.reading() as connection:
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())

    assert "remit_version" in names
    assert "alembic_version" not in names


def test_the_last_file_of_the_migrations_is_where_they_lead() -> None:
    """Whether tables are current is told by the files' names, so that no start needs alembic."""
    script = ScriptDirectory(migrations.__path__[0])
    steps = [step.revision for step in script.walk_revisions()][::-1]

    assert [step.path.rpartition("/")[2].partition("_")[0] for step in script.walk_revisions()] == (
        steps[::-1]
    )
    assert steps == sorted(steps)
    assert script.get_heads() == steps[-1:]


async def test_tables_of_an_older_and_of_a_newer_remit_are_told_apart(database: Database) -> None:
    set_version = text("UPDATE remit_version SET version_num = :number")
    async with database.writing() as connection:
        await connection.execute(set_version, {"number": "0001"})
        is_older_current = await connection.run_sync(is_current)
        await connection.execute(set_version, {"number": "9999"})

        assert not is_older_current
        with pytest.raises(StartupError, match=r"newer remit \(tables 9999\)"):
            await connection.run_sync(is_current)

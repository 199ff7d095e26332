"""The migrations make the tables that the code knows."""

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect

from remit.storage.database import Database
from remit.storage.schema import VERSION_TABLE, is_current
from remit.storage.tables import metadata


async def test_the_migrations_make_exactly_the_tables_that_the_code_knows(
    database: Database,
) -> None:
    def differences(connection: Connection) -> list[object]:
        options = {"version_table": VERSION_TABLE, "compare_server_default": False}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    async with database.reading() as connection:
        assert await connection.run_sync(differences) == []
        assert await connection.run_sync(is_current)


async def test_remit_keeps_its_version_apart_from_other_programs(database: Database) -> None:
    async with database.reading() as connection:
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())

    assert "remit_version" in names
    assert "alembic_version" not in names

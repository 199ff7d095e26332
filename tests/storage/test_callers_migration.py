"""Keys that an older remit wrote go on holding, and are what they were."""

from datetime import UTC, datetime
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

import remit.storage
from remit.model.keys import Key
from remit.storage.database import open_database
from remit.storage.keys import Keys
from remit.storage.schema import VERSION_TABLE

CREATED = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
ROW = """
INSERT INTO api_keys (id, tenant, name, secret_hash, roles, admin, created)
VALUES ('id1', 'default', 'ci', '0f', '["designer"]', false, '2026-11-27 12:00:00.000000+00:00')
"""


def before_callers(url: str) -> None:
    """Make the tables of the first release, with a key in them."""
    config = Config()
    migrations = Path(remit.storage.__file__).parent / "migrations"
    config.set_main_option("script_location", str(migrations))
    config.set_main_option("path_separator", "os")
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            config.attributes["version_table"] = VERSION_TABLE
            command.upgrade(config, "0001")
            zone = "" if connection.dialect.name == "sqlite" else "+00:00"
            connection.execute(text(ROW.replace("+00:00", zone)))
    finally:
        engine.dispose()


async def test_a_key_of_the_first_release_is_what_it_was(database_url: str, tmp_path: Path) -> None:
    (tmp_path / ".remit").mkdir(exist_ok=True)
    before_callers(database_url)

    async with open_database(database_url) as database:
        found = await Keys(database).find("id1")

    assert found == Key(
        id="id1",
        name="ci",
        tenant="default",
        secret_hash="0f",
        roles=("designer",),
        created=CREATED,
    )

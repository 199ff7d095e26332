"""A shop's database, and the real stores beside it."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from tests.data.queries.office import Office, OneEngine, duckdb_shop, postgresql_shop, sqlite_shop

from remit.data.desk import Stores
from remit.model.data import Datasource
from remit.storage.database import default_url, open_database
from remit.storage.datasources import Datasources
from remit.storage.executions import Executions
from remit.storage.keys import Keys
from remit.storage.ontology import Ontology
from remit.storage.queries import Queries
from remit.testing.services import Postgres


@pytest.fixture(params=["sqlite"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Datasource]:
    """Make a shop, of another engine where a test asks for one."""
    if request.param != "postgresql":
        yield duckdb_shop(tmp_path) if request.param == "duckdb" else sqlite_shop(tmp_path)
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    with postgres.database() as url:
        yield postgresql_shop(url)


@pytest.fixture
async def office(shop: Datasource, tmp_path: Path) -> AsyncGenerator[Office]:
    async with open_database(default_url(tmp_path / "own")) as database:
        keys = Keys(database)
        stores = Stores(
            datasources=Datasources(database),
            queries=Queries(database),
            executions=Executions(database),
            ontology=Ontology(database),
            keys=keys,
        )
        await stores.datasources.write_datasource(shop)
        office = Office(stores, keys, OneEngine(), shop, shop.location)
        yield office
        for engine in office.sources.engines.values():
            await engine.aclose()

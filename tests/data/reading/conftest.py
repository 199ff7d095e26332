"""A shop in each kind of database."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import anyio
import pytest
from tests.data.reading.meanings import (
    CHURN,
    CODE,
    CUSTOMER,
    FACT,
    HIDDEN,
    KEPT_IN,
    ORDER,
    PLACES,
    REVENUE,
    SECRET,
    STATUS,
    VISITOR,
)
from tests.data.reading.shops import Shop, open_shop
from tests.data.reading.tables import make_shop

from remit.model.data import EngineKind
from remit.model.ontology import (
    ItemKind,
)
from remit.storage.database import default_url, open_database
from remit.testing.services import Postgres


@pytest.fixture(scope="session")
def sqlite_shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_shop(EngineKind.SQLITE, str(tmp_path_factory.mktemp("shop") / "shop.sqlite"))


@pytest.fixture(scope="session")
def duckdb_shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_shop(EngineKind.DUCKDB, str(tmp_path_factory.mktemp("shop") / "shop.duckdb"))


@pytest.fixture(scope="session")
def postgresql_shop(postgres: Postgres) -> Generator[str]:
    with postgres.database() as url:
        yield make_shop(EngineKind.POSTGRESQL, url)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty database of a gateway's own, so that not every test has to."""
    folder = tmp_path_factory.mktemp("template")

    async def make() -> None:
        async with open_database(default_url(folder / ".remit")):
            pass

    anyio.run(make)
    return folder


@pytest.fixture(params=list(EngineKind), ids=lambda kind: kind.value)
def kind(request: pytest.FixtureRequest) -> EngineKind:
    """Name each kind of database in turn."""
    chosen: EngineKind = request.param
    return chosen


@pytest.fixture
def location(kind: EngineKind, request: pytest.FixtureRequest) -> str:
    """Say where the shop is in that kind of database; tests only read it."""
    made: str = request.getfixturevalue(f"{kind.value}_shop")
    return made


@pytest.fixture
async def shop(
    template: Path, kind: EngineKind, location: str, tmp_path: Path
) -> AsyncGenerator[Shop]:
    """Open the shop in each kind of database."""
    async with open_shop(template, tmp_path, kind, location) as shop:
        yield shop


@pytest.fixture
async def shop_in_sqlite(template: Path, sqlite_shop: str, tmp_path: Path) -> AsyncGenerator[Shop]:
    """Open the shop where it does not matter which database it is in."""
    async with open_shop(template, tmp_path, EngineKind.SQLITE, sqlite_shop) as shop:
        yield shop


@pytest.fixture
async def told(shop_in_sqlite: Shop) -> Shop:
    """Open a shop about which everything is stated; something of it about tables out of reach."""
    await shop_in_sqlite.refresh()
    await shop_in_sqlite.know(ItemKind.ENTITY, CUSTOMER, ORDER, SECRET)
    await shop_in_sqlite.know(ItemKind.RELATIONSHIP, PLACES, KEPT_IN)
    await shop_in_sqlite.know(ItemKind.TERM, REVENUE, CODE, CHURN)
    await shop_in_sqlite.know(ItemKind.COLUMN, STATUS, VISITOR, HIDDEN)
    await shop_in_sqlite.know(ItemKind.FACT, FACT)
    return shop_in_sqlite

"""Shops in real databases, opened for one test each."""

from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import pytest
from tests.data.engines.shops import (
    Shop,
    look_postgresql,
    make_file_shop,
    make_postgresql_shop,
    open_shop,
)

from remit.model.data import EngineKind
from remit.testing.services import Postgres


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncGenerator[Shop]:
    shop = open_shop(EngineKind.SQLITE, make_file_shop(EngineKind.SQLITE, tmp_path))
    yield shop
    await shop.engine.aclose()


@pytest.fixture
async def duckdb(tmp_path: Path) -> AsyncGenerator[Shop]:
    shop = open_shop(EngineKind.DUCKDB, make_file_shop(EngineKind.DUCKDB, tmp_path))
    yield shop
    await shop.engine.aclose()


@pytest.fixture
async def postgresql(postgres: Postgres) -> AsyncGenerator[Shop]:
    role = f"reader_{uuid4().hex}"
    with postgres.database() as url:
        shop = open_shop(EngineKind.POSTGRESQL, make_postgresql_shop(url, role), writer=url)
        yield shop
        await shop.engine.aclose()
        look_postgresql(url, f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.fixture(params=["sqlite", "postgresql", "duckdb"])
def shop(request: pytest.FixtureRequest) -> Shop:
    return request.getfixturevalue(request.param)

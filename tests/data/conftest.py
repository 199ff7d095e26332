"""One gateway with a data server over a shop for a module, and callers of every kind."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from remit.testing.data_gateway import Callers, DataGateway, open_callers, open_data_gateway


@pytest.fixture(scope="module")
def data_gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[DataGateway]:
    folder: Path = tmp_path_factory.mktemp("data")
    with open_data_gateway(folder) as gateway:
        yield gateway
    written = gateway.running.log.read_text()
    assert "Traceback" not in written, written


@pytest.fixture
async def callers(data_gateway: DataGateway) -> AsyncGenerator[Callers]:
    async with open_callers(data_gateway) as callers:
        yield callers

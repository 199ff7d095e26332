"""One gateway for a module, with every kind of caller."""

from collections.abc import Generator

import pytest
from tests.api.worlds import DATA_SERVER, DOCUMENT, Api, log_elsewhere, open_api

from remit.testing.gateway import fixture_entry


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Generator[Api]:
    folder = tmp_path_factory.mktemp("api")
    entry = fixture_entry(["work", "rest"], folder / "ran", session="shared")
    with open_api(folder, DOCUMENT | {"mcp_servers": {"tools": entry, **DATA_SERVER}}) as api:
        yield api


@pytest.fixture(autouse=True)
def log_of_the_gateway() -> None:
    """Keep what the module's gateway logs from what commands print, which each test undoes."""
    log_elsewhere()

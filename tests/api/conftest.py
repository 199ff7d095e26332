"""One gateway for a module, with every kind of caller."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.api.worlds import DOCUMENT, Api, open_api
from tests.e2e.conftest import gateways

from remit.testing.gateway import fixture_entry


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Generator[Api]:
    folder = tmp_path_factory.mktemp("api")
    entry = fixture_entry(["work", "rest"], folder / "ran", session="shared")
    with gateways(folder) as serve:
        running = serve(DOCUMENT | {"mcp_servers": {"tools": entry}})
        yield open_api(running.settle())


@pytest.fixture
def folder(api: Api) -> Path:
    return api.running.folder

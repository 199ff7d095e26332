"""A console over a database of its own for every test, and one of a whole gateway for all."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import anyio
import pytest
from playwright.sync_api import Browser as Chromium
from tests.console.browsing import Windows, open_chromium
from tests.console.office import Office, open_office
from tests.console.worlds import Browser, World, open_world


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a database that nothing is written to, for worlds to begin with."""
    folder = tmp_path_factory.mktemp("tables")

    async def make() -> None:
        async with open_world(folder):
            pass

    anyio.run(make)
    return folder


@pytest.fixture
async def world(tmp_path: Path, tables: Path) -> AsyncGenerator[World]:
    async with open_world(tmp_path, tables) as world:
        yield world


@pytest.fixture
def browser(world: World) -> Browser:
    """A browser of a first worker."""
    return world.worker().browser()


@pytest.fixture(scope="session")
def office(tmp_path_factory: pytest.TempPathFactory) -> Generator[Office]:
    """Give the gateway that tests share: look at all of it, change only what you made yourself."""
    with open_office(tmp_path_factory.mktemp("office")) as office:
        yield office


@pytest.fixture(scope="module")
def chromium() -> Generator[Chromium]:
    """Run a browser for the tests of one module."""
    with open_chromium() as chromium:
        yield chromium


@pytest.fixture
def new_page(office: Office, chromium: Chromium) -> Generator[Windows]:
    """Give what opens pages; the test fails if anything goes wrong in one of them."""
    windows = Windows(browser=chromium, office=office)
    yield windows
    windows.close()

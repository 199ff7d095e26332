"""A Jira Data Center for every test of this folder, and the desk before it."""

from collections.abc import AsyncGenerator, Generator

import pytest
from tests.conftest import IN_CI
from tests.servers.jira.desk import Desk, open_desk

from remit.testing.jira_fake import is_jira_here, open_jira


@pytest.fixture(scope="session")
def data_center(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Give the address of a Jira Data Center whose workflow has no way from Open to Reopened."""
    if not is_jira_here():
        if IN_CI:
            pytest.fail("jira820 is missing")
        pytest.skip("jira820 is not installed")
    scheme = {
        "Open": ["In Progress", "Done"],
        "In Progress": ["Open", "In Review", "Done"],
        "In Review": ["In Progress", "Done"],
        "Done": ["Reopened"],
        "Reopened": ["In Progress", "Done"],
    }
    with open_jira(tmp_path_factory.mktemp("jira"), settings={"transition_scheme": scheme}) as url:
        yield url


@pytest.fixture
async def desk(data_center: str) -> AsyncGenerator[Desk]:
    """Open the server for it, with a personal token."""
    async with open_desk(data_center) as opened:
        yield opened

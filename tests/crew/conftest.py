"""One gateway with the crew's servers for a module, and agents of each test's own."""

import uuid
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import pytest

from remit.testing.crew_gateway import CrewFolk, CrewGateway, open_crew_gateway, open_folk


@pytest.fixture(scope="module")
def crew_gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[CrewGateway]:
    folder: Path = tmp_path_factory.mktemp("crew")
    with open_crew_gateway(folder) as gateway:
        yield gateway
    written = gateway.running.log.read_text()
    assert "Traceback" not in written, written


@pytest.fixture(params=["mcp", "json"])
async def folk(
    crew_gateway: CrewGateway, request: pytest.FixtureRequest
) -> AsyncGenerator[CrewFolk]:
    """Agents of one gateway, at its MCP door and at its JSON door in turn."""
    async with open_folk(crew_gateway, request.param) as folk:
        yield folk


@pytest.fixture
def name() -> Callable[[str], str]:
    """Return a name that no other test of the module has."""
    tail = uuid.uuid4().hex[:8]
    return lambda what: f"{what}-{tail}"

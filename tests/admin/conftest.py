"""What the tests of the configuration share."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from remit.storage.database import Database, default_url, open_database


@pytest.fixture
def nine_roles_yaml(shared: Path, tmp_path: Path) -> Path:
    """Write the YAML of the design document, unchanged, to a file of its own."""
    text = (shared / "seeds" / "000_4f6694be50a05329.txt").read_text()
    found = re.search(r"### Configuration File.*?```yaml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    path = tmp_path / "mcp_tool_mapping.yaml"
    path.write_text(found[1])
    return path


@pytest.fixture
def example_yaml(shared: Path, tmp_path: Path) -> Path:
    """Write the example of the contract to a file of its own."""
    text = (shared / "spec" / "product.md").read_text()
    found = re.search(r"### `remit.yaml`\n\n```yaml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    path = tmp_path / "remit.yaml"
    path.write_text(found[1])
    return path


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    """Open a fresh database."""
    async with open_database(default_url(tmp_path)) as opened:
        yield opened

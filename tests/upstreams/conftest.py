from pathlib import Path

import pytest


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Give the file in which fixture servers count."""
    return tmp_path / "ran.jsonl"

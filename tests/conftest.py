"""What every test shares."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of handed cases and configurations, or skip where it is absent."""
    folder = Path(os.environ.get("REMIT_SHARED", Path(__file__).parents[2] / "shared"))
    if not folder.is_dir():
        pytest.skip("the folder of handed cases is absent: set REMIT_SHARED to it")
    return folder

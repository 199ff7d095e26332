"""A gateway that serves in this process, and what is read off it."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.observability.worlds import Watched, open_watched


@pytest.fixture
def watched(tmp_path: Path) -> Generator[Watched]:
    with open_watched(tmp_path) as watched:
        yield watched

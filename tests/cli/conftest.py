"""Commands run in this process."""

from collections.abc import Generator

import pytest
import structlog


@pytest.fixture(autouse=True)
def loggers() -> Generator[None]:
    """Undo what a command sets up for its own process."""
    yield
    structlog.reset_defaults()

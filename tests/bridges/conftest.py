"""Environments of the frameworks, and an office that their agents work in."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.bridges.harness import Office, framework, open_office
from tests.docs.conftest import commands, scratch

__all__ = ["commands", "scratch"]  # fixtures of the documents, whose snippets run here


@pytest.fixture(scope="session")
def python() -> Path:
    """Give the Python that has all frameworks but Google ADK and CrewAI."""
    return framework("all")


@pytest.fixture(scope="session")
def adk_python() -> Path:
    """Give the Python that has Google ADK."""
    return framework("adk")


@pytest.fixture(scope="session")
def crewai_python() -> Path:
    """Give the Python that has CrewAI, and of remit only what talks to a gateway."""
    return framework("crewai")


@pytest.fixture
def office(tmp_path: Path) -> Generator[Office]:
    """Run a gateway with the roles `reader` and `writer`."""
    with open_office(tmp_path) as opened:
        yield opened

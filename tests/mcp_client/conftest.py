from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
import structlog

from remit.library.config import MCPServerConfig
from remit.testing.upstream import fixture_server_config


class MakeEntry(Protocol):
    """Writes the entry of a fixture server that runs as a child process."""

    def __call__(
        self,
        name: str = "github",
        tools: Sequence[str | Mapping[str, Any]] = ("search",),
        options: Sequence[str] = (),
        **fields: Any,
    ) -> MCPServerConfig: ...


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Give the file in which fixture servers count."""
    return tmp_path / "ran.jsonl"


@pytest.fixture
def entry(ran: Path) -> MakeEntry:
    """Give what writes entries of fixture servers."""

    def make(
        name: str = "github",
        tools: Sequence[str | Mapping[str, Any]] = ("search",),
        options: Sequence[str] = (),
        **fields: Any,
    ) -> MCPServerConfig:
        server = fixture_server_config(name, tools, ran, options=options)
        return MCPServerConfig(name=name, command=server.command, args=list(server.args), **fields)

    return make


@pytest.fixture(autouse=True)
def untouched_log() -> Generator[None]:
    """Let the library find a program that has not set up structlog, whatever other tests did."""
    was, before = structlog.is_configured(), structlog.get_config()
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
    if was:
        structlog.configure(**before)
